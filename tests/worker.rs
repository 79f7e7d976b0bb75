//! The extraction worker seen from outside: whatever a worker does, one file is lost, its parent goes on, and nothing is
//! left running.

#![cfg(unix)]

use std::{
    ffi::OsString,
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use rag::ingest::extract::{Extractor, Limits, Worker};

fn real(limits: Limits) -> Extractor {
    let worker =
        Worker::Process { program: env!("CARGO_BIN_EXE_rag").into(), arguments: vec![OsString::from("__extract")] };
    Extractor::new(worker, limits)
}

/// A worker that is a shell script.
fn script(script: &str, limits: Limits) -> Extractor {
    let arguments = ["-c", script].map(OsString::from).to_vec();
    Extractor::new(Worker::Process { program: "/bin/sh".into(), arguments }, limits)
}

fn short() -> Limits {
    Limits { timeout: Duration::from_millis(300), ..Limits::default() }
}

#[test]
fn a_worker_reads_one_file_after_another() {
    let mut extractor = real(Limits::default());
    for number in 0..20 {
        let text = format!("# Head {number}\n\nbody");
        let document = extractor.extract("a.md", text.as_bytes()).expect("it is read");
        assert_eq!((document.text, document.format.as_str()), (text, "markdown"));
        let problem = extractor.extract("a.docx", b"PK\x03\x04 word/document.xml").expect_err("it is not whole");
        assert_eq!(problem.reason, "damaged");
    }
}

#[test]
fn the_process_and_this_one_agree() {
    let mut inside = Extractor::new(Worker::InProcess, Limits::default());
    let mut outside = real(Limits::default());
    for (name, bytes) in [
        ("a.md", &b"---\ntitle: x\n---\n# H\n\nt"[..]),
        ("a.json", b"{\"a\": [1"),
        ("a.txt", b"\0\0\0"),
        ("a.csv", b""),
    ] {
        assert_eq!(inside.extract(name, bytes), outside.extract(name, bytes), "{name}");
    }
}

#[test]
fn a_dead_worker_costs_one_file() {
    for (what, reason, words) in [
        ("kill -SEGV $$", "crashed", "signal 11"),
        ("exit 3", "crashed", "exit code 3"),
        ("head -c 50 >/dev/null; kill -ABRT $$", "crashed", "signal 6"),
        ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "oom", "memory"),
        ("echo 'thread x has overflowed its stack' >&2; kill -ABRT $$", "crashed", "stack overflow"),
        ("kill -XCPU $$", "timeout", "processor"),
        ("kill -HUP $$", "crashed", "signal 1"),
        ("kill -INT $$", "crashed", "signal 2"),
        ("kill -KILL $$", "crashed", "signal 9"),
        ("kill -TERM $$", "crashed", "signal 15"),
        ("exec yes nonsense", "crashed", "makes no sense"),
    ] {
        let mut extractor = script(what, Limits::default());
        // One file that a pipe holds, and one that it does not; but who only talks never gets to the end of that.
        let sizes: &[usize] = if what.contains("yes") { &[100, 100] } else { &[100, 200_000] };
        for &size in sizes {
            let problem = extractor.extract("a.txt", &vec![b'x'; size]).expect_err(what);
            assert_eq!(problem.reason, reason, "{what}: {}", problem.message);
            assert!(problem.message.contains(words), "{what}: {}", problem.message);
            let from_outside = ["XCPU", "HUP", "INT", "KILL", "TERM"].iter().any(|signal| what.contains(signal));
            assert_eq!(problem.transient, from_outside, "{what}");
        }
    }
}

#[test]
fn a_slow_worker_is_ended() {
    // One that reads nothing, one that reads and says nothing, one that says half an answer.
    for what in
        ["exec sleep 1000", "cat >/dev/null; exec sleep 1000", "head -c 10 >/dev/null; printf 1234; exec sleep 1000"]
    {
        let mut extractor = script(what, short());
        let problem = extractor.extract("a.txt", &[b'x'; 1_000_000]).expect_err(what);
        assert_eq!(problem.reason, "timeout", "{what}: {}", problem.message);
        assert!(problem.transient, "a slow machine is no property of the bytes");
    }
}

#[test]
fn too_much_memory_is_said_and_the_next_file_is_read() {
    // 300 MiB hold the program and its stack, and not ten copies of this.
    let mut extractor = real(Limits { memory_bytes: 300 << 20, ..Limits::default() });
    let large = "{\"a\": \"two words\"}\n".repeat(8 << 20);
    let problem = extractor.extract("a.jsonl", large.as_bytes()).expect_err("it cannot fit");
    assert_eq!(problem.reason, "oom", "{}", problem.message);
    assert_eq!(extractor.extract("a.txt", b"small").map(|document| document.text), Ok("small".into()));
}

#[test]
fn a_program_that_cannot_be_started_ends_the_run() {
    let worker = Worker::Process { program: "/nowhere/rag".into(), arguments: vec![] };
    let mut extractor = Extractor::new(worker, Limits::default());
    let error = extractor.start().expect_err("it is not there");
    assert!(error.to_string().contains("/nowhere/rag"), "{error}");
    let problem = extractor.extract("a.txt", b"x").expect_err("it is not there");
    assert!(problem.transient && problem.reason == "worker", "{problem:?}");
}

#[test]
fn a_worker_inherits_no_environment() {
    let mut extractor = script("test -z \"$HOME$CARGO_MANIFEST_DIR\" && exit 7 || exit 8", Limits::default());
    let problem = extractor.extract("a.txt", b"x").expect_err("it reads nothing");
    assert!(problem.message.contains("exit code 7"), "{}", problem.message);
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_has_a_process_group_of_its_own() {
    let what = "read -r pid name state parent group rest </proc/$$/stat; test $group = $$ && exit 7 || exit 8";
    let problem = script(what, Limits::default()).extract("a.txt", b"x").expect_err("it reads nothing");
    assert!(problem.message.contains("exit code 7"), "{}", problem.message);
}

/// The header of a request, as a parent writes it.
fn request(name: &str) -> Vec<u8> {
    let limits = Limits { timeout: Duration::from_secs(600), ..Limits::default() };
    let header =
        serde_json::json!({ "name": name, "limits": limits, "passwords": rag::ingest::extract::Passwords::default() });
    serde_json::to_vec(&header).expect("it is JSON")
}

#[test]
fn a_worker_leaves_signals_to_its_parent() {
    use std::{io::Read, os::unix::process::ExitStatusExt};
    let header = request("a.md");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rag"))
        .arg("__extract")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program is built");
    let mut frame = Vec::new();
    frame.extend_from_slice(&(header.len() as u32).to_le_bytes());
    frame.extend_from_slice(&4u64.to_le_bytes());
    frame.extend_from_slice(&header);
    frame.extend_from_slice(b"text");
    let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    stdin.write_all(&frame).expect("it reads");
    // The first byte of an answer: it serves by now.
    stdout.read_exact(&mut [0]).expect("it answers");
    for signal in ["-HUP", "-INT", "-TERM"] {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().is_ok_and(|status| status.success()));
    }
    drop(stdin);
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), None, "{status}");
}

#[test]
fn a_worker_ends_with_its_parent() {
    // Also in the middle of a file: a frame that is never completed, and a file that takes long.
    let header = request("a.json");
    let long = "{\"a\": [1, 2, {\"b\": \"words\"}]}\n".repeat(1 << 20);
    for send in [0, 5, 12 + header.len() + 100, usize::MAX] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rag"))
            .arg("__extract")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program is built");
        let mut frame = Vec::new();
        frame.extend_from_slice(&(header.len() as u32).to_le_bytes());
        frame.extend_from_slice(&(long.len() as u64).to_le_bytes());
        frame.extend_from_slice(&header);
        frame.extend_from_slice(long.as_bytes());
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(&frame[..send.min(frame.len())]).expect("it reads");
        drop(stdin);
        // Its answer is never read: it must not wait for that either.
        child.wait().expect("it ends");
    }
}
