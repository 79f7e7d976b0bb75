//! Who may do what: keys that are stored as hashes, with scopes, collections and a tenant.
//!
//! ```toml
//! [[key]]
//! name = "ci"
//! hash = "blake3:…"            # of the key; `sha256:…` is read too
//! scopes = ["read", "write"]   # or "admin", which is all
//! collections = ["docs-*"]     # globs; left out: all
//! tenant = "acme"              # an index of its own; left out: the index that is served
//! documents = 1000             # quotas of the key's tenant, and requests of the key
//! bytes = 100000000
//! requests_per_second = 20
//! ```
//!
//! A key is 256 bits of chance ([`NewKey`]), so a hash of it can be shown to anybody. Comparing takes the same time
//! whatever is shown, and every key of the file is compared.

use std::fmt;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;

use crate::index::Room;

/// What a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Write,
    /// Everything, and what shows the server's inside.
    Admin,
}

impl Scope {
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// What the holder of a key may use up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quota {
    /// Documents of the tenant.
    pub documents: Option<u64>,
    /// Bytes of the documents of the tenant.
    pub bytes: Option<u64>,
    pub requests_per_second: Option<f64>,
}

impl Quota {
    /// How much the tenant's index may hold.
    pub fn room(&self) -> Room {
        Room { documents: self.documents, bytes: self.bytes }
    }
}

/// A key, known by its hash.
#[derive(Debug, Clone)]
pub struct StoredKey {
    pub name: String,
    hash: Hash,
    pub scopes: Vec<Scope>,
    /// `None`: all.
    pub collections: Option<Vec<GlobMatcher>>,
    /// `None`: the index that is served.
    pub tenant: Option<String>,
    pub quota: Quota,
    /// For logs: the first 8 digits of the hash.
    pub fingerprint: String,
}

/// blake3 compares in constant time; so does this type, whichever function made it.
#[derive(Debug, Clone, Copy)]
enum Hash {
    Blake3(blake3::Hash),
    Sha256(blake3::Hash),
}

impl StoredKey {
    /// A key that was given as it is, with all scopes, for the index that is served.
    pub fn plain(name: &str, key: &str) -> Self {
        let hash = blake3::hash(key.as_bytes());
        Self {
            name: name.to_owned(),
            hash: Hash::Blake3(hash),
            scopes: vec![Scope::Read, Scope::Write, Scope::Admin],
            collections: None,
            tenant: None,
            quota: Quota::default(),
            fingerprint: fingerprint(hash),
        }
    }

    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    pub fn sees(&self, collection: &str) -> bool {
        self.collections.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.is_match(collection)))
    }
}

/// All keys of a server. None: nobody is asked for one.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<StoredKey>);

/// What is wrong with a file of keys; the text of it never shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadKeys(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    key: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    hash: String,
    #[serde(default = "read_alone")]
    scopes: Vec<Scope>,
    collections: Option<Vec<String>>,
    tenant: Option<String>,
    documents: Option<u64>,
    bytes: Option<u64>,
    requests_per_second: Option<f64>,
}

fn read_alone() -> Vec<Scope> {
    vec![Scope::Read]
}

impl Keys {
    pub fn push(&mut self, key: StoredKey) {
        self.0.push(key);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &StoredKey> {
        self.0.iter()
    }

    /// Reads a file of keys.
    pub fn read(text: &str) -> Result<Self, BadKeys> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
            BadKeys(format!("line {line}: {}", error.message()))
        })?;
        file.key.into_iter().map(stored).collect::<Result<_, _>>().map(Self)
    }

    /// The key that is shown. Takes as long for any text.
    pub fn find(&self, shown: &str) -> Option<&StoredKey> {
        let blake3 = blake3::hash(shown.as_bytes());
        let sha256 = sha256(shown.as_bytes());
        let is = |key: &StoredKey| match key.hash {
            Hash::Blake3(hash) => hash == blake3,
            Hash::Sha256(hash) => hash == sha256,
        };
        self.0.iter().fold(None, |found, key| if is(key) { Some(key) } else { found })
    }
}

fn stored(entry: Entry) -> Result<StoredKey, BadKeys> {
    let bad = |what: String| BadKeys(format!("key `{}`: {what}", entry.name));
    let (function, digits) = entry.hash.split_once(':').unwrap_or(("blake3", &entry.hash));
    let digits = blake3::Hash::from_hex(digits).map_err(|_| bad("a hash has 64 digits of 0-9 and a-f".to_owned()))?;
    let hash = match function {
        "blake3" => Hash::Blake3(digits),
        "sha256" => Hash::Sha256(digits),
        other => return Err(bad(format!("hashes are `blake3:…` or `sha256:…`, not `{other}:…`"))),
    };
    let glob = |glob: &String| {
        Glob::new(glob).map(|glob| glob.compile_matcher()).map_err(|_| bad(format!("`{glob}` is not a glob")))
    };
    let collections = entry.collections.as_ref().map(|globs| globs.iter().map(glob).collect()).transpose()?;
    if let Some(tenant) = &entry.tenant
        && !is_tenant(tenant)
    {
        return Err(bad("a tenant has 1 to 64 of a-z, 0-9, `-` and `_`, and begins with a letter or digit".to_owned()));
    }
    if entry.scopes.is_empty() {
        return Err(bad("it has no scope".to_owned()));
    }
    if entry.requests_per_second.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
        return Err(bad("`requests_per_second` is a number over 0".to_owned()));
    }
    let quota =
        Quota { documents: entry.documents, bytes: entry.bytes, requests_per_second: entry.requests_per_second };
    let fingerprint = fingerprint(digits);
    Ok(StoredKey {
        name: entry.name,
        hash,
        scopes: entry.scopes,
        collections,
        tenant: entry.tenant,
        quota,
        fingerprint,
    })
}

/// A name that is a folder's and nothing else.
fn is_tenant(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['-', '_'])
}

fn fingerprint(hash: blake3::Hash) -> String {
    hash.to_hex()[..8].to_owned()
}

/// SHA-256 by the library that TLS brings; in blake3's type, for its comparison.
fn sha256(bytes: &[u8]) -> blake3::Hash {
    let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let rustls::SupportedCipherSuite::Tls13(suite) = suite else { return blake3::hash(b"") };
    let digest = suite.common.hash_provider.hash(bytes);
    let mut out = [0; 32];
    let length = digest.as_ref().len().min(32);
    out[..length].copy_from_slice(&digest.as_ref()[..length]);
    blake3::Hash::from_bytes(out)
}

/// A key that was made now: shown once, kept as its hash.
pub struct NewKey {
    pub key: String,
    /// `blake3:…`
    pub hash: String,
}

impl NewKey {
    /// Makes one of 256 bits of chance.
    pub fn make() -> Result<Self, rustls::Error> {
        let mut bytes = [0; 32];
        let provider = rustls::crypto::ring::default_provider();
        provider.secure_random.fill(&mut bytes).map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        let digits = blake3::Hash::from_bytes(bytes).to_hex();
        let key = format!("rag-{digits}");
        let hash = format!("blake3:{}", blake3::hash(key.as_bytes()).to_hex());
        Ok(Self { key, hash })
    }
}

impl fmt::Debug for NewKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "NewKey({})", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n02_keys_are_found_by_their_hash_alone() {
        let made = NewKey::make().unwrap();
        assert_ne!(made.key, NewKey::make().unwrap().key);
        // `printf secret | sha256sum`
        let sha = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let file = format!(
            "[[key]]\nname = \"a\"\nhash = \"{}\"\nscopes = [\"read\", \"write\"]\n\
             [[key]]\nname = \"b\"\nhash = \"{sha}\"\ncollections = [\"docs-*\"]\ntenant = \"acme\"\n",
            made.hash
        );
        let keys = Keys::read(&file).unwrap();
        let found = keys.find(&made.key).unwrap();
        assert_eq!(found.name, "a");
        assert!(found.allows(Scope::Write) && !found.allows(Scope::Admin) && found.sees("any"));
        let found = keys.find("secret").unwrap();
        assert_eq!((found.name.as_str(), found.tenant.as_deref()), ("b", Some("acme")));
        assert!(found.allows(Scope::Read) && !found.allows(Scope::Write));
        assert!(found.sees("docs-x") && !found.sees("other"));
        for wrong in ["", "Secret", "secret ", &made.hash, &made.key[1..]] {
            assert!(keys.find(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{made:?}").contains(&made.key));
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let hash = "0".repeat(64);
        for (file, want) in [
            ("[[key]]\nname = \"a\"\n".to_owned(), "missing field `hash`"),
            ("[[key]]\nname = \"a\"\nhash = \"xyz\"\n".to_owned(), "64 digits"),
            (format!("[[key]]\nname = \"a\"\nhash = \"md5:{hash}\"\n"), "not `md5:…`"),
            (format!("[[key]]\nname = \"a\"\nhash = \"{hash}\"\ntenant = \"../x\"\n"), "a tenant has"),
            (format!("[[key]]\nname = \"a\"\nhash = \"{hash}\"\nscopes = []\n"), "no scope"),
            (format!("[[key]]\nname = \"a\"\nhash = \"{hash}\"\nkey = \"plain\"\n"), "unknown field"),
            (format!("[[key]]\nname = \"a\"\nhash = \"{hash}\"\nrequests_per_second = -1.0\n"), "over 0"),
        ] {
            let error = Keys::read(&file).unwrap_err().to_string();
            assert!(error.contains(want), "{file}: {error}");
        }
    }
}
