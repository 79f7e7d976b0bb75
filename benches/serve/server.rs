//! The program as a server of its own, ended by its own id.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::Result;

pub struct Server {
    child: Child,
    pub address: String,
    /// From the start of the process until it listens.
    pub started: Duration,
}

impl Server {
    /// `command` without where to listen.
    pub fn start(command: &mut Command) -> Result<Self> {
        let begun = Instant::now();
        let quiet = command.args(["--listen", "127.0.0.1:0", "--json", "--quiet"]).stdin(Stdio::null());
        let mut child = quiet.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take().ok_or("no pipe")?;
        let mut lines = BufReader::new(out).lines();
        let address = lines.by_ref().map_while(|line| line.ok()).find_map(|line| {
            let rest = &line[line.find("http://")? + 7..];
            Some(rest.split(['/', '"']).next()?.to_owned())
        });
        let Some(address) = address else {
            let status = child.wait()?;
            return Err(format!("{command:?} ended with {status}").into());
        };
        // What else it says is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address, started: begun.elapsed() })
    }

    /// Megabytes of a line of its `/proc/…/status`; `None` where there is none.
    pub fn megabytes(&self, line: &str) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let found = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'))?;
        Some(found.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }

    /// CPU seconds so far, of clocks of 10 ms.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
    }

    /// Asks it to end; says how long that took.
    pub fn stop(mut self) -> Result<Duration> {
        let begun = Instant::now();
        #[cfg(unix)]
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        #[cfg(not(unix))]
        self.child.kill()?;
        self.child.wait()?;
        Ok(begun.elapsed())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already, as a rule.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
