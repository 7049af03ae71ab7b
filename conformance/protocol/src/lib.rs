//! The subject protocol: JSON-RPC 2.0, one message per line, over an adapter's stdin and stdout.
//!
//! The page `conformance/guide/protocol.md` specifies it for every language; this crate tests its examples. It has
//! the message types ([`message`]), the framing ([`frame`]) and a small API for adapters ([`adapter`]). The harness
//! and the reference's adapter both use it.
//!
//! Invariants:
//! - A line is bounded ([`MAX_LINE`]); a longer one is an error and is not buffered.
//! - An unknown protocol version is refused; an unknown field is ignored.
//! - Sessions share only the process.

#[cfg(feature = "adapter")]
pub mod adapter;
#[cfg(feature = "adapter")]
mod context;
#[cfg(feature = "adapter")]
mod failure;
#[cfg(feature = "adapter")]
pub mod frame;
pub mod message;
#[cfg(feature = "adapter")]
mod outbox;
#[cfg(feature = "adapter")]
mod stdio;

#[cfg(feature = "adapter")]
pub use adapter::{Adapter, Context, Failure, Fakes};
#[cfg(feature = "adapter")]
pub use frame::{FrameError, LineReader};
pub use message::{
    Call, ClockScript, Close, Hello, HelloReply, Id, Incoming, MessageError, Open, Party,
    RandomTape, Reply, RpcError,
};

/// The protocol version of this crate. There is no negotiation: other versions are refused.
pub const PROTOCOL: u64 = 1;

/// The longest line, in bytes, that either side accepts, without its newline.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
