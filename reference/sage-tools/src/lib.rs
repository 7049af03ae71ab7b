//! Tools: narrow, auditable actions on a workspace.

mod schema;

pub use schema::InputSchema;
