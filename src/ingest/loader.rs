//! Programs of the user that read formats we do not: the file on standard input, its text on standard output.
//!
//! They are named in the user's own settings only, start without a shell, and are ended with all they started when their
//! time is over. What they print is read as any other file is: plain text, or a page if it looks like one.
//!
//! Not for: what the program does with the bytes, which is the user's trust.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::mpsc,
    thread,
    time::Duration,
};

use super::{extract::reason, file};
use crate::index::Problem;

/// Of what a failing program says, so much is shown.
const MAX_WORDS: usize = 300;

/// Programs by file extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaders(BTreeMap<String, Vec<String>>);

/// A text is no loader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no program for a file extension; write `djvu=djvutxt /dev/stdin`")]
pub struct NoLoader(String);

impl Loaders {
    /// Reads `extension=program argument argument…`, each.
    pub fn of(texts: &[String]) -> Result<Self, NoLoader> {
        texts
            .iter()
            .map(|text| text.parse::<Loader>().map(|loader| (loader.extension, loader.command)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Extension and command of each, by extension.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(extension, command)| (extension.as_str(), command.as_slice()))
    }

    pub fn for_extension(&self, extension: &str) -> Option<&[String]> {
        self.0.get(extension).map(Vec::as_slice)
    }
}

struct Loader {
    extension: String,
    command: Vec<String>,
}

impl FromStr for Loader {
    type Err = NoLoader;

    fn from_str(text: &str) -> Result<Self, NoLoader> {
        let no = || NoLoader(text.to_owned());
        let (extension, command) = text.split_once('=').ok_or_else(no)?;
        let extension = extension.trim().trim_start_matches('.').to_lowercase();
        let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if extension.is_empty() || command.is_empty() { Err(no()) } else { Ok(Self { extension, command }) }
    }
}

/// What the program prints of a file, at most `max_bytes`. Problems: `worker` (it cannot be started), `timeout`,
/// `too_large`, `damaged` (it says that it failed).
pub fn load(command: &[String], bytes: &[u8], timeout: Duration, max_bytes: u64) -> Result<Vec<u8>, Problem> {
    let [program, arguments @ ..] = command else { return Err(file::transient(reason::WORKER, "no program")) };
    let mut command = Command::new(program);
    command.args(arguments);
    Program { name: program.clone(), command, memory_bytes: None }.run(bytes, timeout, max_bytes)
}

/// A program that gets bytes and prints others.
pub(super) struct Program {
    /// How messages call it.
    pub name: String,
    pub command: Command,
    /// Address space it may use, where the system can bound it.
    pub memory_bytes: Option<u64>,
}

impl Program {
    /// Runs it to its end. Problems: as [`load`]'s.
    pub fn run(self, bytes: &[u8], timeout: Duration, max_bytes: u64) -> Result<Vec<u8>, Problem> {
        let Self { name: program, mut command, memory_bytes } = self;
        let cannot = |error: io::Error| file::transient(reason::WORKER, &format!("`{program}` cannot be run: {error}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = Ended(command.spawn().map_err(cannot)?);
        if let Some(bytes) = memory_bytes {
            child.bound(bytes);
        }
        let (Some(mut input), Some(output), Some(words)) =
            (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take())
        else {
            return Err(cannot(io::ErrorKind::BrokenPipe.into()));
        };
        thread::scope(|scope| {
            // A program that does not want all of its input is no failure.
            scope.spawn(move || drop(input.write_all(bytes)));
            let words = scope.spawn(move || take(words, 64 << 10));
            let (done, over) = mpsc::channel();
            scope.spawn(move || drop(done.send(take(output, max_bytes.saturating_add(1)))));
            let printed = over.recv_timeout(timeout);
            let is_late = printed.is_err();
            let is_long = printed.as_ref().is_ok_and(|printed| printed.len() as u64 > max_bytes);
            let status = if is_late || is_long { None } else { child.wait(timeout) };
            // Ends it where it still runs, and with it the threads that read.
            child.end();
            let said = words.join().unwrap_or_default();
            match (printed, status) {
                (Ok(_), _) if is_long => Err(file::lasting(
                    reason::TOO_LARGE,
                    &format!("`{program}` prints more than {} MiB", max_bytes >> 20),
                )),
                (Ok(printed), Some(true)) => Ok(printed),
                (Ok(_), Some(false)) => {
                    let said: String = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
                    let said: String = said.chars().take(MAX_WORDS).collect();
                    Err(file::lasting(reason::DAMAGED, &format!("`{program}` could not read it: {said}")))
                }
                (Ok(_) | Err(_), _) => Err(file::transient(
                    reason::TIMEOUT,
                    &format!("`{program}` took longer than {} s", timeout.as_secs_f64()),
                )),
            }
        })
    }
}

fn take(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before an error counts.
    let _ = from.take(most).read_to_end(&mut bytes);
    bytes
}

/// A child that does not outlive this value, nor do those it started.
struct Ended(Child);

impl Ended {
    /// Whether it ended well; `None` if it does not end.
    fn wait(&mut self, timeout: Duration) -> Option<bool> {
        const STEP: Duration = Duration::from_millis(5);
        let steps = (timeout.as_millis() / STEP.as_millis()).max(1);
        for _ in 0..steps {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status.success()),
                Ok(None) => thread::sleep(STEP),
                Err(_) => return None,
            }
        }
        None
    }

    /// Bounds its address space. It may have begun: what it has by then counts too.
    fn bound(&self, bytes: u64) {
        #[cfg(target_os = "linux")]
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            use rustix::process::{Resource, Rlimit, prlimit};
            // A limit that cannot be set is not worth a page: the clock still holds.
            let _ = prlimit(Some(pid), Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
        }
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
    }

    fn end(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_are_read() {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let loaders = Loaders::of(&texts(&["DJVU=djvutxt /dev/stdin", ".doc = antiword -"])).unwrap();
        assert_eq!(loaders.for_extension("djvu").unwrap(), ["djvutxt", "/dev/stdin"]);
        assert_eq!(loaders.for_extension("doc").unwrap(), ["antiword", "-"]);
        for wrong in ["djvu", "=cat", "djvu=", " = "] {
            assert!(Loaders::of(&texts(&[wrong])).is_err(), "{wrong}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn what_a_program_does() {
        let run = |script: &str, max: u64| {
            let command = ["sh", "-c", script].map(str::to_owned);
            load(&command, &[b'x'; 200_000], Duration::from_millis(700), max)
                .map(|bytes| bytes.len())
                .map_err(|problem| problem.reason)
        };
        assert_eq!(run("cat", 1 << 20), Ok(200_000));
        assert_eq!(run("echo hello", 1 << 20), Ok(6), "it need not read its input");
        assert_eq!(run("cat", 1000), Err("too_large".into()));
        assert_eq!(run("yes", 1000), Err("too_large".into()));
        assert_eq!(run("echo half; echo broken >&2; exit 3", 1000), Err("damaged".into()));
        assert_eq!(run("sleep 60", 1000), Err("timeout".into()));
        assert_eq!(run("exec >&-; sleep 60", 1000), Err("timeout".into()));
        let absent = ["no-such-program-anywhere".to_owned()];
        assert_eq!(load(&absent, b"", Duration::from_secs(1), 10).unwrap_err().reason, "worker");
    }
}
