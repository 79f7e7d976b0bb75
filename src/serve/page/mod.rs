//! The page at `/`: search, ask and read in a browser. Plain files, compiled in; nothing is fetched from elsewhere.
//!
//! Useful for: a person without a terminal. Not for: anything that the routes under `/v1` do not do; the page is one more
//! client of them, with the same keys and the same limits.

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};

const INDEX: &str = include_str!("index.html");
const STYLE: &str = include_str!("app.css");
const SCRIPT: &str = include_str!("app.js");

/// Nothing is loaded from elsewhere, nothing inline is run, no other page may show this one in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Where the page is. It needs no key: what it is made of is in every copy of the program.
pub const ROUTES: [&str; 3] = ["/", "/app.css", "/app.js"];

/// The routes of the page.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let [index, style, script] = ROUTES;
    Router::new()
        .route(index, get(|| async { file(INDEX, "text/html; charset=utf-8") }))
        .route(style, get(|| async { file(STYLE, "text/css; charset=utf-8") }))
        .route(script, get(|| async { file(SCRIPT, "text/javascript; charset=utf-8") }))
}

fn file(text: &'static str, kind: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 6] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // Another version of the program is another page.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_nothing_is_inline() {
        for text in [INDEX, STYLE, SCRIPT] {
            assert!(!text.contains("http://") && !text.contains("https://"));
        }
        assert!(!INDEX.contains("<style") && !INDEX.contains(" style=") && !INDEX.contains(" onclick="));
        assert_eq!(INDEX.matches("<script").count(), 1);
        for risky in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
            assert!(!SCRIPT.contains(risky), "{risky}");
        }
    }
}
