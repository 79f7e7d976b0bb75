//! Conversations: `--chat`, `--history`, follow-up questions, profiles, prompts of one's own.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    house::{House, Ran},
    llm_double::{Behaviour, Double, Profile},
};

fn fed(mut command: Command, lines: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

fn chat(house: &House, more: &[&str], lines: &str) -> Ran {
    let mut command = house.command();
    command.args(["ask", "--chat"]).args(more);
    fed(command, lines)
}

fn objects(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_follow_up_is_understood_without_a_model() {
    let house = House::with_index();
    let ran = chat(&house, &["--json"], "How long is the warranty of the Otter 3?\nAnd what does it not cover?\n").ok();
    let answers = objects(&ran);
    assert_eq!(answers.len(), 2);
    assert!(answers[0].get("searched").is_none(), "{}", answers[0]);
    assert_eq!(answers[1]["question"], "And what does it not cover?");
    assert!(answers[1]["searched"].as_str().unwrap().contains("warranty"), "{}", answers[1]);
    assert!(answers[1]["answer"].as_str().unwrap().contains("frost damage"), "{:#}", answers[1]);
    // Asked alone, the second question finds nothing of the kind.
    let alone = house.rag(["ask", "And what does it not cover?", "--json"]);
    assert!(!alone.stdout.contains("\"searched\""), "{}", alone.stdout);
}

#[test]
fn a_model_puts_a_follow_up_in_other_words_and_hears_what_was_said() {
    let house = House::with_index();
    let says = |text: &str| Behaviour::Answer(text.into());
    let double = Double::start(
        Profile::OpenAi,
        [
            says("The warranty is 36 months from the day of purchase [1]."),
            says("Does the warranty of the Otter 3 cover frost damage?"),
            says("It does not cover frost damage [1]."),
        ],
    );
    let more = ["--json", "--llm-url", &double.url(), "--model", "scripted"];
    let ran = chat(&house, &more, "How long is the warranty of the Otter 3?\nIs frost damage covered too?\n");
    let answers = objects(&ran);
    assert_eq!(answers[1]["searched"], "Does the warranty of the Otter 3 cover frost damage?", "{ran:?}");
    let sent = double.requests();
    assert_eq!(sent.len(), 3);
    assert!(sent[1].prompt().contains("Follow-up question: Is frost damage covered too?"), "{}", sent[1].prompt());
    let messages = sent[2].body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(messages[2]["content"], "The warranty is 36 months from the day of purchase.");
}

#[test]
fn commands_of_a_chat() {
    let house = House::with_index();
    let lines = "/sources\n/help\nHow are refunds handled?\n/sources\n/open 1\n/open 99\n/open x\n/nonsense\n/clear\n/sources\n/quit\nnever read\n";
    let ran = chat(&house, &[], lines).ok();
    assert!(ran.stdout.contains("/open N"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("[1] sample-docs/faq.html").count(), 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("You may send back any pump"), "/open prints all of it: {}", ran.stdout);
    assert!(!ran.stdout.contains("never read"));
    for note in ["no answer has sources yet", "no source [99]", "`x` is not", "`/nonsense` is no command", "forgotten"]
    {
        assert!(ran.stderr.contains(note), "{note}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("no answer has sources yet").count(), 2);
    // A script gets the code of its last question.
    chat(&house, &[], "How are refunds handled?\nWho won the chess championship of 1972?\n").exits(1);
    chat(&house, &[], "").ok();
}

#[test]
fn a_history_is_read_and_added_to() {
    let house = House::with_index();
    house.rag(["ask", "How long is the warranty of the Otter 3?", "--history", "talk.jsonl"]).ok();
    let ran = house.rag(["ask", "And what does it not cover?", "--history", "talk.jsonl", "--json"]).ok();
    assert!(ran.json("rag.answer/1")["searched"].as_str().unwrap().contains("warranty"));
    let text = std::fs::read_to_string(house.path("talk.jsonl")).unwrap();
    let turns: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["schema"], "rag.turn/1");
    assert_eq!(turns[0]["sources"][0], "sample-docs/otter-manual.md");
    assert!(turns[0]["answer"].as_str().unwrap().contains("36 months"));

    for (bad, words) in [
        ("{\"schema\":\"rag.turn/1\",\"question\":\"a\",\"answer\":\"b\"}\nnonsense\n", "line 2: it is not JSON"),
        ("\n\n{\"schema\":\"rag.turn/1\",\"question\":\"a\"", "line 3: it breaks off"),
        ("{\"schema\":\"rag.turn/1\",\"question\":\"a\"}\n", "line 1: it has no `answer`"),
        ("{\"question\":\"a\",\"answer\":\"b\"}\n", "line 1: it has no `schema`"),
        ("{\"schema\":\"rag.answer/1\"}\n", "line 1: its schema is `rag.answer/1`"),
    ] {
        house.write("bad.jsonl", bad);
        let ran = house.rag(["ask", "How are refunds handled?", "--history", "bad.jsonl"]).exits(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert_eq!(std::fs::read_to_string(house.path("bad.jsonl")).unwrap(), bad, "a bad file is left as it is");
    }
    let ran = house.rag(["ask", "How are refunds handled?", "--history", "no/such/folder.jsonl"]).exits(8);
    assert!(ran.stderr.contains("cannot write the history"), "{}", ran.stderr);
}

#[test]
fn profiles_name_models_and_what_they_cost() {
    let house = House::with_index();
    let double = Double::start(Profile::OpenAi, [Behaviour::CiteRight]);
    house.write("fast.key", "sk-canary-profile\n");
    house.write(
        "config.toml",
        format!(
            "[llm]\nurl = \"http://127.0.0.1:9/v1\"\nkey_file = \"absent\"\n\n[profiles.fast]\nurl = \"{}\"\nmodel = \"tiny\"\n\
             key_file = \"fast.key\"\nmax_tokens = 77\ntemperature = 0.5\nheaders = [\"X-Title: rag-canary\"]\n\
             price_per_million_input = 2\nprice_per_million_output = 10\n",
            double.url()
        ),
    );
    let path = house.path("config.toml");
    let variables = [("RAG_CONFIG", path.to_str().unwrap()), ("RAG_LLM_API_KEY", "sk-canary-of-another")];
    let ask = ["ask", "How are refunds handled?", "--model", "fast", "--json"];
    let answer = house.rag_env(ask, &variables).ok().json("rag.answer/1");
    assert_eq!(answer["model"]["requested"], "tiny");
    let usage = |field: &str| answer["usage"][field].as_f64().unwrap();
    let total = (usage("prompt_tokens") * 2.0 + usage("completion_tokens") * 10.0) / 1e6;
    assert!((answer["cost"]["total"].as_f64().unwrap() - total).abs() < 1e-8, "{answer:#}");
    let sent = &double.requests()[0];
    assert_eq!(sent.header("authorization"), Some("Bearer sk-canary-profile"), "the other key is for another endpoint");
    assert_eq!(sent.header("x-title"), Some("rag-canary"));
    assert_eq!((&sent.body["max_tokens"], &sent.body["temperature"]), (&77.into(), &0.5.into()));
    let shown = house.rag_env(["ask", "How are refunds handled?", "--model", "fast"], &variables).ok();
    assert!(shown.stderr.contains("tokens in") && shown.stderr.contains("cost 0.0"), "{}", shown.stderr);

    let config = house.rag_env(["config", "--json"], &variables).ok();
    assert!(!config.stdout.contains("canary"), "{}", config.stdout);
    let config = config.json("rag.config/1");
    let setting = |key: &str| {
        let all = config["settings"].as_array().unwrap();
        all.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("{key}")).clone()
    };
    assert_eq!(setting("profiles.fast.model")["value"], "tiny");
    assert_eq!(setting("profiles.fast.headers")["value"][0], "X-Title: ***");
    assert_eq!(setting("profiles.fast.url")["origin"], path.to_str().unwrap());

    // An index brings no models, endpoints or prompts.
    for (text, words) in [
        ("[profiles.fast]\nurl = \"http://evil.example\"\n", "[profiles]"),
        ("[ask]\nsystem_prompt = \"obey\"\n", "ask.system_prompt"),
        ("[ask]\nsystem_prompt_file = \"/etc/passwd\"\n", "ask.system_prompt_file"),
        ("[llm]\nheaders = [\"X: y\"]\n", "llm.headers"),
        ("[llm]\nca_file = \"x.pem\"\n", "llm.ca_file"),
    ] {
        house.write(".rag/rag.toml", text);
        let ran = house.rag(["ask", "How are refunds handled?"]).exits(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

#[test]
fn a_prompt_of_ones_own() {
    let house = House::with_index();
    let double = Double::start(Profile::OpenAi, [Behaviour::CiteRight]);
    house.write("prompt.txt", "Answer like a librarian.\n{rules}\n");
    let url = double.url();
    let ask = ["ask", "How are refunds handled?", "--llm-url", &url, "--model", "m"];
    let system = |number: usize| double.requests()[number].body["messages"][0]["content"].as_str().unwrap().to_owned();
    house.rag_env(ask, &[("RAG_ASK_SYSTEM_PROMPT_FILE", "prompt.txt")]).ok();
    assert!(system(0).starts_with("Answer like a librarian.\nYou answer questions"), "{}", system(0));
    house.rag_env(ask, &[("RAG_ASK_SYSTEM_PROMPT", "Be brief.")]).ok();
    assert_eq!(system(1), "Be brief.");
    let both = [("RAG_ASK_SYSTEM_PROMPT", "a"), ("RAG_ASK_SYSTEM_PROMPT_FILE", "prompt.txt")];
    house.rag_env(ask, &both).exits(2);
    let ran = house.rag_env(ask, &[("RAG_ASK_SYSTEM_PROMPT_FILE", "absent.txt")]).exits(2);
    assert!(ran.stderr.contains("absent.txt"), "{}", ran.stderr);
    house.rag_env(ask, &[("RAG_ASK_SYSTEM_PROMPT", "  ")]).exits(2);
}

#[test]
fn headers_keys_and_versions_reach_the_endpoint() {
    let house = House::with_index();
    let double = Double::start(Profile::OpenAi, [Behaviour::CiteRight]);
    let url = double.url();
    let ask = [
        "ask",
        "How are refunds handled?",
        "--llm-url",
        &url,
        "--model",
        "m",
        "--llm-header",
        "X-Team: ${TEAM}",
        "--llm-no-system",
    ];
    let variables = [
        ("TEAM", "ops"),
        ("MY_KEY", "sk-canary-env"),
        ("RAG_LLM_KEY_ENV", "MY_KEY"),
        ("RAG_LLM_KEY_HEADER", "api-key"),
        ("RAG_LLM_API_VERSION", "2026-01-01"),
        ("RAG_LLM_MAX_TOKENS_FIELD", "max_completion_tokens"),
    ];
    let ran = house.rag_env(ask, &variables).ok();
    assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"));
    let sent = &double.requests()[0];
    assert_eq!((sent.header("x-team"), sent.header("api-key")), (Some("ops"), Some("sk-canary-env")));
    assert_eq!(sent.header("authorization"), None);
    assert!(sent.path.ends_with("/chat/completions?api-version=2026-01-01"), "{}", sent.path);
    assert!(sent.body.get("max_completion_tokens").is_some() && sent.body.get("max_tokens").is_none());
    assert_eq!(sent.body["messages"][0]["role"], "user");
    // What a header's value should have come from is named, never the value.
    let ran = house.rag_env(ask, &[]).exits(2);
    assert!(ran.stderr.contains("TEAM"), "{}", ran.stderr);
    let ran = house.rag_env(["ask", "x", "--llm-url", &url, "--llm-header", "sk-canary"], &[]).exits(2);
    assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
}

/// A terminal of util-linux's `script` with `rag` in it: what is typed goes in, what is shown comes out.
#[cfg(target_os = "linux")]
mod on_a_terminal {
    use std::{
        io::{Read as _, Write as _},
        process::{Child, ChildStdin, Stdio},
        sync::mpsc::{Receiver, channel},
        time::{Duration, Instant},
    };

    use crate::{
        house::House,
        llm_double::{Behaviour, Double, Profile},
    };

    /// Far longer than anything takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct Terminal {
        child: Child,
        keys: ChildStdin,
        screen: Receiver<u8>,
        shown: String,
    }

    impl Terminal {
        /// `None` after saying so, where there is no `script`; under `CI` that is a failure.
        fn start(house: &House, arguments: &str) -> Option<Self> {
            // Without a shell between: it would hear the interrupt too.
            let rag = env!("CARGO_BIN_EXE_rag");
            let mut command = std::process::Command::new("script");
            command.args([
                "--quiet",
                "--return",
                "--command",
                &format!("exec {rag} ask --chat {arguments}"),
                "/dev/null",
            ]);
            command.current_dir(house.path("")).env_clear().env("HOME", house.path("")).env("TERM", "xterm");
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => {
                    assert!(std::env::var_os("CI").is_none(), "no `script` (util-linux): {error}");
                    eprintln!("left out: no `script` (util-linux) to make a terminal with: {error}");
                    return None;
                }
            };
            let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let (to, screen) = channel();
            std::thread::spawn(move || {
                let mut byte = [0];
                while stdout.read_exact(&mut byte).is_ok() && to.send(byte[0]).is_ok() {}
            });
            Some(Self { child, keys, screen, shown: String::new() })
        }

        fn types(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
            self.keys.flush().unwrap();
        }

        /// Waits until this is shown, and gives what was shown up to there since the last time.
        fn shows(&mut self, text: &str) -> String {
            let end = Instant::now() + PATIENCE;
            let mut bytes = std::mem::take(&mut self.shown).into_bytes();
            while !String::from_utf8_lossy(&bytes).contains(text) {
                let left = end.saturating_duration_since(Instant::now());
                match self.screen.recv_timeout(left) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => panic!("`{text}` is not shown: {:?}", String::from_utf8_lossy(&bytes)),
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }

        /// Waits for the end and gives the exit code.
        fn ends(mut self) -> i32 {
            let end = Instant::now() + PATIENCE;
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status.code().unwrap();
                }
                assert!(Instant::now() < end, "it does not end");
                // Whoever waits for a process has nothing else to wait for.
                let _ = self.screen.recv_timeout(Duration::from_millis(20));
            }
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[test]
    fn a_line_is_edited_and_completed_and_comes_back() {
        let house = House::with_index();
        let Some(mut terminal) = Terminal::start(&house, "--extractive") else { return };
        terminal.shows("rag> ");
        // A word too many is taken back with Ctrl-W.
        terminal.types("How are refunds handled nonsense\x17\r");
        terminal.shows("within five");
        terminal.shows("rag> ");
        // Tab completes a command and the number of a source.
        terminal.types("/so\t\r");
        terminal.shows("faq.html");
        terminal.shows("rag> ");
        terminal.types("/op\t1\r");
        terminal.shows("Return postage");
        terminal.shows("rag> ");
        // The third line from here is the question; Ctrl-C on a line drops it and nothing else.
        terminal.types("gone\x03");
        terminal.shows("rag> ");
        terminal.types("\x1b[A\x1b[A\x1b[A\r");
        terminal.shows("within five");
        terminal.shows("rag> ");
        terminal.types("\x04");
        assert_eq!(terminal.ends(), 0);
        let kept: Vec<_> = std::fs::read_dir(house.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(kept.len(), 2, "what was typed is kept nowhere: {kept:?}");
    }

    #[test]
    fn an_interrupt_breaks_the_answer_off_and_not_the_talk() {
        let house = House::with_index();
        let double = Double::start(
            Profile::OpenAi,
            [
                Behaviour::StallAfter(3),
                Behaviour::StallAfter(0),
                Behaviour::Answer("Refunds take five working days [1].".into()),
            ],
        );
        let arguments = format!("--llm-url {} --model scripted", double.url());
        let Some(mut terminal) = Terminal::start(&house, &arguments) else { return };
        terminal.shows("rag> ");
        terminal.types("How are refunds handled?\r");
        terminal.shows("One two");
        terminal.types("\x03");
        terminal.shows("broken off");
        assert!(double.hears_hang_up(), "the server is told");
        terminal.shows("rag> ");
        // Nor does one before the first word.
        terminal.types("How are refunds handled?\r");
        while double.requests().len() < 2 {
            std::thread::yield_now();
        }
        terminal.types("\x03");
        terminal.shows("broken off");
        terminal.shows("rag> ");
        terminal.types("How are refunds handled?\r");
        terminal.shows("five working days");
        terminal.shows("rag> ");
        terminal.types("/quit\r");
        assert_eq!(terminal.ends(), 0);
        // What was broken off was not said.
        assert_eq!(double.requests()[2].body["messages"].as_array().unwrap().len(), 2);
    }
}
