//! Stdin and stdout without a helper thread, if they are pipes.

use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Polls pipes directly: tokio's own stdin hands each read to another thread, which costs more than the rest of a
/// call. Terminals and files still use tokio's.
#[cfg(unix)]
pub(crate) fn open() -> io::Result<(Input, Output)> {
    use std::os::fd::AsFd;
    use tokio::net::unix::pipe;

    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((
        match pipe::Receiver::from_owned_fd(input) {
            Ok(pipe) => Box::new(pipe) as Input,
            Err(_) => Box::new(tokio::io::stdin()),
        },
        match pipe::Sender::from_owned_fd(output) {
            Ok(pipe) => Box::new(pipe) as Output,
            Err(_) => Box::new(tokio::io::stdout()),
        },
    ))
}

#[cfg(not(unix))]
pub(crate) fn open() -> io::Result<(Input, Output)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}
