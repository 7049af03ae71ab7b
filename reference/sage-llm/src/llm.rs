//! The wrapper around providers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sage_errors::{Detail, SageError};

use crate::cache::{Cache, Key, Recorder};
use crate::conversation::Conversation;
use crate::deadline::Deadline;
use crate::toolbox::Toolbox;
use crate::{ChatOptions, ChatStream, Error, Model, Provider, ToolRunner};

/// Options of one stream, besides the request.
#[derive(Clone)]
pub struct Settings {
    /// Runs the tools that the model calls. Without one, no tool runs, and there is one round.
    pub runner: Option<Arc<dyn ToolRunner>>,
    /// Limit of requests to the provider.
    pub max_rounds: u32,
    /// Whether the prompt cache is used.
    pub cache: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { runner: None, max_rounds: 8, cache: false }
    }
}

/// The configured providers and the prompt cache.
#[derive(Default)]
pub struct Llm {
    providers: Mutex<Providers>,
    cache: Cache,
}

#[derive(Default)]
struct Providers {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
    current: Option<Arc<dyn Provider>>,
}

impl Llm {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes `provider` the current one. It replaces an earlier provider of the same name; the others can still list
    /// their models.
    pub fn set_provider(&self, provider: Arc<dyn Provider>) {
        let mut providers = self.providers();
        providers.by_name.insert(provider.name().to_owned(), Arc::clone(&provider));
        providers.current = Some(provider);
    }

    /// The models of the named provider, or of the current one.
    ///
    /// # Errors
    /// `EVALIDATION` when no provider is set (`provider`), or none of that name (`providerName`); else what the
    /// provider says.
    pub async fn list_models(&self, provider_name: Option<&str>) -> Result<Vec<Model>, Error> {
        let current = self.current()?;
        let provider = match provider_name {
            None => current,
            Some(name) => self.named(name)?,
        };
        provider.models().await
    }

    /// An answer to `options`. The provider is asked when the stream is first read; `timeout_ms` counts from here.
    ///
    /// # Errors
    /// `EVALIDATION` when no provider is set, or with every fault of what was given. Then no provider is asked.
    pub fn create_chat_stream(
        &self,
        options: ChatOptions,
        settings: Settings,
    ) -> Result<ChatStream, Error> {
        let provider = self.current()?;
        options.check()?;
        let Settings { runner, max_rounds, cache } = settings;
        if max_rounds == 0 {
            let detail =
                Detail::new("maxRounds", "is 0").received(0).expected("a positive integer");
            return Err(SageError::validation(detail).into());
        }
        let toolbox = Toolbox::new(options.tools.as_deref().unwrap_or_default())?;
        let mut recorder = None;
        if cache {
            let key = Key::new(provider.name(), runner.is_some(), &options);
            if let Some(events) = self.cache.get(&key) {
                return Ok(ChatStream::replay(events));
            }
            recorder = Some(Recorder::new(self.cache.clone(), key));
        }
        let deadline = options.timeout_ms.and_then(Deadline::starting_now);
        let conversation = Conversation::new(provider, runner, toolbox, options, max_rounds);
        Ok(ChatStream::new(conversation, deadline, recorder))
    }

    fn current(&self) -> Result<Arc<dyn Provider>, SageError> {
        self.providers().current.clone().ok_or_else(|| {
            let detail = Detail::new("provider", "no provider is set");
            SageError::validation(detail.expected("a call of `setProvider` first"))
        })
    }

    fn named(&self, name: &str) -> Result<Arc<dyn Provider>, SageError> {
        let providers = self.providers();
        providers.by_name.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = providers.by_name.keys().map(String::as_str).collect();
            let detail = Detail::new("providerName", "is no provider that was set");
            SageError::validation(detail.received(name).expected(known))
        })
    }

    fn providers(&self) -> MutexGuard<'_, Providers> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
