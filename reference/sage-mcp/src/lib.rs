//! A provider for `sage.llm`: servers on the near network that speak OpenAI's chat completions, such as LM Studio.
//!
//! It keeps no state between calls. It reads an answer on demand, in bounded pieces; dropping the answer closes the
//! connection. Timeouts are the caller's, except a short one for the body of a refusal, so it needs a tokio runtime
//! with a clock. Everything ends in events or in `EIO`, with the operation, the address and, in `cause`, the system's
//! code or the server's status and text.
//!
//! Left out: TLS (`https` is refused with a hint), redirects, proxies. `requestId` and `timeoutMs` are not sent. A
//! message of the contract has no member for its tool calls, so the server learns of them only from the results.

mod answer;
mod chunks;
mod faults;
mod request;
mod sse;
mod whole;

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect};
use sage_errors::{Detail, SageError};
use sage_llm::{ChatOptions, Error, Model, Provider, Reply};
use sage_utils::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

use crate::faults::{garbled, lost, refused};

#[doc(hidden)]
pub use crate::whole::events_of;

/// Limit of a refusal's body.
const MOST_OF_A_REFUSAL: usize = 4096;
/// Timeout of a refusal's body.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit of a list of models.
const MOST_OF_A_LIST: usize = 4 << 20;

/// A server that speaks OpenAI's chat completions over plain HTTP.
pub struct LMStudioProvider {
    client: Client,
    base: String,
    authorization: Option<HeaderValue>,
    patience: Duration,
}

impl LMStudioProvider {
    /// The server at `base`, such as `http://localhost:1234`.
    ///
    /// # Errors
    /// `EVALIDATION` when `base` is not the address of a server over plain HTTP.
    pub fn new(base: &str) -> Result<Self, SageError> {
        let url = Url::parse(base).map_err(|fault| wrong_base(base, &fault.to_string()))?;
        match url.scheme() {
            "http" => {}
            "https" => return Err(wrong_base(base, "is https, which is not built in; use http")),
            _ => return Err(wrong_base(base, "is not http")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Errors contain the address, so it must not contain a secret.
            return Err(wrong_base("…", "holds a user or a password; use an API key"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong_base(base, "has a query or a fragment; only a path may follow"));
        }
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            // Connections are not reused, so none can be stale.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|fault| wrong_base(base, &format!("no client can be made: {fault}")))?;
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, base, authorization: None, patience: PATIENCE })
    }

    /// The same server, asked with this key.
    ///
    /// # Errors
    /// `EVALIDATION` if the key has characters that no header can hold. The error does not repeat them.
    pub fn with_api_key(mut self, key: &str) -> Result<Self, SageError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
            let detail = Detail::new("apiKey", "has characters that no header can hold");
            SageError::validation(detail.expected("visible ASCII"))
        })?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// The same server, with this timeout for the body of a refusal. What came until then is reported.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The answer to `request`, if it is a success.
    async fn send(&self, url: &str, request: RequestBuilder) -> Result<Response, Error> {
        let request = match &self.authorization {
            Some(key) => request.header(AUTHORIZATION, key.clone()),
            None => request,
        };
        let response = request.send().await.map_err(|fault| lost(url, &fault))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = header(&response, RETRY_AFTER.as_str());
        // The status is what matters; a body that breaks off or never comes does not hide it.
        let mut body = Vec::new();
        let reading = read_beginning(response, MOST_OF_A_REFUSAL, &mut body);
        let _cut = timeout(self.patience, reading).await;
        Err(refused(url, status, retry_after, String::from_utf8_lossy(&body).into_owned()))
    }

    async fn ask(&self, options: ChatOptions) -> Result<Reply, Error> {
        let url = format!("{}/v1/chat/completions", self.base);
        let request = self
            .client
            .post(&url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(request::body(&options).to_string());
        let response = self.send(&url, request).await?;
        match header(&response, CONTENT_TYPE.as_str()) {
            Some(kind)
                if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") =>
            {
                Err(garbled(&url, format!("`{kind}` instead of `text/event-stream`")))
            }
            _ => Ok(Reply::Stream(answer::events(url, response))),
        }
    }

    async fn list(&self) -> Result<Vec<Model>, Error> {
        let url = format!("{}/v1/models", self.base);
        let response = self.send(&url, self.client.get(&url)).await?;
        let mut body = Vec::new();
        let read = read_beginning(response, MOST_OF_A_LIST + 1, &mut body).await;
        read.map_err(|fault| lost(&url, &fault))?;
        if body.len() > MOST_OF_A_LIST {
            return Err(garbled(&url, format!("a list of more than {MOST_OF_A_LIST} bytes")));
        }
        let list: Value = serde_json::from_slice(&body)
            .map_err(|fault| garbled(&url, format!("a list that is no JSON: {fault}")))?;
        let models = list.get("data").and_then(Value::as_array);
        let models = models.ok_or_else(|| garbled(&url, "a list without `data`"))?;
        models
            .iter()
            .map(|model| match model.get("id") {
                Some(Value::String(name)) => Ok(Model { name: name.clone() }),
                _ => Err(garbled(&url, "a model without an `id`")),
            })
            .collect()
    }
}

impl Provider for LMStudioProvider {
    fn name(&self) -> &str {
        "lmstudio"
    }

    fn chat(&self, options: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.ask(options))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>> {
        Box::pin(self.list())
    }
}

/// The key is left out.
impl fmt::Debug for LMStudioProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LMStudioProvider").field("base", &self.base).finish_non_exhaustive()
    }
}

fn wrong_base(base: &str, reason: &str) -> SageError {
    let detail = Detail::new("base", reason).received(base);
    SageError::validation(detail.expected("an address such as http://localhost:1234"))
}

fn header(response: &Response, name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(response.headers().get(name)?.as_bytes()).into_owned())
}

/// The first `most` bytes of a body. `read` has what came before an error.
async fn read_beginning(
    mut response: Response,
    most: usize,
    read: &mut Vec<u8>,
) -> Result<(), reqwest::Error> {
    while read.len() < most {
        match response.chunk().await? {
            Some(bytes) => read.extend_from_slice(&bytes[..bytes.len().min(most - read.len())]),
            None => break,
        }
    }
    Ok(())
}
