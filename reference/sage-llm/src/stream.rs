//! The stream that a reader holds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{self, BoxStream, FusedStream, Stream, StreamExt as _};

use crate::cache::Recorder;
use crate::conversation::{Conversation, Item};
use crate::deadline::Deadline;
use crate::{Error, StreamEvent};

/// The items of an answer, as they come. It ends with `end` or with one error.
///
/// It is pull-based: nothing happens unless somebody reads. Dropping it stops the provider and any tool. A timeout
/// needs tokio's clock, so a stream with one must be read inside a tokio runtime.
pub struct ChatStream {
    items: stream::Fuse<BoxStream<'static, Item>>,
}

impl ChatStream {
    pub(crate) fn new(
        conversation: Conversation,
        deadline: Option<Deadline>,
        recorder: Option<Recorder>,
    ) -> Self {
        // Boxed, because it is moved with every item.
        let reading = Box::new(Reading { conversation, deadline, recorder });
        let items = stream::unfold(reading, async |mut reading| {
            reading.next().await.map(|item| (item, reading))
        });
        Self { items: items.boxed().fuse() }
    }

    /// The same items once more.
    pub(crate) fn replay(events: Arc<[StreamEvent]>) -> Self {
        let items = (0..events.len()).map(move |index| Ok(events[index].clone()));
        Self { items: stream::iter(items).boxed().fuse() }
    }
}

impl Stream for ChatStream {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        self.items.poll_next_unpin(context)
    }
}

impl FusedStream for ChatStream {
    fn is_terminated(&self) -> bool {
        self.items.is_terminated()
    }
}

impl std::fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatStream").finish_non_exhaustive()
    }
}

struct Reading {
    conversation: Conversation,
    deadline: Option<Deadline>,
    recorder: Option<Recorder>,
}

impl Reading {
    async fn next(&mut self) -> Option<Item> {
        let next = self.conversation.next();
        let item = match &mut self.deadline {
            None => next.await,
            Some(deadline) => match deadline.limit(next).await {
                Ok(item) => item,
                Err(late) => {
                    self.conversation.stop();
                    Some(Err(late))
                }
            },
        };
        if self.conversation.is_over() {
            // Everything was sent in time, however late the reader comes back.
            self.deadline = None;
        }
        if let Some(Ok(event)) = &item
            && let Some(recorder) = self.recorder.take()
        {
            self.recorder = recorder.note(event);
        }
        item
    }
}
