//! How is a key carried so that nobody sees it? Not good for: deciding where a key may go (`Http` does that).

use std::fmt;

#[cfg(feature = "serve")]
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroize};

/// Keys longer than this show their last four characters, so that a person can tell two of them apart.
const SHOWN_FROM: usize = 13;
/// Shorter secrets are not searched for in messages: they would take ordinary words out.
const SCRUBBED_FROM: usize = 4;

/// A secret: an API key, a password, the value of a header. `Debug` and `Display` show at most its last four characters;
/// its memory is cleared when it is dropped.
#[derive(Clone)]
pub struct Key(SecretString);

impl Key {
    /// Takes the key without the white space around it, which key files and variables tend to have.
    pub fn new(text: impl Into<String>) -> Self {
        let mut text = text.into();
        let key = SecretString::from(text.trim());
        text.zeroize();
        Self(key)
    }

    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// The key itself, for a request header and nothing else.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The header that carries the key: `authorization`, at Azure `api-key`. `None`: it has characters that no header can carry.
    #[cfg(feature = "serve")]
    pub(crate) fn credential(&self, azure: bool) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match azure {
            true => (HeaderName::from_static("api-key"), HeaderValue::from_str(self.expose())),
            false => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", self.expose()))),
        };
        let mut value = value.ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }

    /// Takes the key out of a text that is going to be shown: some servers repeat it in their messages.
    pub(in crate::model) fn scrub(&self, text: &mut String) {
        let key = self.expose();
        if key.len() >= SCRUBBED_FROM && text.contains(key) {
            *text = text.replace(key, "***");
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.expose();
        let letters = key.chars().count();
        if letters < SHOWN_FROM {
            return out.write_str("***");
        }
        let last: String = key.chars().skip(letters - 4).collect();
        write!(out, "{}…{last}", if key.starts_with("sk-") { "sk-" } else { "" })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k03_a_key_shows_its_last_four_characters_at_most() {
        for (key, want) in [
            ("", "***"),
            ("short", "***"),
            ("twelve-chars", "***"),
            ("sk-proj-0123456789abcd", "sk-…abcd"),
            ("0123456789abcdef", "…cdef"),
            ("schlüsselüberöäüß", "…öäüß"),
        ] {
            assert_eq!(Key::new(key).to_string(), want);
            assert_eq!(format!("{:?}", Key::new(key)), format!("Key({want})"));
        }
    }

    #[test]
    fn white_space_around_a_key_is_not_part_of_it() {
        assert_eq!(Key::new(" sk-1\r\n").expose(), "sk-1");
        assert!(Key::new(" \n").is_empty());
    }

    #[test]
    fn a_key_is_taken_out_of_messages() {
        let mut text = "wrong key sk-canary (sk-canary)".to_owned();
        Key::new("sk-canary").scrub(&mut text);
        assert_eq!(text, "wrong key *** (***)");
        Key::new("w").scrub(&mut text);
        assert_eq!(text, "wrong key *** (***)");
    }
}
