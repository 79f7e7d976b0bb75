//! As many open files as the connections of a server need: most systems begin with 1,024.

/// Open files besides connections: the index and its commits, models, readers of documents.
const OTHERS: u64 = 1024;

/// Has the system give what it may for so many connections. Gives how many there is room for.
#[cfg(unix)]
pub fn with_room_for(connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let wanted = connections as u64 + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < wanted) else { return connections };
    let most = maximum.map_or(wanted, |hard| hard.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    room(if raised.is_ok() { most } else { current }, connections)
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub fn with_room_for(connections: usize) -> usize {
    connections
}

/// How many connections fit: half of the files where there are few.
#[cfg(unix)]
fn room(files: u64, connections: usize) -> usize {
    let left = files.saturating_sub(OTHERS).max(files / 2);
    usize::try_from(left).unwrap_or(connections).clamp(1, connections)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn few_files_are_shared() {
        for (files, connections, want) in
            [(2048, 1024, 1024), (4096, 1024, 1024), (1500, 1024, 750), (1024, 1024, 512), (256, 1024, 128), (0, 9, 1)]
        {
            assert_eq!(room(files, connections), want, "{files}");
        }
    }
}
