//! Addresses and socket files.

use std::{
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    path::{Path, PathBuf},
};

use rag::{serve::server::Tls, types::Kind};

use super::Args;
use crate::cli::report::Failure;

const DEFAULT: &str = "127.0.0.1:7724";
const DEFAULT_PORT: u16 = 7724;

/// The addresses that flags ask for, looked up and not yet listened at; none: the socket file alone.
pub fn addresses(args: &Args) -> Result<Vec<SocketAddr>, Failure> {
    let text = match (&args.listen, &args.socket) {
        (Some(text), _) => text.as_str(),
        (None, Some(_)) => return Ok(Vec::new()),
        (None, None) => DEFAULT,
    };
    let found = match text.to_socket_addrs() {
        Ok(found) => Ok(found),
        // A host without a port.
        Err(_) => (text.trim_start_matches('[').trim_end_matches(']'), DEFAULT_PORT).to_socket_addrs(),
    };
    let addresses: Vec<SocketAddr> = found
        .map_err(|error| {
            Failure::usage(format!("`{text}` is no address to listen at: {error}")).hint("write HOST:PORT")
        })?
        .collect();
    match addresses.is_empty() {
        true => Err(Failure::usage(format!("`{text}` has no address"))),
        false => Ok(addresses),
    }
}

/// Listens at the first of the addresses that can be had.
pub fn tcp(addresses: &[SocketAddr]) -> Result<Option<TcpListener>, Failure> {
    let Some(first) = addresses.first() else { return Ok(None) };
    let failed = |error: io::Error| {
        let failure = Failure::new(Kind::Io, format!("cannot listen at {first}: {error}"));
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                failure.hint("another program listens there; `--listen 127.0.0.1:0` takes any free port")
            }
            _ => failure,
        }
    };
    let listener = TcpListener::bind(addresses).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(Some(listener))
}

/// The certificate and the key in two files, if they are named.
pub fn tls(certificate: Option<&Path>, key: Option<&Path>) -> Result<Option<Tls>, Failure> {
    let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", path.display())))
    };
    let (certificate, key) = (read(certificate)?, read(key)?);
    Tls::new(&certificate, &key).map(Some).map_err(Failure::usage)
}

/// A socket file that is taken away when the server ends.
#[cfg(unix)]
pub struct SocketFile {
    pub listener: std::os::unix::net::UnixListener,
    path: PathBuf,
}

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        // What somebody else put there meanwhile would go too; nobody else can write where it stands.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Listens at a socket file that nobody else can open, not even for a moment: it is made in a private folder and then
/// moved to its place. One that a dead server left is replaced.
#[cfg(unix)]
pub fn socket(path: &Path) -> Result<SocketFile, Failure> {
    use std::os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    };
    let failed = |error: io::Error| Failure::new(Kind::Io, format!("cannot listen at `{}`: {error}", path.display()));
    if let Ok(meta) = path.symlink_metadata() {
        if !meta.file_type().is_socket() {
            return Err(Failure::usage(format!("`{}` is there and no socket", path.display())));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(Failure::usage(format!("another server listens at `{}`", path.display())));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let private = tempfile::Builder::new().prefix(".rag-").rand_bytes(4).tempdir_in(folder).map_err(failed)?;
    let made = private.path().join("s");
    let listener = UnixListener::bind(&made).map_err(failed)?;
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    std::fs::rename(&made, path).map_err(failed)?;
    Ok(SocketFile { listener, path: path.to_path_buf() })
}

/// The address as a client writes it.
pub fn url(address: SocketAddr, tls: bool) -> String {
    format!("{}://{address}", if tls { "https" } else { "http" })
}
