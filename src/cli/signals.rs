//! Ctrl-C and SIGTERM: the first asks a writing command to finish what is whole, the second to drop it.

use rag::types::Cancel;

/// Lets signals ask `cancel` from now on, instead of ending the process.
#[cfg(unix)]
pub fn watch(cancel: &Cancel) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let cancel = cancel.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            cancel.ask();
        }
    })?;
    Ok(())
}

/// Lets Ctrl-C ask `cancel` from now on; where nobody listens to that, the next one ends the process as it does else.
#[cfg(unix)]
pub fn watch_interrupts(cancel: &Cancel) -> std::io::Result<()> {
    use signal_hook::consts::SIGINT;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT])?;
    let cancel = cancel.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            cancel.ask();
            if cancel.is_urgent() {
                // It ends the process; where it cannot, the signal is only late.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub fn watch_interrupts(_cancel: &Cancel) -> std::io::Result<()> {
    Ok(())
}

/// Elsewhere Ctrl-C ends the process at once; the index stays at its last generation.
#[cfg(not(unix))]
pub fn watch(_cancel: &Cancel) -> std::io::Result<()> {
    Ok(())
}
