//! compact, reembed, verify --paranoid, migrate, doctor, man: what keeps an index in order.

use std::{fs, path::Path};

use serde_json::Value;

use crate::house::{House, contents};

/// Files below a folder that hold these bytes.
fn files_with(dir: &Path, needle: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    contents(dir).into_iter().filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path.display().to_string()).collect()
}

fn check<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {doctor:#}"))
}

#[test]
fn compact_makes_one_segment_of_each_leg() {
    let house = House::new();
    for round in 0..5 {
        house.write(&format!("docs/{round}.md"), format!("# Note {round}\n\nThe buoy of round {round} is red.\n"));
        house.write("docs/same.md", format!("# Same\n\nRound {round} wrote this.\n"));
        house.rag(["ingest", "docs", "-q"]).ok();
    }
    let ask = || house.rag(["query", "red buoy", "-k", "20", "--json"]).ok().json("rag.query/1")["results"].clone();
    let before = ask();
    let told = house.rag(["compact", "--json"]).ok().json("rag.compact/1");
    assert_eq!((&told["changed"], &told["segments_after"]["text"]), (&true.into(), &1.into()), "{told:#}");
    assert_eq!(told["segments_after"]["vectors"], 1);
    assert!(told["dropped"].as_u64().unwrap() > 0);
    assert!(told["bytes_after"].as_u64().unwrap() < told["bytes_before"].as_u64().unwrap(), "{told:#}");
    assert_eq!(ask(), before, "what is found is what was found");
    house.rag(["verify", "--paranoid"]).ok();
    let again = house.rag(["compact", "--json"]).ok().json("rag.compact/1");
    assert_eq!((&again["changed"], &again["generation"]), (&false.into(), &told["generation"]));
    assert_eq!(house.rag(["ingest", "docs", "--json"]).ok().json("rag.ingest/1")["chunks"]["written"], 0);
    house.rag(["compact", "--index", "none"]).exits(2);
}

#[test]
fn t06_purged_text_is_in_no_file() {
    let house = House::new();
    house.write("docs/secret.md", "# Codeword\n\nThe word is Xylokarpfenquitte, say it to nobody.\n");
    house.write("docs/open.md", "# Open\n\nEverybody may read this.\n");
    house.rag(["ingest", "docs", "-q"]).ok();
    // Stems and words are lower case in the dictionary; the record is as it was.
    let found = |needle: &str| files_with(&house.path(".rag"), needle);
    assert!(!found("Xylokarpfenquitte").is_empty(), "the test sees what is there");
    house.rag(["rm", "docs/secret.md", "-q"]).ok();
    let removed = house.rag(["rm", "docs/secret.md", "--purge", "--json"]).exits(1).json("rag.rm/1");
    assert_eq!((&removed["purged"], &removed["removed"]), (&true.into(), &Value::Array(vec![])));
    for needle in ["Xylokarpfenquitte", "xylokarpfenquitte", "say it to nobody"] {
        assert_eq!(found(needle), Vec::<String>::new(), "{needle}");
    }
    house.rag(["verify"]).ok();
    house.rag(["show", "docs/open.md"]).ok();
}

#[test]
fn reembed_changes_the_model_and_back() {
    let house = House::with_index();
    let before = house.rag(["status", "--json"]).ok().json("rag.status/1");
    let gone = house.rag(["reembed", "--no-embed", "--json"]).ok().json("rag.reembed/1");
    assert!(gone["embedding_space"].is_null() && gone["unchanged"] == false, "{gone:#}");
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!((&status["vectors"], &status["chunks"]), (&0.into(), &before["chunks"]));
    house.rag(["query", "how are refunds handled"]).ok();
    // No source is needed.
    fs::remove_dir_all(house.path("sample-docs")).unwrap();
    let back = house.rag(["reembed", "--json"]).ok().json("rag.reembed/1");
    assert_eq!(back["embedding_space"]["model"], "all-minilm-l6-v2");
    assert_eq!(back["chunks"], before["chunks"]);
    house.rag(["verify", "--paranoid"]).ok();
    let again = house.rag(["reembed", "--json"]).ok().json("rag.reembed/1");
    assert_eq!((&again["unchanged"], &again["bytes_written"]), (&true.into(), &0.into()));
    assert!(house.rag(["reembed"]).ok().stdout.contains("nothing to do"));
    house.rag(["reembed", "--abort"]).ok();
}

#[test]
fn reembed_at_an_endpoint_that_fails_keeps_the_old_space() {
    let house = House::with_index();
    let ran = house.rag(["reembed", "--embed-url", "http://127.0.0.1:9/v1", "--embed-model", "m"]).exits(5);
    assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
    let status = house.rag(["status", "--json"]).ok().json("rag.status/1");
    assert_eq!(status["vectors"], status["chunks"]);
    assert_eq!(status["embedding_space"]["model"], "all-minilm-l6-v2");
}

#[cfg(unix)]
#[test]
fn reembed_killed_goes_on_where_it_was() {
    use std::{process::Stdio, time::Duration};
    let house = House::new();
    for number in 0..400 {
        house
            .write(&format!("docs/{number}.md"), format!("# Note {number}\n\nThe {number}th buoy was seen at dawn.\n"));
    }
    house.rag(["ingest", "docs", "--no-embed", "-q"]).ok();
    let mut child = house.command().arg("reembed").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let ended = child.try_wait().unwrap().is_some();
    child.kill().unwrap();
    child.wait().unwrap();
    house.rag(["verify"]).ok();
    let vectors = house.rag(["status", "--json"]).ok().json("rag.status/1")["vectors"].as_u64().unwrap();
    assert!(ended || vectors == 0, "half a space is in force: {vectors}");
    let done = house.rag(["reembed", "--json"]).ok().json("rag.reembed/1");
    assert_eq!(done["chunks"], 400);
    assert_eq!(house.rag(["status", "--json"]).ok().json("rag.status/1")["vectors"], 400);
    house.rag(["verify"]).ok();
}

#[test]
fn verify_paranoid_says_what_it_did() {
    let house = House::with_index();
    let verified = house.rag(["verify", "--paranoid", "--json"]).ok().json("rag.verify/1");
    assert_eq!((&verified["sound"], &verified["paranoid"]), (&true.into(), &true.into()));
    assert!(verified["files"].as_u64().unwrap() >= 8 && verified["bytes"].as_u64().unwrap() > 10_000, "{verified:#}");
    let plain = house.rag(["verify", "--json"]).ok().json("rag.verify/1");
    assert_eq!((&plain["files"], &plain["bytes"]), (&verified["files"], &verified["bytes"]));
    // A file that was cut off is named, and nothing dies.
    let store =
        contents(&house.path(".rag/text")).into_keys().find(|path| path.extension().is_some_and(|e| e == "store"));
    let store = store.unwrap();
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    let ran = house.rag(["verify", "--paranoid"]).exits(1);
    assert!(ran.stdout.contains(".store"), "{}", ran.stdout);
}

#[test]
fn migrate_knows_its_own_format_and_refuses_newer_ones() {
    let house = House::with_index();
    let told = house.rag(["migrate", "--json"]).ok().json("rag.migrate/1");
    assert_eq!((&told["from"], &told["to"], &told["changed"]), (&1.into(), &1.into(), &false.into()));
    assert!(house.rag(["migrate"]).ok().stdout.contains("nothing to do"));
    let format = fs::read_to_string(house.path(".rag/FORMAT")).unwrap();
    let newer = format.replace("format = 1", "format = 9").replace("least_reader = 1", "least_reader = 9");
    house.write(".rag/FORMAT", newer);
    for verb in [["migrate"], ["verify"], ["status"], ["compact"], ["list"]] {
        let ran = house.rag(verb).exits(7);
        assert!(ran.stderr.contains("format 9") && ran.stderr.contains("update this one"), "{verb:?}: {}", ran.stderr);
    }
    house.rag(["migrate", "--index", "none"]).exits(2);
}

#[test]
fn doctor_finds_a_healthy_setup_healthy() {
    let house = House::with_index();
    let doctor = house.rag(["doctor", "--json"]).ok().json("rag.doctor/1");
    assert_eq!(doctor["healthy"], true, "{doctor:#}");
    for name in ["program", "settings", "format", "index", "lock", "left-overs", "disk", "files", "embedder"] {
        assert_eq!(check(&doctor, name)["state"], "ok", "{doctor:#}");
    }
    assert!(house.rag(["doctor"]).ok().stdout.contains("embedder"));
}

#[test]
fn doctor_names_what_is_wrong_and_what_mends_it() {
    let house = House::new();
    let doctor = house.rag(["doctor", "--json"]).exits(1).json("rag.doctor/1");
    assert_eq!(check(&doctor, "index")["fix"], "rag ingest PATH");

    let house = House::with_index();
    fs::write(house.path("sample-docs/faq.html"), "changed").unwrap();
    fs::remove_file(house.path("sample-docs/prices.csv")).unwrap();
    fs::write(house.path(".rag/text/left.idx"), "left").unwrap();
    house.write(
        "config.toml",
        "[ingest]\nloaders = [\"djvu=no-such-program-here -\"]\n[llm]\nurl = \"http://127.0.0.1:9/v1\"\n",
    );
    let path = house.path("config.toml");
    let variables = [("RAG_CONFIG", path.to_str().unwrap())];
    let doctor = house.rag_env(["doctor", "--json"], &variables).exits(1).json("rag.doctor/1");
    let message = |name: &str| check(&doctor, name)["message"].as_str().unwrap().to_owned();
    assert!(message("files").contains("1 changed and 1 gone"), "{doctor:#}");
    assert!(message("left-overs").contains("1 file"), "{doctor:#}");
    assert!(message("loaders").contains("no-such-program-here"), "{doctor:#}");
    assert!(message("endpoint").contains("llm.url"), "{doctor:#}");
    let wrong = doctor["checks"].as_array().unwrap().iter().filter(|check| check["state"] != "ok");
    for check in wrong {
        assert!(check["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{check:#}");
    }
    let fixed = house.rag(["doctor", "--fix", "--json"]).ok().json("rag.doctor/1");
    assert_eq!(check(&fixed, "left-overs")["state"], "fixed", "{fixed:#}");
    assert!(!house.path(".rag/text/left.idx").exists());

    // A setting that stops every other verb does not stop this one.
    house.write("config.toml", "[llm]\nulr = \"x\"\n");
    house.rag_env(["list"], &variables).exits(2);
    let doctor = house.rag_env(["doctor", "--json"], &variables).exits(1).json("rag.doctor/1");
    assert!(check(&doctor, "settings")["fix"].as_str().unwrap().contains("llm.url"), "{doctor:#}");

    let format = house.path(".rag/FORMAT");
    fs::write(&format, fs::read_to_string(&format).unwrap().replace("= 1", "= 9")).unwrap();
    let doctor = house.rag(["doctor", "--json"]).exits(1).json("rag.doctor/1");
    assert!(check(&doctor, "index")["fix"].as_str().unwrap().contains("update"), "{doctor:#}");
}

/// Each command that `doctor` prints, typed as it is printed, mends what it is printed for.
#[cfg(unix)]
#[test]
fn the_commands_of_doctor_mend() {
    use std::os::unix::fs::PermissionsExt;
    let flip = |house: &House, end: &str| {
        let path =
            contents(&house.path(".rag")).into_keys().find(|path| path.to_string_lossy().ends_with(end)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x15;
        fs::write(path, bytes).unwrap();
    };
    let open = |house: &House, name: &str, mode| {
        fs::set_permissions(house.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    type Break<'a> = &'a dyn Fn(&House);
    let cases: [(&str, Break<'_>); 9] = [
        ("index", &|house| fs::remove_dir_all(house.path(".rag")).unwrap()),
        ("index", &|house| flip(house, "text/meta.json")),
        ("index", &|house| flip(house, "FORMAT")),
        ("checksums", &|house| flip(house, ".store")),
        ("checksums", &|house| flip(house, ".vec")),
        ("permissions", &|house| open(house, ".rag", 0o755)),
        ("left-overs", &|house| fs::write(house.path(".rag/text/left.idx"), "left").unwrap()),
        ("files", &|house| fs::write(house.path("sample-docs/faq.html"), "<p>changed</p>").unwrap()),
        ("reembed", &|house| begin_a_space(house)),
    ];
    for (name, harm) in cases {
        let house = House::with_index();
        harm(&house);
        let doctor = house.rag(["doctor", "--json"]).json("rag.doctor/1");
        assert_ne!(check(&doctor, name)["state"], "ok", "{doctor:#}");
        // Where the index does not know any more what was in it.
        let fix = check(&doctor, name)["fix"].as_str().unwrap().replace(" PATH", " sample-docs");
        let folder = house.path("bin");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(house.command().get_program(), folder.join("rag")).unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &fix])
            .current_dir(house.path("."))
            .env_clear()
            .env("HOME", house.path("."))
            .env("PATH", path);
        let ran = crate::house::Ran::from(shell.output().unwrap());
        assert_eq!(ran.code, 0, "{fix}: {}", ran.stderr);
        let doctor = house.rag(["doctor", "--json"]).ok().json("rag.doctor/1");
        let wrong: Vec<_> =
            doctor["checks"].as_array().unwrap().iter().filter(|check| check["state"] != "ok").collect();
        assert!(wrong.is_empty(), "{name}, after `{fix}`: {wrong:#?}");
        house.rag(["verify"]).ok();
        house.rag(["query", "shaft seal"]).ok();
    }
}

/// As `reembed` leaves it that was cut off.
#[cfg(unix)]
fn begin_a_space(house: &House) {
    house.rag(["reembed", "--no-embed", "-q"]).ok();
    for at in (1..400).step_by(3) {
        house.rag_env(["reembed", "-q"], &[("RAG_KILL_AT", &at.to_string())]);
        let doctor = house.rag(["doctor", "--json"]).json("rag.doctor/1");
        if doctor["checks"].as_array().unwrap().iter().any(|check| check["name"] == "reembed") {
            return;
        }
    }
    panic!("no kill leaves a space behind");
}

#[cfg(unix)]
#[test]
fn k06_files_with_secrets_that_others_may_read_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::with_index();
    house.write("key", "sk-canary-0123456789");
    house.write("config.toml", format!("[llm]\nkey_file = \"{}\"\n", house.path("key").display()));
    let path = house.path("config.toml");
    let variables = [("RAG_CONFIG", path.to_str().unwrap())];
    let mode = |mode| fs::set_permissions(house.path("key"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let ran = house.rag_env(["list"], &variables).ok();
    assert!(ran.stderr.contains("chmod 600") && !ran.stderr.contains("canary"), "{}", ran.stderr);
    let doctor = house.rag_env(["doctor", "--json"], &variables).ok().json("rag.doctor/1");
    assert_eq!(check(&doctor, "secrets")["state"], "warning");
    let doctor = house.rag_env(["doctor", "--fix", "--json"], &variables).ok().json("rag.doctor/1");
    assert_eq!(check(&doctor, "secrets")["state"], "fixed");
    assert_eq!(fs::metadata(house.path("key")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(house.rag_env(["list"], &variables).ok().stderr, "");
    // What this program writes itself is closed from the start.
    for file in contents(&house.path(".rag")).into_keys() {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "{}", file.display());
    }
}

#[cfg(unix)]
#[test]
fn t04_an_index_that_others_may_change_is_not_opened() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::with_index();
    let dir = house.path(".rag");
    if std::os::unix::fs::chown(&dir, Some(12_345), None).is_err() {
        return println!("left out: only root gives a folder to another user");
    }
    let mode = |mode| fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o777);
    let ran = house.rag(["list"]).exits(2);
    assert!(ran.stderr.contains("another user") && ran.stderr.contains("--trust-index"), "{}", ran.stderr);
    house.rag(["query", "pump"]).exits(2);
    house.rag(["list", "--trust-index"]).ok();
    mode(0o755);
    house.rag(["list"]).ok();
}

#[test]
fn man_has_a_page_for_every_verb() {
    let house = House::new();
    let page = house.rag(["man"]).ok().stdout;
    assert!(page.contains(".TH RAG 1") && page.contains("ingest"), "{page}");
    assert!(house.rag(["man", "ingest"]).ok().stdout.contains("\\-\\-collection"));
    house.rag(["man", "nonsense"]).exits(2);
    house.rag(["man", "--out", "pages"]).ok();
    let pages: Vec<String> = contents(&house.path("pages"))
        .into_keys()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in ["rag.1", "rag-ingest.1", "rag-doctor.1", "rag-man.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} of {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("help")), "{pages:?}");
}
