//! A provider that is never available.

use agent_runs::{Forward, Item, Provider, ProviderFault, TurnAsk};
use futures::FutureExt as _;
use futures::future::BoxFuture;

/// Every turn fails at once.
pub struct Nobody;

impl Provider for Nobody {
    fn turn(&self, _: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>> {
        never()
    }

    fn next<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>> {
        never()
    }

    fn resolve<'a>(&'a self, _: &'a str, _: Forward) -> BoxFuture<'a, Result<(), ProviderFault>> {
        never()
    }

    fn stop<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>> {
        never()
    }
}

fn never<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, ProviderFault>> {
    std::future::ready(Err(ProviderFault("nobody is there".to_owned()))).boxed()
}
