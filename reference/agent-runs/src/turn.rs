//! The task of one turn: it asks the provider and reports to the desk.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::Id;
use crate::provider::{Provider, ProviderFault, TurnAsk};
use crate::run::{Life, Run};
use crate::turns::Step;

/// How a turn ended.
enum End {
    /// The desk ended the turn itself.
    Known,
    Interrupted,
    /// The provider ended it.
    Failed(String),
    /// The provider broke the rules.
    Misbehaved(String),
    /// The engine closes, or cannot write any more. Reopening the folder reports it.
    Lost,
}

/// Carries a turn from its beginning to its end.
pub(crate) async fn drive(
    run: Arc<Run>,
    provider: Arc<dyn Provider>,
    ask: TurnAsk,
    number: u64,
    interrupt: Arc<Notify>,
    mut life: Life,
) {
    let node = ask.node_id;
    let begun = tokio::select! {
        biased;
        () = life.ends() => return,
        begun = provider.turn(ask) => begun,
    };
    let turn = match begun {
        Ok(id) => Turn { run, provider, id, node, number, interrupt, life },
        Err(ProviderFault(why)) => {
            // A run that cannot be written reports nothing more.
            let failed = run.act(move |desk| {
                desk.failed(node, number, &why);
                Ok(())
            });
            let _ = failed.await;
            return;
        }
    };
    let end = turn.go().await;
    if !matches!(end, End::Known | End::Failed(_)) {
        // If even `stop` fails, there is nothing to wait for.
        let _ = turn.provider.stop(&turn.id).await;
    }
    let _ = turn
        .run
        .act(move |desk| {
            match end {
                End::Known | End::Lost => {}
                End::Interrupted => desk.interrupted(node, number),
                End::Failed(why) | End::Misbehaved(why) => desk.failed(node, number, &why),
            }
            Ok(())
        })
        .await;
}

struct Turn {
    run: Arc<Run>,
    provider: Arc<dyn Provider>,
    id: String,
    node: Id,
    number: u64,
    interrupt: Arc<Notify>,
    life: Life,
}

impl Turn {
    async fn go(&self) -> End {
        let mut life = self.life.clone();
        tokio::select! {
            biased;
            () = life.ends() => End::Lost,
            () = self.interrupt.notified() => End::Interrupted,
            end = self.items() => end,
        }
    }

    async fn items(&self) -> End {
        let (node, number) = (self.node, self.number);
        loop {
            let item = match self.provider.next(&self.id).await {
                Ok(item) => item,
                Err(ProviderFault(why)) => return End::Failed(why),
            };
            let step = self.run.act(move |desk| Ok(desk.take_item(node, number, item))).await;
            let forward = match step {
                Ok(Step::Next) => None,
                Ok(Step::Forward(forward)) => Some(forward),
                Ok(Step::Wait(answered)) => match answered.await {
                    Ok(forward) => forward,
                    Err(_) => return End::Interrupted,
                },
                Ok(Step::Stop) => return End::Interrupted,
                Ok(Step::Over) => return End::Known,
                Ok(Step::Fail(why)) => return End::Misbehaved(why),
                Err(_) => return End::Lost,
            };
            if let Some(forward) = forward
                && let Err(ProviderFault(why)) = self.provider.resolve(&self.id, forward).await
            {
                return End::Failed(why);
            }
        }
    }
}
