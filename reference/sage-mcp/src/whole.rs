//! An answer that is there already, in pieces: the way of its bytes without a network.

use std::collections::VecDeque;

use sage_llm::{Error, StreamEvent};

use crate::chunks::Chunks;
use crate::faults::{garbled, of_chunk};
use crate::sse::Sse;

/// The events of an answer that came in these pieces, and what is wrong with it.
///
/// Hidden: nobody but our own fuzz targets has an answer without a server.
#[doc(hidden)]
pub fn events_of<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, Option<Error>) {
    const URL: &str = "http://localhost";
    let (mut sse, mut chunks) = (Sse::default(), Chunks::default());
    let mut events = VecDeque::new();
    let read = || -> Result<(), Error> {
        for piece in pieces {
            sse.push(piece);
            while let Some(data) = sse.next_data().map_err(|fault| garbled(URL, fault))? {
                chunks.take(&data, &mut events).map_err(|fault| of_chunk(URL, fault))?;
                if chunks.is_over() {
                    return Ok(());
                }
            }
        }
        sse.finish().map_err(|fault| garbled(URL, fault))?;
        chunks.closed(&mut events).map_err(|fault| of_chunk(URL, fault))
    };
    let fault = read().err();
    (events.into(), fault)
}
