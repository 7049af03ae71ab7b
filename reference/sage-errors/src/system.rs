//! The names of the system's own error codes.

use std::io::{Error, ErrorKind};

/// The system's code for `error`, such as `ENOENT`; `None` when it has no such name.
pub(crate) fn code(error: &Error) -> Option<&'static str> {
    error.raw_os_error().and_then(by_number).or_else(|| by_kind(error.kind()))
}

/// These numbers are the same on every Unix (11 is not, so it goes by its kind).
#[cfg(unix)]
fn by_number(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        9 => "EBADF",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        17 => "EEXIST",
        18 => "EXDEV",
        19 => "ENODEV",
        20 => "ENOTDIR",
        21 => "EISDIR",
        22 => "EINVAL",
        23 => "ENFILE",
        24 => "EMFILE",
        26 => "ETXTBSY",
        27 => "EFBIG",
        28 => "ENOSPC",
        29 => "ESPIPE",
        30 => "EROFS",
        31 => "EMLINK",
        32 => "EPIPE",
        #[cfg(target_os = "linux")]
        40 => "ELOOP",
        #[cfg(target_vendor = "apple")]
        62 => "ELOOP",
        _ => return None,
    })
}

#[cfg(not(unix))]
fn by_number(_number: i32) -> Option<&'static str> {
    None
}

fn by_kind(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::ConnectionRefused => "ECONNREFUSED",
        ErrorKind::ConnectionReset => "ECONNRESET",
        ErrorKind::ConnectionAborted => "ECONNABORTED",
        ErrorKind::HostUnreachable => "EHOSTUNREACH",
        ErrorKind::NetworkUnreachable => "ENETUNREACH",
        ErrorKind::NetworkDown => "ENETDOWN",
        ErrorKind::NotConnected => "ENOTCONN",
        ErrorKind::AddrInUse => "EADDRINUSE",
        ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        ErrorKind::BrokenPipe => "EPIPE",
        ErrorKind::AlreadyExists => "EEXIST",
        ErrorKind::WouldBlock => "EAGAIN",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        ErrorKind::StaleNetworkFileHandle => "ESTALE",
        ErrorKind::TimedOut => "ETIMEDOUT",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::NotSeekable => "ESPIPE",
        ErrorKind::QuotaExceeded => "EDQUOT",
        ErrorKind::FileTooLarge => "EFBIG",
        ErrorKind::ResourceBusy => "EBUSY",
        ErrorKind::ExecutableFileBusy => "ETXTBSY",
        ErrorKind::Deadlock => "EDEADLK",
        ErrorKind::CrossesDevices => "EXDEV",
        ErrorKind::TooManyLinks => "EMLINK",
        ErrorKind::InvalidFilename => "ENAMETOOLONG",
        ErrorKind::ArgumentListTooLong => "E2BIG",
        ErrorKind::Interrupted => "EINTR",
        ErrorKind::OutOfMemory => "ENOMEM",
        _ => return None,
    })
}
