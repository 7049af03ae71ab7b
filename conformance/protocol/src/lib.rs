//! The subject protocol: JSON-RPC 2.0, one message a line, over an adapter's stdin and stdout.
//!
//! The page `conformance/guide/protocol.md` specifies it for every language; its examples are this
//! crate's tests. Here are the message types ([`message`]), the framing ([`frame`]) and a small API
//! to write an adapter in ([`adapter`]). The harness and the reference's adapter both stand on it.
//!
//! Invariants:
//! - A line is bounded ([`MAX_LINE`]); what is longer is an error, never memory.
//! - An unknown protocol version is refused; an unknown field is ignored.
//! - Sessions share nothing but the process.

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

/// The version of the protocol that this crate speaks. There is no negotiation: another is refused.
pub const PROTOCOL: u64 = 1;

/// The longest line, in bytes, that either side accepts, without its line end.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
