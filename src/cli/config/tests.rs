use super::{check::nearest, strangers::Stranger, *};

#[test]
fn defaults_fit_their_shapes_and_keys_are_unique() {
    let mut seen = std::collections::BTreeSet::new();
    for setting in SETTINGS {
        assert!(seen.insert(setting.key), "{}", setting.key);
        if let Some(default) = setting.default {
            assert_eq!(check(setting, &Value::One(default.into())), Ok(()), "{}", setting.key);
        }
    }
}

#[test]
fn variables_that_nobody_reads_are_told() {
    let strangers = |names: &[&str]| strangers(names.iter().map(|name| (*name).to_owned()).collect());
    for (name, near) in [
        ("RAG_RETRIEVE_KK", Some("RAG_RETRIEVE_K")),
        ("RAG_LLM_MODLE", Some("RAG_LLM_MODEL")),
        ("RAG_INDX", Some("RAG_INDEX")),
        ("RAG_INGEST_ZEBRA", None),
    ] {
        let want = Stranger { name: name.to_owned(), near: near.map(str::to_owned) };
        assert_eq!(strangers(&[name]), [want]);
    }
    assert_eq!(strangers(&["RAG_RETRIEVE_K", "RAG_INDEX", "RAG_KILL_AT", "RAG_TEST_SEED", "RAG_BACKEND"]), []);
}

#[test]
fn a_typo_is_named_with_its_neighbour() {
    assert_eq!(nearest("llm.modle"), Some("llm.model"));
    assert_eq!(nearest("ingest.chunk_token"), Some("ingest.chunk_tokens"));
    assert_eq!(nearest("zebra"), None);
}

fn load(text: &str, of_index: bool) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.toml");
    fs::write(&path, text).unwrap();
    let mut config = Config::default();
    match config.layer(&path, of_index) {
        Ok(()) => Ok(config),
        Err(Failure::Error { message, .. }) => Err(message.replace(&path.display().to_string(), "FILE")),
        Err(Failure::ClosedPipe) => unreachable!(),
    }
}

#[test]
fn files_are_checked() {
    for (text, want) in [
        ("[llm]\nurl = \"http://x/v1\"\n", Ok(())),
        ("[ingest]\ninclude = [\"*.md\"]\nmax_file_size = \"1MiB\"\n", Ok(())),
        ("[ingest]\nchunk_tokens = 9999\n", Err("`FILE`: ingest.chunk_tokens: `9999` is not a number from 32 to 254")),
        ("[llm]\nulr = \"x\"\n", Err("`FILE`: unknown setting `llm.ulr`")),
        ("k = 1\n", Err("`FILE`: unknown setting `k`")),
        ("[retrieve]\nmode = \"magic\"\n", Err("`FILE`: retrieve.mode: `magic` is not one of hybrid, lexical, dense")),
        ("[retrieve]\nk = [\"1\"]\n", Err("`FILE`: retrieve.k: one value is wanted, not a list")),
    ] {
        assert_eq!(load(text, false).map(drop), want.map_err(str::to_string), "{text}");
    }
    assert!(load("[llm\n", false).unwrap_err().starts_with("`FILE` line 1"));
}

#[test]
fn profiles_are_settings_of_one_model() {
    let text = "[llm]\nurl = \"http://a/v1\"\nmodel = \"big\"\nkey_file = \"a.key\"\nmax_tokens = 50\n\
        [profiles.fast]\nurl = \"http://b/v1\"\nmodel = \"tiny\"\ntemperature = 0.5\n\
        [profiles.long]\nmax_tokens = 9000\n";
    let config = load(text, false).unwrap();
    let fast = config.for_model(Some("fast"));
    assert_eq!((fast.text("llm.url"), fast.text("llm.model")), (Some("http://b/v1"), Some("tiny")));
    assert_eq!((fast.text("llm.key_file"), fast.number("llm.max_tokens")), (None, Some(50)));
    assert_eq!(fast.decimal("llm.temperature"), Some(0.5));
    assert!(fast.has_own_endpoint());
    let long = config.for_model(Some("long"));
    assert_eq!((long.text("llm.url"), long.text("llm.key_file")), (Some("http://a/v1"), Some("a.key")));
    assert_eq!((long.number("llm.max_tokens"), long.has_own_endpoint()), (Some(9000), false));
    assert_eq!(config.for_model(Some("other")).text("llm.model"), Some("other"));
    assert_eq!(config.for_model(None).text("llm.model"), Some("big"));
    for (text, want) in [
        ("[profiles.x]\nulr = \"y\"\n", "unknown setting `profiles.x.ulr`"),
        ("[profiles.x]\nmax_tokens = \"many\"\n", "profiles.x.max_tokens: `many` is not a number"),
        ("[profiles]\nx = 1\n", "unknown setting `profiles.x`"),
    ] {
        let error = load(text, false).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    assert!(load("[profiles.x]\nmodel = \"y\"\n", true).unwrap_err().contains("must not set"));
}

#[test]
fn k06_every_file_that_a_setting_makes_secret_is_known() {
    let text = "[llm]\nkey_file = \"a.key\"\nheaders = [\"x-api-key: 123\"]\n[embed]\nkey_file = \"b.key\"\n\
        [rerank]\nkey_file = \"c.key\"\n[profiles.fast]\nkey_file = \"d.key\"\n";
    let names = |text: &str| -> Vec<String> {
        let files = files_with_secrets(&load(text, false).unwrap());
        files.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    let mut all = names(text);
    all.sort();
    assert_eq!(all, ["a.key", "b.key", "c.key", "d.key", "x.toml"]);
    assert_eq!(names("[rerank]\nurl = \"https://me:word@host/v1\"\n"), ["x.toml"]);
    assert_eq!(names("[profiles.a]\nurl = \"https://me:word@host/v1\"\n"), ["x.toml"]);
    let harmless = "[llm]\nurl = \"https://host/a@b\"\nheaders = [\"x-api-key: ${KEY}\", \"x-title: rag\"]\n";
    assert_eq!(names(harmless), Vec::<String>::new());
}

#[test]
fn an_index_reaches_nothing_outside() {
    for setting in SETTINGS {
        let (section, name) = setting.key.split_once('.').unwrap();
        let value = if setting.shape == Shape::List {
            "[\"x\"]".to_string()
        } else {
            format!("{:?}", setting.default.unwrap_or("1"))
        };
        let loaded = load(&format!("[{section}]\n{name} = {value}\n"), true);
        assert_eq!(loaded.is_ok(), setting.in_index, "{}: {loaded:?}", setting.key);
    }
    assert!(
        !SETTINGS
            .iter()
            .any(|s| s.in_index && ["llm.", "embed.", "rerank."].iter().any(|section| s.key.starts_with(section)))
    );
}
