//! The page in a real browser: `tests/page/page.mjs` types, clicks and looks.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    house::{House, project},
    served::Served,
};

/// A browser and the library that drives it, if they are here. In CI they have to be.
fn browser() -> Option<(String, String)> {
    let library = project().join(".node-test/page");
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let chromium = chromium.into_iter().find(|path| Path::new(path).exists());
    let has_library = library.join("node_modules/playwright-core").exists();
    match (chromium, has_library) {
        (Some(chromium), true) => Some((chromium.to_owned(), library.display().to_string())),
        _ => {
            assert!(std::env::var_os("CI").is_none(), "no Chromium or no playwright-core: run scripts/page-setup.sh");
            eprintln!("left out: the page in a browser; scripts/page-setup.sh installs what it takes");
            None
        }
    }
}

#[test]
fn a_person_searches_asks_and_reads_in_a_browser() {
    let Some((chromium, library)) = browser() else { return };
    let house = House::with_index();
    for (flags, may_write) in [(&[][..], ""), (&["--allow-write"][..], "1")] {
        let server = Served::start(&house, flags);
        let shots = tempfile::tempdir().unwrap();
        let mut command = Command::new("node");
        command.arg(project().join("tests/page/page.mjs")).arg(&server.url).arg(shots.path());
        command.env("CHROMIUM", &chromium).env("NODE_MODULES", &library).env("MAY_WRITE", may_write);
        let ran = command.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
        assert!(told.matches("ok: ").count() >= 15, "{told}");
        for name in ["page-light.png", "page-dark.png"] {
            let picture = std::fs::read(shots.path().join(name)).unwrap();
            assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{name}");
        }
    }
}
