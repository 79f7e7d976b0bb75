//! TLS of the server's own: a certificate, its key, HTTP/2 where the client wants it.

use std::{io, sync::Arc};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// A certificate and its key, ready for use. TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads both from PEM. An error is a sentence.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let certificates = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("the certificate cannot be read: {error}"))?;
        if certificates.is_empty() {
            return Err("the file holds no certificate (PEM)".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key cannot be read: {error}"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| format!("certificate and key do not fit: {error}"))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// The same, for a server that speaks HTTP/1.1 alone.
    #[must_use]
    pub fn without_h2(&self) -> Self {
        let mut config = ServerConfig::clone(self.0.config());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self(TlsAcceptor::from(Arc::new(config)))
    }

    /// Greets a client; says whether it speaks HTTP/2.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<(TlsStream<TcpStream>, bool)> {
        let stream = self.0.accept(stream).await?;
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((stream, is_h2))
    }
}
