//! A client of `reqwest` as all of ours are: no redirects, no hidden repeats, our own TLS.

use std::{error::Error as _, sync::Once, time::Duration};

use reqwest::{Client, ClientBuilder, redirect::Policy, retry};

/// Makes a client for one host, which may be on this machine; `adjust` adds what is special. An error is a sentence.
pub fn client(
    is_https: bool,
    is_loopback: bool,
    connect_timeout: Duration,
    adjust: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error says that the program has installed one of its own, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("rag/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .retry(retry::never())
            .connect_timeout(connect_timeout);
        adjust(if is_loopback { builder.no_proxy() } else { builder })
    };
    // Without a certificate on the machine a client cannot be built, even where it would never look at one.
    let built = match (is_https, is_loopback) {
        (true, _) => builder().build(),
        (false, true) => builder().tls_certs_only([]).build(),
        (false, false) => builder().build().or_else(|_| builder().tls_certs_only([]).build()),
    };
    built.map_err(|error| {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        format!("no secure connection can be made on this machine: {why}")
    })
}

/// What happened: the innermost cause of an error. The layers above it only say where.
pub fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
