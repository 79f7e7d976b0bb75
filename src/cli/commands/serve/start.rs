//! From flags to a server that runs, and its end.

use std::io::Write as _;

use rag::{
    index,
    serve::server::{self, Listener, State, Stop},
    types::{Cancel, Kind},
};

use super::{Args, access, files, listen, options};
use crate::cli::{commands::Context, env, exit, report::Failure, warm};

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(name) = &args.new_key {
        return access::new_key(context, name);
    }
    // Its clients show this key: no endpoint must get it.
    env::keep_key();
    let access = access::access(context, &args)?;
    let addresses = listen::addresses(&args)?;
    access::check_open(context, &addresses, &access, &args)?;
    let tls = listen::tls(args.tls_cert.as_deref(), args.tls_key.as_deref())?;
    if context.place.exists() {
        // Whether it may be opened at all, and by whom it was made, is said before anybody is served.
        context.place.open()?.snapshot()?;
    } else if !args.allow_write && args.tenants.is_none() {
        return Err(index::Error::NotFound { path: context.place.dir.clone() }.into());
    }
    let cancel = Cancel::default();
    let mut options = options::options(context, &args, access, &cancel)?;
    let connections = files::with_room_for(options.limits.connections);
    if connections < options.limits.connections {
        let words = format!("the system's limit of open files (`ulimit -n`) leaves room for {connections} connections");
        context.screen.note(&words);
        options.limits.connections = connections;
    }
    let in_flight = options.limits.in_flight;
    not_dumpable();
    let tcp = listen::tcp(&addresses)?;
    #[cfg(unix)]
    let socket = socket_path(context, &args).as_deref().map(listen::socket).transpose()?;
    #[cfg(not(unix))]
    if args.socket.is_some() {
        return Err(Failure::usage("this system has no socket files"));
    }
    let failed = |error: std::io::Error| Failure::new(Kind::Io, format!("cannot serve: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Searches and answers have a thread each while they are at work, and so have changes.
        .max_blocking_threads(3 * in_flight + 64)
        .thread_name("serve")
        .build()
        .map_err(failed)?;
    let is_tls = tls.is_some();
    let result = runtime.block_on(async {
        let mut listeners = Vec::new();
        let mut places = Vec::new();
        if let Some(listener) = tcp {
            let address = listener.local_addr().map_err(failed)?;
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
            listeners.push(Listener::Tcp { listener, tls });
            places.push(listen::url(address, is_tls));
        }
        #[cfg(unix)]
        if let Some(socket) = &socket {
            let listener = socket.listener.try_clone().and_then(tokio::net::UnixListener::from_std).map_err(failed)?;
            listeners.push(Listener::Unix(listener));
        }
        let stop = Stop::default();
        heed_signals(&stop).map_err(failed)?;
        tell(context, &args, &places)?;
        Ok::<bool, Failure>(server::run(State::new(options), listeners, stop).await)
    });
    // What still runs is work that nobody waits for any more; the index stays at its last generation.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    result.map(|_| exit::OK)
}

/// The socket file that is asked for, where commands look for it unless another place is named.
fn socket_path(context: &Context, args: &Args) -> Option<std::path::PathBuf> {
    let path = args.socket.as_ref()?;
    Some(path.clone().unwrap_or_else(|| context.place.dir.join(warm::SOCKET)))
}

/// Says where the server is to be found, once it is.
fn tell(context: &Context, args: &Args, places: &[String]) -> Result<(), Failure> {
    if context.screen.json {
        let object = serde_json::json!({
            "schema": "rag.serve/1",
            "url": places.first(),
            "socket": socket_path(context, args).map(|path| path.display().to_string()),
            "pid": std::process::id(),
        });
        context.screen.print_json(&object)?;
    }
    let socket = socket_path(context, args).map(|path| format!("unix:{}", path.display()));
    let mut err = std::io::stderr().lock();
    for place in places.iter().cloned().chain(socket) {
        // Nobody is left to hear that stderr is closed.
        let _ = writeln!(err, "listening on {place}");
    }
    Ok(())
}

/// Ctrl-C and SIGTERM stop the server in good order; the second one ends it at once.
#[cfg(unix)]
fn heed_signals(stop: &Stop) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stop.stop();
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn heed_signals(stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            stop.stop();
        }
    });
    Ok(())
}

/// No core dump holds keys or other people's texts.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn not_dumpable() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A system that does not know it has nothing to protect either.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn not_dumpable() {}
