fn main() -> std::process::ExitCode {
    if std::env::args_os().skip(1).eq(["__extract"]) {
        return match rag::ingest::extract::worker::serve(std::io::stdin().lock(), std::io::stdout()) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(_) => std::process::ExitCode::FAILURE,
        };
    }
    std::process::ExitCode::FAILURE
}
