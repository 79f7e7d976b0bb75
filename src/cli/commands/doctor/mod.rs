//! `rag doctor`: checks of the setup, each failed one with the command that mends it.

mod index;
mod machine;
mod models;

use rag::serve::wire::{DoctorCheck, DoctorResult, DoctorState};

use crate::cli::{
    args::Global,
    backend::Place,
    config::Config,
    exit,
    output::{Screen, Style, count, sanitize},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Mend what can be mended without loss: permissions, left-over files
    #[arg(long)]
    fix: bool,
}

/// What the checks are made of, and what they found so far.
struct Doctor<'a> {
    place: &'a Place,
    config: &'a Config,
    fix: bool,
    checks: Vec<DoctorCheck>,
}

impl Doctor<'_> {
    fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, DoctorState::Ok, message, None);
    }

    /// Works, but not as it should.
    fn warn(&mut self, name: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(name, DoctorState::Warning, message, Some(fix.into()));
    }

    fn failed(&mut self, name: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(name, DoctorState::Failed, message, Some(fix.into()));
    }

    fn fixed(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, DoctorState::Fixed, message, None);
    }

    fn add(&mut self, name: &'static str, state: DoctorState, message: impl Into<String>, fix: Option<String>) {
        self.checks.push(DoctorCheck { name: name.into(), state, message: message.into(), fix });
    }

    /// A command for this index, as it is to be typed.
    fn rag(&self, verb: &str) -> String {
        self.place.command(verb)
    }
}

/// Runs without the settings that other commands need first: they may be what is wrong.
pub fn run(global: &Global, args: &Args) -> Result<u8, Failure> {
    let place = Place::find(global)?;
    let (config, wrong) = match Config::load(place.exists().then_some(place.dir.as_path())) {
        Ok(config) => (config, None),
        Err(failure) => (Config::defaults(), Some(failure)),
    };
    let screen = Screen::new(global, &config);
    let mut doctor = Doctor { place: &place, config: &config, fix: args.fix, checks: Vec::new() };
    doctor.program();
    doctor.settings(wrong);
    let snapshot = doctor.index();
    doctor.models(snapshot.as_ref());
    doctor.tools();
    doctor.limits(snapshot.as_ref());
    let checks = doctor.checks;
    let failed = checks.iter().filter(|check| check.state == DoctorState::Failed).count();
    let index = place.dir.display().to_string();
    let result = DoctorResult { schema: "rag.doctor/1".into(), index, healthy: failed == 0, checks };
    if screen.json {
        screen.print_json(&result)?;
    } else {
        screen.print(&text(&screen, &result, failed))?;
    }
    Ok(if result.healthy { exit::OK } else { exit::NO })
}

fn text(screen: &Screen, result: &DoctorResult, failed: usize) -> String {
    let mut out = String::new();
    for DoctorCheck { name, state, message, fix } in &result.checks {
        let (word, style) = match state {
            DoctorState::Ok => ("ok     ", Style::Good),
            DoctorState::Warning => ("warning", Style::Warn),
            DoctorState::Failed => ("failed ", Style::Bad),
            DoctorState::Fixed => ("fixed  ", Style::Good),
        };
        // Of a healthy setup the words of what is wrong are all that counts.
        if screen.quiet && *state == DoctorState::Ok {
            continue;
        }
        out.push_str(&format!("{}  {name}: {}\n", screen.paint(style, word), sanitize::line(message)));
        if let Some(fix) = fix {
            out.push_str(&format!("         {}\n", screen.paint(Style::Bold, &sanitize::line(fix))));
        }
    }
    let warnings = result.checks.iter().filter(|check| check.state == DoctorState::Warning).count();
    out.push_str(&match (failed, warnings) {
        (0, 0) => "everything is well\n".to_owned(),
        (0, warnings) => format!("well, with {}\n", count(warnings as u64, "warning")),
        (failed, _) => format!("{} failed\n", count(failed as u64, "check")),
    });
    out
}
