//! TLS of the server's own (N14), HTTP/2 and 1.1.

use std::{io::Write as _, sync::Arc};

use rag::serve::server::Tls;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use super::{
    http::{Client, read},
    server::Server,
};

/// For `localhost`, of no use anywhere else; made by `openssl req -x509 -newkey ec …`, valid for a hundred years.
const CERTIFICATE: &[u8] = include_bytes!("localhost.pem");
const KEY: &[u8] = include_bytes!("localhost.key.pem");

fn connect(
    client: &Client,
    trusts: bool,
    name: &str,
    protocols: &[&[u8]],
) -> std::io::Result<StreamOwned<ClientConnection, std::net::TcpStream>> {
    let mut roots = RootCertStore::empty();
    if trusts {
        roots.add(CertificateDer::from_pem_slice(CERTIFICATE).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_owned()).unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, client.connect()?);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

#[test]
fn n14_tls_is_spoken_and_checked() {
    let server = Server::build(|_| (), Some(Tls::new(CERTIFICATE, KEY).unwrap()));
    let client = server.client();
    let mut stream = connect(&client, true, "localhost", &[b"http/1.1"]).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    assert_eq!(read(&mut stream).unwrap().ok().json()["status"], "ok");
    assert!(connect(&client, false, "localhost", &[]).is_err(), "a stranger's certificate");
    assert!(connect(&client, true, "rag.example", &[]).is_err(), "another name");
    let stream = connect(&client, true, "localhost", &[b"h2", b"http/1.1"]).unwrap();
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));
    // Plain HTTP gets no answer that could be mistaken for one.
    let plain = client.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(plain.map_or(true, |answer| answer.status >= 400));
    assert!(Tls::new(CERTIFICATE, CERTIFICATE).is_err() && Tls::new(b"", KEY).is_err() && Tls::new(KEY, KEY).is_err());
}
