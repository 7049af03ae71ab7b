//! Shared by the tools: how a call names things, and how it is refused.

use serde_json::{Map, Value, json};

use crate::args::{Args, Limit, quoted};
use crate::budget::{DEFAULT_LIMIT, Page, SMALLEST_LIST};
use crate::names::WorkspaceId;
use crate::records::Workspace;
use crate::refusal::{Code, Priority, Proposal, Refusal};
use crate::tables::Draft;

/// A tool's result, or its refusal.
pub(crate) type Outcome = Result<Map<String, Value>, Refusal>;

/// A call of a tool with checked arguments.
pub(super) struct Call<'a> {
    pub(super) tool: &'static str,
    pub(super) args: Args<'a>,
}

/// A result with one member.
pub(super) fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// A refusal for an unknown `id`, with a call that lists the known ones.
pub(super) fn unknown(what: &str, id: &str, list: &'static str, params: Value) -> Refusal {
    let message = format!("there is no {what} `{}`", quoted(id));
    Refusal::new(Code::UnknownId, message, "use an id that the list shows").with(Proposal::new(
        Priority::Medium,
        list,
        params,
        "See what there is",
    ))
}

impl Call<'_> {
    /// The workspace that the call names, if it exists.
    pub(super) fn workspace(&self, draft: &Draft) -> Result<WorkspaceId, Refusal> {
        let id: WorkspaceId = self.args.required("workspace")?;
        if draft.get::<Workspace>(&(), &id).is_some() {
            return Ok(id);
        }
        let message = format!("there is no workspace `{id}`");
        Err(Refusal::new(Code::UnknownWorkspace, message, "create the workspace first").with(
            Proposal::new(
                Priority::High,
                "workspaces_create",
                json!({ "workspace": id }),
                "Make the workspace",
            ),
        ))
    }

    /// The part of `rows` that the call asks for.
    pub(super) fn list<T>(
        &self,
        rows: impl Iterator<Item = T>,
        view: impl Fn(T) -> Value,
    ) -> Outcome {
        let limit = self.args.optional::<Limit>("limit")?.map_or(DEFAULT_LIMIT, |limit| limit.0);
        let offset = self.args.optional("offset")?.unwrap_or(0);
        let max_chars: Option<u64> = self.args.optional("max_chars")?;
        if max_chars.is_some_and(|most| most < SMALLEST_LIST) {
            let message = format!("`max_chars`: the smallest list has {SMALLEST_LIST} bytes");
            let mut params = self.args.as_given().clone();
            params.remove("max_chars");
            return Err(Refusal::new(Code::BudgetExceeded, message, "allow more").with(
                Proposal::new(
                    Priority::Low,
                    self.tool,
                    Value::Object(params),
                    "The same list, held by `limit` alone",
                ),
            ));
        }
        Ok(Page { limit, offset, max_chars }.of(rows, view))
    }

    /// The revision that the caller expects, by either name.
    pub(super) fn expected(&self) -> Result<Option<u64>, Refusal> {
        let revision = self.args.optional::<u64>("expected_revision")?;
        let version = self.args.optional::<u64>("expected_version")?;
        match (revision, version) {
            (Some(revision), Some(version)) if revision != version => {
                Err(Refusal::invalid_input(format!(
                    "`expected_revision` is {revision} and `expected_version`, its alias, is {version}"
                )))
            }
            _ => Ok(revision.or(version)),
        }
    }

    /// Refuses a write if the expected revision differs from `current`.
    pub(super) fn check_revision(
        &self,
        expected: Option<u64>,
        current: u64,
        get: Proposal,
    ) -> Result<(), Refusal> {
        match expected {
            Some(expected) if expected != current => {
                let mut params = self.args.as_given().clone();
                params.remove("expected_version");
                params.insert("expected_revision".to_owned(), current.into());
                Err(Refusal::new(
                    Code::RevisionMismatch,
                    format!("revision {expected} is expected, and {current} is there"),
                    "fetch the current state, then write again with its revision",
                )
                .with(Proposal::new(
                    Priority::High,
                    self.tool,
                    Value::Object(params),
                    "The same write, with the current revision",
                ))
                .with(get))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a patch that names none of `members`.
    pub(super) fn changes_one_of(&self, members: &[&str]) -> Result<(), Refusal> {
        if members.iter().any(|name| self.args.has(name)) {
            return Ok(());
        }
        let members = members.join("`, `");
        Err(Refusal::invalid_input(format!("nothing is to be changed; name one of `{members}`")))
    }

    /// The same call with some members replaced.
    pub(super) fn again(
        &self,
        priority: Priority,
        changed: impl IntoIterator<Item = (&'static str, Value)>,
        reason: &'static str,
    ) -> Proposal {
        let mut params = self.args.as_given().clone();
        for (name, value) in changed {
            params.insert(name.to_owned(), value);
        }
        Proposal::new(priority, self.tool, Value::Object(params), reason)
    }
}

/// A proposal that fetches the current state.
pub(super) fn fetch(target: &'static str, params: Value) -> Proposal {
    Proposal::new(Priority::Medium, target, params, "Fetch what is there now")
}
