//! The tables that hold all records, and drafts of changes to them.
//!
//! A call works on a [`Draft`]: it reads through to the tables and collects what it changes. An
//! accepted draft is written to the database, if there is one, and only then applied here; a
//! refused one is dropped. So a refused call changes nothing, and memory is never ahead of the disk.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ids::ConflictId;
use crate::names::{BranchName, GraphNodeId, WorkspaceId};
use crate::records::{
    Base, Branch, Conflict, Edge, EdgeName, Node, Plan, Step, StepPlace, Task, Workspace,
};

/// What a part of a key must be able to do.
pub(crate) trait Part: Ord + Clone + Serialize + DeserializeOwned + 'static {}
impl<T: Ord + Clone + Serialize + DeserializeOwned + 'static> Part for T {}

/// The records of one kind, by what they belong to and then by name.
pub(crate) type Rows<R> = BTreeMap<<R as Row>::Scope, BTreeMap<<R as Row>::Name, R>>;
/// The same, where nothing means that the record is taken away.
type ChangedRows<R> = BTreeMap<<R as Row>::Scope, BTreeMap<<R as Row>::Name, Option<R>>>;

/// A kind of record.
pub(crate) trait Row: Clone + Serialize + DeserializeOwned + 'static {
    /// What records of this kind belong to.
    type Scope: Part;
    /// What tells them apart there, in the order in which they are listed.
    type Name: Part;

    fn kept(tables: &Tables) -> &Rows<Self>;
    fn changed(changes: &Changes) -> &ChangedRows<Self>;
    fn changed_mut(changes: &mut Changes) -> &mut ChangedRows<Self>;
}

/// A change as the database sees it: which table, which key, and what is there now.
pub(crate) struct Change {
    pub(crate) table: &'static str,
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

macro_rules! tables {
    ($($table:ident: $record:ty, in $scope:ty, by $name:ty;)*) => {
        /// Everything that is kept.
        #[derive(Debug, Default, Clone, PartialEq)]
        pub(crate) struct Tables { $($table: Rows<$record>,)* }

        /// What one call changes.
        #[derive(Debug, Default)]
        pub(crate) struct Changes { $($table: ChangedRows<$record>,)* }

        $(impl Row for $record {
            type Scope = $scope;
            type Name = $name;

            fn kept(tables: &Tables) -> &Rows<Self> {
                &tables.$table
            }

            fn changed(changes: &Changes) -> &ChangedRows<Self> {
                &changes.$table
            }

            fn changed_mut(changes: &mut Changes) -> &mut ChangedRows<Self> {
                &mut changes.$table
            }
        })*

        impl Tables {
            /// The names of all tables.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($table)),*];

            pub(crate) fn apply(&mut self, changes: Changes) {
                $(apply(&mut self.$table, changes.$table);)*
            }

            /// Takes in a record as the database has it. The table is one of [`Self::NAMES`].
            pub(crate) fn load(
                &mut self,
                table: &str,
                key: &str,
                value: &str,
            ) -> Result<(), serde_json::Error> {
                $(if table == stringify!($table) {
                    let (scope, name) = serde_json::from_str(key)?;
                    self.$table.entry(scope).or_default().insert(name, serde_json::from_str(value)?);
                })*
                Ok(())
            }
        }

        impl Changes {
            pub(crate) fn is_empty(&self) -> bool {
                true $(&& self.$table.is_empty())*
            }

            /// What the database has to do.
            pub(crate) fn list(&self) -> Vec<Change> {
                let mut list = Vec::new();
                $(for (scope, rows) in &self.$table {
                    for (name, record) in rows {
                        list.push(Change {
                            table: stringify!($table),
                            key: text(&(scope, name)),
                            value: record.as_ref().map(text),
                        });
                    }
                })*
                list
            }
        }
    };
}

// The names of the tables are those in the database: a new name is a new format.
tables! {
    workspaces: Workspace, in (), by WorkspaceId;
    plans: Plan, in WorkspaceId, by u64;
    tasks: Task, in WorkspaceId, by u64;
    steps: Step, in (WorkspaceId, u64), by Vec<u64>;
    places: StepPlace, in WorkspaceId, by u64;
    branches: Branch, in WorkspaceId, by BranchName;
    nodes: Node, in (WorkspaceId, BranchName), by GraphNodeId;
    edges: Edge, in (WorkspaceId, BranchName), by EdgeName;
    bases: Base, in (WorkspaceId, BranchName, BranchName), by GraphNodeId;
    conflicts: Conflict, in WorkspaceId, by ConflictId;
}

fn text(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("records are made of strings, numbers and lists of them")
}

fn apply<S: Ord, N: Ord, R>(
    kept: &mut BTreeMap<S, BTreeMap<N, R>>,
    changed: BTreeMap<S, BTreeMap<N, Option<R>>>,
) {
    for (scope, rows) in changed {
        let mut there = kept.remove(&scope).unwrap_or_default();
        for (name, record) in rows {
            match record {
                Some(record) => there.insert(name, record),
                None => there.remove(&name),
            };
        }
        // Nothing is kept of what is empty, as in the database.
        if !there.is_empty() {
            kept.insert(scope, there);
        }
    }
}

/// The tables as they would be, and what was changed to make them so.
pub(crate) struct Draft<'t> {
    tables: &'t Tables,
    changes: Changes,
}

impl<'t> Draft<'t> {
    pub(crate) fn of(tables: &'t Tables) -> Self {
        Self { tables, changes: Changes::default() }
    }

    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    pub(crate) fn get<R: Row>(&self, scope: &R::Scope, name: &R::Name) -> Option<&R> {
        let changed = R::changed(&self.changes).get(scope).and_then(|rows| rows.get(name));
        match changed {
            Some(record) => record.as_ref(),
            None => R::kept(self.tables).get(scope)?.get(name),
        }
    }

    pub(crate) fn put<R: Row>(&mut self, scope: &R::Scope, name: &R::Name, record: R) {
        self.change(scope, name, Some(record));
    }

    pub(crate) fn remove<R: Row>(&mut self, scope: &R::Scope, name: &R::Name) {
        self.change::<R>(scope, name, None);
    }

    fn change<R: Row>(&mut self, scope: &R::Scope, name: &R::Name, record: Option<R>) {
        let rows = R::changed_mut(&mut self.changes).entry(scope.clone()).or_default();
        rows.insert(name.clone(), record);
    }

    /// The records of `scope`, in the order of their names.
    pub(crate) fn rows<'d, R: Row>(
        &'d self,
        scope: &R::Scope,
    ) -> impl Iterator<Item = (&'d R::Name, &'d R)> + use<'d, 't, R> {
        let mut kept = R::kept(self.tables).get(scope).into_iter().flatten().peekable();
        let mut changed = R::changed(&self.changes).get(scope).into_iter().flatten().peekable();
        std::iter::from_fn(move || {
            loop {
                let order = match (kept.peek(), changed.peek()) {
                    (Some((kept, _)), Some((changed, _))) => kept.cmp(changed),
                    (_, None) => Ordering::Less,
                    (None, _) => Ordering::Greater,
                };
                if order == Ordering::Less {
                    return kept.next();
                }
                if order == Ordering::Equal {
                    kept.next();
                }
                if let (name, Some(record)) = changed.next()? {
                    return Some((name, record));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_shows_what_is_kept_and_what_it_changed_in_one_order() {
        let scope = WorkspaceId::parse("w").unwrap();
        let plan = |title: &str| Plan { title: title.to_owned(), revision: 0 };
        let mut tables = Tables::default();
        let mut first = Draft::of(&tables);
        for number in [2, 4, 6] {
            first.put(&scope, &number, plan("kept"));
        }
        let changes = first.into_changes();
        tables.apply(changes);

        let mut draft = Draft::of(&tables);
        draft.put(&scope, &1, plan("new"));
        draft.put(&scope, &4, plan("changed"));
        draft.remove::<Plan>(&scope, &6);
        draft.put(&scope, &9, plan("new"));
        draft.remove::<Plan>(&scope, &9);
        let shown = |draft: &Draft| -> Vec<(u64, String)> {
            draft.rows::<Plan>(&scope).map(|(n, plan)| (*n, plan.title.clone())).collect()
        };
        let expected = [(1, "new"), (2, "kept"), (4, "changed")].map(|(n, t)| (n, t.to_owned()));
        assert_eq!(shown(&draft), expected);
        assert_eq!(draft.get::<Plan>(&scope, &6), None);
        let changes = draft.into_changes();
        tables.apply(changes);
        assert_eq!(shown(&Draft::of(&tables)), expected);
    }
}
