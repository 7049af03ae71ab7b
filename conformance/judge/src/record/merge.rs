//! Merges the records of disjoint parts.

use std::collections::BTreeMap;

use proofmark_protocol::HelloReply;

use super::{Record, RecordError};
use crate::fault::Fault;
use crate::select::{SelectError, Selection};
use crate::suite::Suite;

/// Why records are not the parts of one run. Names are the caller's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("there is nothing to merge")]
    Nothing,
    #[error("`{name}`: {fault}")]
    Record { name: String, fault: RecordError },
    #[error("`{name}` was interrupted; run that part again")]
    Interrupted { name: String },
    #[error("`{first}` and `{other}` have different {what}: {of_first} and {of_other}")]
    Differ { what: &'static str, first: String, other: String, of_first: String, of_other: String },
    #[error(
        "case `{case}` is in `{first}` and in `{other}`; each case belongs to one part, so check whether a shard is there twice"
    )]
    Overlap { case: String, first: String, other: String },
    #[error("{count} case(s) are in no part, such as `{case}`: a part is missing")]
    Hole { count: usize, case: String },
    #[error("`{name}` has case `{case}`, which was not selected")]
    NotSelected { name: String, case: String },
    #[error(transparent)]
    Selection(#[from] SelectError),
}

impl Record {
    /// Merges the records of the parts of one run. Together they must have every case of `selection`, each once.
    pub fn merged(
        parts: Vec<(String, Self)>,
        suite: &Suite,
        selection: &Selection,
    ) -> Result<Self, MergeError> {
        let mut missing: BTreeMap<&str, ()> =
            selection.of(suite)?.into_iter().map(|case| (case.name.as_str(), ())).collect();
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        let mut whole: Option<(String, Self)> = None;
        for (name, part) in parts {
            part.is_of(suite).map_err(|fault| MergeError::Record { name: name.clone(), fault })?;
            if part.interrupted {
                return Err(MergeError::Interrupted { name });
            }
            if let Some((first, whole)) = &whole {
                alike(first, whole, &name, &part)?;
            }
            for recorded in &part.cases {
                let case = recorded.case.clone();
                if let Some(first) = owners.get(&case) {
                    return Err(MergeError::Overlap { case, first: first.clone(), other: name });
                }
                if missing.remove(case.as_str()).is_none() {
                    return Err(MergeError::NotSelected { name, case });
                }
                owners.insert(case, name.clone());
            }
            match &mut whole {
                None => whole = Some((name, Self { partition: None, ..part })),
                Some((_, whole)) => {
                    whole.cases.extend(part.cases);
                    whole.faults.extend(part.faults);
                    whole.unkept.extend(part.unkept);
                    join(&mut whole.subject, part.subject);
                }
            }
        }
        let (_, mut whole) = whole.ok_or(MergeError::Nothing)?;
        if let Some(case) = missing.keys().next() {
            return Err(MergeError::Hole { count: missing.len(), case: (*case).to_owned() });
        }
        whole.cases.sort_by(|a, b| a.case.cmp(&b.case));
        Fault::settle(&mut whole.faults);
        whole.unkept.sort();
        whole.unkept.dedup();
        Ok(whole)
    }
}

/// Contracts may have adapters of their own, so each part claims what its adapters do.
fn join(whole: &mut Option<HelloReply>, part: Option<HelloReply>) {
    if let (Some(whole), Some(part)) = (whole, part) {
        for (all, more) in [(&mut whole.contracts, part.contracts), (&mut whole.hooks, part.hooks)]
        {
            let new: Vec<_> = more.into_iter().filter(|one| !all.contains(one)).collect();
            all.extend(new);
        }
    }
}

/// All parts of a run have the same subject, program version and law inputs.
fn alike(first: &str, whole: &Record, other: &str, part: &Record) -> Result<(), MergeError> {
    let shown = |subject: &Option<HelloReply>| {
        subject.as_ref().map_or_else(
            || "no answer to `hello`".to_owned(),
            |hello| {
                // A contract that only one part claims is not exercised in the others, so it is not certified.
                let alike =
                    HelloReply { contracts: Vec::new(), hooks: Vec::new(), ..hello.clone() };
                serde_json::to_string(&alike).unwrap_or_default()
            },
        )
    };
    let laws =
        |record: &Record| format!("{} inputs with seed {}", record.laws.cases, record.laws.seed);
    let compared = [
        ("subjects", shown(&whole.subject), shown(&part.subject)),
        ("versions of proofmark", whole.proofmark.clone(), part.proofmark.clone()),
        ("inputs of laws", laws(whole), laws(part)),
    ];
    match compared.into_iter().find(|(_, a, b)| a != b) {
        Some((what, of_first, of_other)) => Err(MergeError::Differ {
            what,
            first: first.to_owned(),
            other: other.to_owned(),
            of_first,
            of_other,
        }),
        None => Ok(()),
    }
}
