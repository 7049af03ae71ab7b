//! Request bodies, parsed strictly: unknown members, wrong types and `null` are refused.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::state::{
    CONTRACT_VERSION, Capabilities, EdgeType, GlobalMode, Mode, Permissions, PermissionsMode,
    Phase, ProviderKind, Resolution, ResolutionStatus, RunStatus,
};
use crate::{Id, Refusal};

/// The most characters in a label and in a role.
pub(crate) const MOST_CHARACTERS: usize = 200;
/// The most reset commands of a node.
const MOST_COMMANDS: usize = 100;

/// For an optional member that must not be `null`.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Like `given`, for an object.
fn given_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Object::deserialize(from).map(|Object(inner)| Some(inner))
}

/// Accepts an object, not a list.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        from.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// Parses a body and checks what its types do not express.
pub(crate) fn read<T: Body>(bytes: &[u8]) -> Result<T, Refusal> {
    let Object(body): Object<T> = serde_json::from_slice(bytes)
        .map_err(|fault| Refusal::Bad(format!("the body is not as it should be: {fault}")))?;
    body.check()?;
    Ok(body)
}

/// Like [`read`], for a body inside something else.
pub(crate) fn read_value<T: Body>(value: &Value) -> Result<T, Refusal> {
    read(value.to_string().as_bytes())
}

pub(crate) trait Body: DeserializeOwned {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Declares a body: required members, optional members, and optional objects. By itself, serde would accept a list
/// for an object.
macro_rules! body {
    (
        $(#[$doc:meta])* $name:ident {
            $($must:ident: $kind:ty,)* ;
            $($(#[$attr:meta])* $may:ident: $other:ty,)* ;
            $($(#[$inner_attr:meta])* $object:ident: $inner:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $(pub $must: $kind,)*
            $(#[serde(default, deserialize_with = "given")]
            #[schema(nullable = false)]
            $(#[$attr])*
            pub $may: Option<$other>,)*
            $(#[serde(default, deserialize_with = "given_object")]
            #[schema(nullable = false)]
            $(#[$inner_attr])*
            pub $object: Option<$inner>,)*
        }
    };
}

body! {
    /// A new run.
    NewRun { ; contract_version: String, mode: Mode, global_mode: GlobalMode, ; }
}

impl Body for NewRun {
    fn check(&self) -> Result<(), Refusal> {
        match &self.contract_version {
            Some(version) if version != CONTRACT_VERSION => Err(Refusal::Bad(format!(
                "`contractVersion` is `{version}`; this server speaks version `{CONTRACT_VERSION}`"
            ))),
            _ => Ok(()),
        }
    }
}

body! {
    /// A change of a run: one or more members.
    RunChange { ; status: RunStatus, phase: Phase, mode: Mode, global_mode: GlobalMode, ; }
}

impl Body for RunChange {
    fn check(&self) -> Result<(), Refusal> {
        if self.status == Some(RunStatus::Queued) {
            return Err(Refusal::bad(
                "`status` can be set to `running`, `paused`, `completed` or `failed`",
            ));
        }
        let Self { status, phase, mode, global_mode } = self;
        needs_one(status.is_some() || phase.is_some() || mode.is_some() || global_mode.is_some())
    }
}

body! {
    /// Capabilities; those that are not given stay as they are.
    CapabilitiesChange { ;
        spawn_nodes: bool, write_code: bool, write_docs: bool, run_commands: bool, delegate_only: bool, ;
    }
}

impl CapabilitiesChange {
    pub(crate) fn of(&self, before: Capabilities) -> Capabilities {
        Capabilities {
            spawn_nodes: self.spawn_nodes.unwrap_or(before.spawn_nodes),
            write_code: self.write_code.unwrap_or(before.write_code),
            write_docs: self.write_docs.unwrap_or(before.write_docs),
            run_commands: self.run_commands.unwrap_or(before.run_commands),
            delegate_only: self.delegate_only.unwrap_or(before.delegate_only),
        }
    }
}

body! {
    /// Permissions; those that are not given stay as they are.
    PermissionsChange { ; cli_permissions_mode: PermissionsMode, spawn_requires_approval: bool, ; }
}

impl PermissionsChange {
    pub(crate) fn of(&self, before: Permissions) -> Permissions {
        Permissions {
            cli_permissions_mode: self.cli_permissions_mode.unwrap_or(before.cli_permissions_mode),
            spawn_requires_approval: self
                .spawn_requires_approval
                .unwrap_or(before.spawn_requires_approval),
        }
    }
}

body! {
    /// What of a session can be set.
    SessionChange { ; reset_commands: Vec<String>, ; }
}

body! {
    /// A new node.
    NewNode { label: String, role_template: String, provider: ProviderKind, ; ;
        capabilities: CapabilitiesChange, permissions: PermissionsChange, session: SessionChange,
    }
}

impl Body for NewNode {
    fn check(&self) -> Result<(), Refusal> {
        has_characters("label", &self.label)?;
        has_characters("roleTemplate", &self.role_template)?;
        commands(self.session.as_ref())
    }
}

body! {
    /// A change of a node: one or more members.
    NodeChange { ;
        label: String, role_template: String, provider: ProviderKind, ;
        capabilities: CapabilitiesChange, permissions: PermissionsChange, session: SessionChange,
    }
}

impl Body for NodeChange {
    fn check(&self) -> Result<(), Refusal> {
        let Self { label, role_template, provider, capabilities, permissions, session } = self;
        needs_one(
            label.is_some()
                || role_template.is_some()
                || provider.is_some()
                || capabilities.is_some()
                || permissions.is_some()
                || session.is_some(),
        )?;
        label.as_ref().map_or(Ok(()), |text| has_characters("label", text))?;
        role_template.as_ref().map_or(Ok(()), |text| has_characters("roleTemplate", text))?;
        commands(session.as_ref())
    }
}

body! {
    /// A new edge.
    NewEdge { from: Id, to: Id, ;
        bidirectional: bool,
        #[serde(rename = "type")]
        kind: EdgeType,
        label: String, ;
    }
}

impl Body for NewEdge {
    fn check(&self) -> Result<(), Refusal> {
        match &self.label {
            Some(label) if label.chars().count() > MOST_CHARACTERS => {
                Err(Refusal::Bad(format!("`label` must have {MOST_CHARACTERS} characters at most")))
            }
            _ => Ok(()),
        }
    }
}

body! {
    /// A message to a node.
    Chat { content: String, ; node_id: Id, interrupt: bool, ; }
}

impl Body for Chat {
    fn check(&self) -> Result<(), Refusal> {
        if self.content.is_empty() { Err(Refusal::bad("`content` is empty")) } else { Ok(()) }
    }
}

body! {
    /// What the user says to an approval.
    Resolve { status: ResolutionStatus, ; ;
        #[schema(value_type = Object)]
        modified_args: Map<String, Value>,
    }
}

impl Body for Resolve {
    fn check(&self) -> Result<(), Refusal> {
        match (self.status, &self.modified_args) {
            (ResolutionStatus::Modified, None) => {
                Err(Refusal::bad("`modified` wants `modifiedArgs`: what the tool is to run with"))
            }
            (ResolutionStatus::Approved | ResolutionStatus::Denied, Some(_)) => {
                Err(Refusal::bad("`modifiedArgs` goes with the status `modified` alone"))
            }
            _ => Ok(()),
        }
    }
}

impl From<Resolve> for Resolution {
    fn from(said: Resolve) -> Self {
        Self { status: said.status, modified_args: said.modified_args }
    }
}

fn needs_one(there: bool) -> Result<(), Refusal> {
    if there { Ok(()) } else { Err(Refusal::bad("the body changes nothing: it has no member")) }
}

fn has_characters(member: &str, text: &str) -> Result<(), Refusal> {
    if (1..=MOST_CHARACTERS).contains(&text.chars().count()) {
        return Ok(());
    }
    Err(Refusal::Bad(format!("`{member}` must have 1 to {MOST_CHARACTERS} characters")))
}

fn commands(session: Option<&SessionChange>) -> Result<(), Refusal> {
    let given = session.and_then(|session| session.reset_commands.as_deref()).unwrap_or_default();
    if given.len() > MOST_COMMANDS {
        return Err(Refusal::Bad(format!("there may be {MOST_COMMANDS} `resetCommands` at most")));
    }
    given.iter().try_for_each(|command| has_characters("resetCommands", command))
}
