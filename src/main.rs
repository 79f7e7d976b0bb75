//! The program: everything it does is in `cli`, which the library cannot name.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os().collect())
}
