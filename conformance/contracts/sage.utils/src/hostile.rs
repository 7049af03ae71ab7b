//! The reference with a fault that only shows with many calls in flight.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::hostile_reference(
        "loses-answers-in-company",
        "never answers when many calls are under way",
        loses_answers_in_company,
    ),
    Adversary::hostile_reference(
        "crashes-in-company",
        "ends at the second session that hashes",
        crashes_in_company,
    ),
];

fn crashes_in_company(subject: Subject) -> Subject {
    static SESSIONS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    subject.around("utils.sha256", async |context, args, inner| {
        let sessions = {
            let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.insert(context.session().to_owned());
            sessions.len()
        };
        if sessions > 1 {
            std::process::exit(5);
        }
        inner.call(context, args).await
    })
}

fn loses_answers_in_company(subject: Subject) -> Subject {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    subject.around("utils.sha256", async |context, args, inner| {
        let company = UNDER_WAY.fetch_add(1, Ordering::Relaxed) + 1;
        // Lets the calls that arrived with this one begin.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if company > 4 {
            std::future::pending::<()>().await;
        }
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
        inner.call(context, args).await
    })
}
