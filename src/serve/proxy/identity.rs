//! Who asks, and what for? The keys under which answers are kept.
//!
//! Every key is a blake3 hash keyed with a secret of this installation: nobody can test a guess of an API key or of a prompt
//! against a cache file without that secret. No credential is kept, only what it hashes to.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use hyper::HeaderMap;

use super::error::{Error, Result};

/// Name of an answer.
pub type Key = [u8; 32];

/// Headers that say who asks. Any other whose name holds one of [`TELLING`] counts as well.
const CREDENTIALS: [&str; 6] =
    ["authorization", "api-key", "openai-organization", "openai-project", "openai-beta", "anthropic-beta"];
const TELLING: [&str; 12] = [
    "auth",
    "token",
    "secret",
    "api-key",
    "apikey",
    "access-key",
    "subscription-key",
    "cookie",
    "credential",
    "tenant",
    "account",
    "x-rag-key",
];

/// The secret of this installation.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Reads the secret of a cache folder, or makes one: a file of 32 bytes that its owner alone may read.
    pub fn of(dir: &Path) -> Result<Self> {
        let path = dir.join("key");
        match read(&path) {
            Ok(Some(secret)) => return Ok(secret),
            Ok(None) => {}
            Err(error) => return Err(Error::io("read", path)(error)),
        }
        let mut secret = [0; 32];
        ring_random(&mut secret).map_err(|why| Error::Store { path: path.clone(), why })?;
        let partial = dir.join("key.new");
        let _ = fs::remove_file(&partial);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&partial).and_then(|mut file| {
            file.write_all(&secret)?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&partial, &path)).map_err(Error::io("write", path))?;
        Ok(Self(secret))
    }

    fn hasher(&self, purpose: &str) -> Hasher {
        let mut hasher = Hasher(blake3::Hasher::new_keyed(&self.0));
        hasher.part(purpose.as_bytes());
        hasher
    }

    /// Who asks: all credential headers, with their names.
    pub fn scope(&self, headers: &HeaderMap) -> Key {
        let mut telling: Vec<(&str, &[u8])> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .filter(|(name, _)| CREDENTIALS.contains(name) || TELLING.iter().any(|part| name.contains(part)))
            .collect();
        telling.sort();
        let mut hasher = self.hasher("scope");
        for (name, value) in telling {
            hasher.part(name.as_bytes());
            hasher.part(value);
        }
        hasher.end()
    }

    /// What is asked, of whom, by whom: `kind` of answer, upstream address with its path and query, scope, canonical body.
    pub fn request(&self, kind: &str, url: &str, scope: &Key, body: &str) -> Key {
        let mut hasher = self.hasher(kind);
        for part in [url.as_bytes(), scope, body.as_bytes()] {
            hasher.part(part);
        }
        hasher.end()
    }
}

/// Parts are told apart by their lengths: `ab`, `c` is not `a`, `bc`.
struct Hasher(blake3::Hasher);

impl Hasher {
    fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn end(self) -> Key {
        *self.0.finalize().as_bytes()
    }
}

fn read(path: &Path) -> io::Result<Option<Secret>> {
    let mut bytes = Vec::new();
    match fs::File::open(path) {
        Ok(file) => file.take(33).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A file of another length is a torn one: a new secret only makes the cache empty.
    Ok(<[u8; 32]>::try_from(bytes.as_slice()).ok().map(Secret))
}

/// Random bytes for a key, of the provider that TLS uses.
fn ring_random(bytes: &mut [u8]) -> std::result::Result<(), String> {
    let provider = rustls::crypto::ring::default_provider();
    provider.secure_random.fill(bytes).map_err(|_| "the system gives no random bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn every_credential_tells_apart_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let secret = Secret::of(dir.path()).unwrap();
        let scope = |pairs: &[(&'static str, &'static str)]| secret.scope(&headers(pairs));
        let nobody = scope(&[]);
        let mut seen = std::collections::BTreeSet::from([nobody]);
        for name in [
            "authorization",
            "api-key",
            "x-api-key",
            "x-goog-api-key",
            "openai-organization",
            "openai-project",
            "cookie",
            "ocp-apim-subscription-key",
            "x-amz-security-token",
            "cf-access-client-secret",
            "x-rag-key",
            "x-tenant-id",
        ] {
            assert!(seen.insert(scope(&[(name, "one")])), "{name}");
            assert!(seen.insert(scope(&[(name, "two")])), "{name}");
        }
        for name in
            ["user-agent", "x-stainless-retry-count", "idempotency-key", "traceparent", "x-request-id", "accept"]
        {
            assert_eq!(scope(&[(name, "one")]), nobody, "{name}");
        }
        assert_ne!(scope(&[("api-key", "a"), ("x-api-key", "b")]), scope(&[("api-key", "b"), ("x-api-key", "a")]));
        assert_eq!(scope(&[("api-key", "a"), ("cookie", "b")]), scope(&[("cookie", "b"), ("api-key", "a")]));
    }

    #[test]
    fn the_secret_stays_and_differs_by_folder() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = |dir: &Path| Secret::of(dir).unwrap().request("chat", "u", &[0; 32], "{}");
        let first = key(a.path());
        assert_eq!(first, key(a.path()));
        assert_ne!(first, key(b.path()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(a.path().join("key")).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(a.path().join("key"), b"torn").unwrap();
        assert_ne!(first, key(a.path()));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let secret = Secret::of(dir.path()).unwrap();
        let scope = [7; 32];
        assert_ne!(secret.request("chat", "ab", &scope, "c"), secret.request("chat", "a", &scope, "bc"));
        assert_ne!(secret.request("chat", "a", &scope, "b"), secret.request("embed", "a", &scope, "b"));
        assert_ne!(secret.request("chat", "a", &scope, "b"), secret.request("chat", "a", &[8; 32], "b"));
    }
}
