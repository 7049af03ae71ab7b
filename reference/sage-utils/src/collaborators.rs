use std::pin::Pin;

use crate::TypedError;

/// An ISO 8601 time in UTC with milliseconds, such as `2024-01-01T12:00:00.000Z`.
pub type Iso8601 = String;

/// A future that can be kept behind `dyn`, for collaborators that wait for something.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The source of time. No other one is used.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Iso8601;
}

/// The source of random numbers.
///
/// Both methods can fail, since a tape of numbers can run out; a generator never does.
pub trait Random: Send + Sync {
    /// A random integer.
    fn int(&self) -> Result<i64, TypedError>;

    /// A random number between 0 and 1.
    fn float(&self) -> Result<f64, TypedError>;
}

/// The source of secrets.
pub trait SecretProvider: Send + Sync {
    /// The secret named `key`, or `None` if there is no such secret. An error means that the provider failed.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>>;
}
