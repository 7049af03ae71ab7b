//! The answer of a server, read as somebody wants it.

use std::collections::VecDeque;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use sage_llm::{Error, StreamEvent};

use crate::chunks::Chunks;
use crate::faults::{garbled, lost, of_chunk};
use crate::sse::Sse;

/// The events of `response`. Dropping them closes the connection.
pub(crate) fn events(
    url: String,
    response: reqwest::Response,
) -> BoxStream<'static, Result<StreamEvent, Error>> {
    let answer = Streaming {
        url,
        body: Some(response),
        sse: Sse::default(),
        chunks: Chunks::default(),
        events: VecDeque::new(),
    };
    let events = stream::unfold(Box::new(answer), async |mut answer| {
        answer.next().await.map(|event| (event, answer))
    });
    events.boxed()
}

struct Streaming {
    url: String,
    /// `None` when nothing more is wanted of it.
    body: Option<reqwest::Response>,
    sse: Sse,
    chunks: Chunks,
    events: VecDeque<StreamEvent>,
}

impl Streaming {
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            let body = self.body.as_mut()?;
            let read = match self.sse.next_data() {
                Ok(Some(data)) => self.chunks.take(&data, &mut self.events),
                Err(fault) => return self.fail(garbled(&self.url, fault)),
                Ok(None) => match body.chunk().await {
                    Ok(Some(bytes)) => {
                        self.sse.push(&bytes);
                        continue;
                    }
                    Err(fault) => return self.fail(lost(&self.url, &fault)),
                    Ok(None) => match self.sse.finish() {
                        Ok(()) => self.chunks.closed(&mut self.events),
                        Err(fault) => return self.fail(garbled(&self.url, fault)),
                    },
                },
            };
            match read {
                Ok(()) if self.chunks.is_over() => self.body = None,
                Ok(()) => {}
                Err(fault) => return self.fail(of_chunk(&self.url, fault)),
            }
        }
    }

    fn fail(&mut self, error: Error) -> Option<Result<StreamEvent, Error>> {
        self.body = None;
        Some(Err(error))
    }
}
