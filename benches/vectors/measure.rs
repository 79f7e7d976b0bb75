//! Clocks, memory, and what is told of many times.

use std::{fs, time::Instant};

/// Wall clock and CPU time from one moment on.
pub struct Watch {
    wall: Instant,
    clock: Clock,
    cpu: f64,
}

/// Whose CPU time.
#[derive(Clone, Copy)]
pub enum Clock {
    Process,
    Thread,
}

impl Watch {
    pub fn start(clock: Clock) -> Self {
        Self { wall: Instant::now(), clock, cpu: cpu_seconds(clock) }
    }

    pub fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    pub fn cpu(&self) -> f64 {
        cpu_seconds(self.clock) - self.cpu
    }
}

/// CPU time that was used so far.
#[cfg(unix)]
fn cpu_seconds(clock: Clock) -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(match clock {
        Clock::Process => ClockId::ProcessCPUTime,
        Clock::Thread => ClockId::ThreadCPUTime,
    });
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Not a number, which is `null` in JSON.
#[cfg(not(unix))]
fn cpu_seconds(_: Clock) -> f64 {
    f64::NAN
}

/// Megabytes of a line of `/proc/self/status`; 0 where there is none.
pub fn memory_mb(key: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 20) as f64
}

/// Seconds that many searches took, one by one.
#[derive(Default)]
pub struct Times(Vec<f64>);

impl Times {
    pub fn push(&mut self, seconds: f64) {
        self.0.push(seconds);
    }

    /// Measures one call.
    pub fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        self.push(start.elapsed().as_secs_f64());
        result
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The quantile `share`, between its neighbours by their distance. 0 if there are no times.
    pub fn quantile(&mut self, share: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        self.0.sort_unstable_by(f64::total_cmp);
        let place = share * last as f64;
        let (below, part) = (place.floor(), place.fract());
        let at = |place: f64| self.0[(place as usize).min(last)];
        at(below) * (1.0 - part) + at(below + 1.0) * part
    }

    pub fn median(&mut self) -> f64 {
        self.quantile(0.5)
    }
}

pub fn round(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
