//! N14: a server with TLS and an authority of its own.

use crate::{
    house::{House, Ran, project},
    served::Served,
};

#[test]
fn n14_certificates_are_checked() {
    let house = House::with_index();
    let file = |name: &str| project().join("tests/fixtures/tls").join(name).display().to_string();
    let (certificate, key, authority) = (file("cert.pem"), file("key.pem"), file("ca.pem"));
    let server = Served::start_env(
        &house,
        &["--tls-cert", &certificate, "--tls-key", &key],
        &[("RAG_API_KEY", "right-0123456789")],
    );
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let asked = |url: &str, more: &[&str]| -> Ran {
        let mut command = house.command();
        command.args(["query", "refunds", "-k", "1", "--format", "paths", "--remote", url]).args(more);
        command.env("RAG_API_KEY", "right-0123456789").output().unwrap().into()
    };
    let found = asked(&server.url, &["--ca-file", &authority]).ok();
    assert_eq!(found.stdout, "sample-docs/faq.html\n");
    let by_name = server.url.replace("127.0.0.1", "localhost");
    asked(&by_name, &["--ca-file", &authority]).ok();

    let unknown = asked(&server.url, &[]).exits(5);
    assert!(unknown.stderr.contains("certificate"), "{}", unknown.stderr);
    let other_name = server.url.replace("127.0.0.1", "127.0.0.2");
    asked(&other_name, &["--ca-file", &authority]).exits(5);
    let plain = asked(&server.url.replace("https", "http"), &["--ca-file", &authority]).exits(5);
    assert!(plain.stdout.is_empty());
    asked(&server.url, &["--ca-file", &key]).exits(2);
    asked(&server.url, &["--ca-file", "nothing.pem"]).exits(2);
}
