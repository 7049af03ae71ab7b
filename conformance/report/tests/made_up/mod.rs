//! A made-up run: a requirement for each verdict, an unclaimed contract, and a fault of the run.

#![allow(dead_code, reason = "every test program uses a part of it")]

use std::time::Duration;

use proofmark_judge::Fault;
use proofmark_judge::matcher::Pattern;
use proofmark_judge::verdict::{
    CallSeen, CaseResult, Exchange, Failure, NotExercised, RunOutcome, Verdict,
};
use proofmark_judge::{Ask, Suite};
use proofmark_protocol::HelloReply;
use proofmark_report::failure::Rerun;
use proofmark_report::{Aim, Report};
use proofmark_suite::{Extensions, SuiteFiles};
use serde_json::{Map, Value, json};

/// Two contracts: `demo` with a requirement for each verdict, and `other`, which nobody claims.
pub(crate) fn suite() -> Suite {
    let requirement = |id: &str, further: &str| {
        format!(
            "[[requirement]]\nid = \"{id}\"\nsentence = \"What {id} says.\"\nsource = \"The text\"\n{further}\n"
        )
    };
    let ledger = |contract: &str, prefix: &str, requirements: &[String]| {
        let head = format!(
            "contract = \"{contract}\"\ntitle = \"T\"\ntext = \"t.md\"\nprefix = \"{prefix}\"\nworkspace = false\noperations = [\"{contract}.greet\"]\nhooks = {{ \"{contract}.lock\" = [\"{contract}.hold\"] }}\n"
        );
        (
            format!("fixtures/{contract}/requirements.toml"),
            format!("{head}{}", requirements.concat()),
        )
    };
    let case = |contract: &str, id: &str, shows: &str| {
        json!({"id": format!("greet/{id}"), "why": format!("Why {id} matters."), "shows": [shows], "origin": "contract",
               "steps": [{"call": format!("{contract}.greet"), "returns": "hello"}]})
    };
    let fixture = |contract: &str, cases: Value| {
        let text = json!({"contract": contract, "topic": "greet", "cases": cases});
        (format!("fixtures/{contract}/greet.json"), text.to_string())
    };
    let must = "level = \"must\"\nbasis = \"contract\"";
    let files = [
        ledger(
            "demo",
            "DEMO",
            &[
                requirement("DEMO-001", must),
                requirement("DEMO-002", must),
                requirement("DEMO-003", must),
                requirement("DEMO-004", &format!("{must}\nexcluded = \"It would take a year.\"")),
                requirement(
                    "DEMO-005",
                    "level = \"should\"\nbasis = \"interpretation\"\nreason = \"The text is silent.\"",
                ),
            ],
        ),
        fixture(
            "demo",
            json!([
                case("demo", "holds", "DEMO-001"),
                case("demo", "breaks", "DEMO-002"),
                case("demo", "hooked", "DEMO-003"),
                case("demo", "guess", "DEMO-005"),
            ]),
        ),
        ledger("other", "OTHER", &[requirement("OTHER-001", must)]),
        fixture("other", json!([case("other", "first", "OTHER-001")])),
    ];
    proofmark_suite::load(&SuiteFiles::from_pairs(files), &Extensions::default())
        .expect("the suite is sound")
}

/// The subject returned "hello wurld" instead of "hello world", after a good call.
pub(crate) fn failed() -> Verdict {
    let call = |operation: &str, args: Value, process: &str| CallSeen {
        operation: operation.to_owned(),
        args,
        process: process.to_owned(),
        session: String::new(),
    };
    let expected = json!("hello world");
    let got = json!("hello wurld");
    let failure = Failure {
        setup: false,
        reason: "difference".to_owned(),
        message: "the call returned something else".to_owned(),
        at: "fixtures/demo/greet.json:7".to_owned(),
        words: Some("When somebody greets".to_owned()),
        call: Some(call("demo.greet", json!({"name": "world"}), "b")),
        difference: Pattern::new(expected.clone()).expect("a string").difference(&got),
        expected: Some(json!({"returns": expected})),
        got: Some(json!({"value": got})),
        found: None,
        asks: vec![
            Ask {
                fake: "secrets".to_owned(),
                method: "get".to_owned(),
                args: json!({"key": "A"}),
                answer: json!({"value": "s3cret"}),
            },
            Ask {
                fake: "secrets".to_owned(),
                method: "get".to_owned(),
                args: json!({"key": "B"}),
                answer: json!({"error": {"code": "ENOTFOUND"}}),
            },
        ],
        transcript: vec![
            Exchange {
                call: call("demo.greet", json!({}), "a"),
                outcome: json!({"value": "hello"}),
            },
            Exchange {
                call: call("demo.greet", json!({"name": "x".repeat(400)}), "a"),
                outcome: json!({"value": null}),
            },
        ],
        stderr: vec!["warning: a typo ahead".to_owned(), "oh no".to_owned()],
    };
    Verdict::Failed { failure: Box::new(failure) }
}

pub(crate) fn outcome() -> RunOutcome {
    let hooked =
        Verdict::NotExercised { reason: NotExercised::HookMissing("demo.lock".to_owned()) };
    let unclaimed = Verdict::NotExercised { reason: NotExercised::NotClaimed };
    let results = [
        ("demo/greet/breaks", failed()),
        ("demo/greet/guess", Verdict::Passed),
        ("demo/greet/holds", Verdict::Passed),
        ("demo/greet/hooked", hooked),
        ("other/greet/first", unclaimed),
    ];
    RunOutcome {
        subject: Some(HelloReply {
            protocol: 1,
            name: "made-up".to_owned(),
            version: "1.2.3".to_owned(),
            language: "none".to_owned(),
            contracts: vec!["demo".to_owned()],
            options: Map::new(),
            hooks: Vec::new(),
        }),
        results: results.map(|(case, verdict)| CaseResult::new(case, verdict)).to_vec(),
        faults: vec![Fault::LeftProcesses { count: 2 }],
        ..RunOutcome::default()
    }
}

/// The case of DEMO-001 is blocked by what breaks DEMO-002.
pub(crate) fn blocked() -> RunOutcome {
    let mut outcome = outcome();
    outcome.faults.clear();
    if let Verdict::Failed { failure } = failed() {
        outcome.results[2].verdict = Verdict::of(Box::new(Failure { setup: true, ..*failure }));
    }
    outcome.results[3].verdict = Verdict::Passed;
    outcome
}

pub(crate) fn rerun() -> Rerun {
    Rerun {
        subject: "-- node my-adapter.mjs".to_owned(),
        options: "--suite 'my suite'".to_owned(),
        keep_in: "'my suite'".to_owned(),
    }
}

/// Judges a run and passes its report to `read`.
pub(crate) fn reported<T>(
    outcome: &RunOutcome,
    aim: Aim,
    read: impl FnOnce(&Report<'_>) -> T,
) -> T {
    let (suite, rerun) = (suite(), rerun());
    let contracts = outcome.judge(&suite);
    let holds = match aim {
        Aim::Run => outcome.all_passed(),
        Aim::Certify => contracts.iter().filter(|one| one.claimed).all(|one| one.certified),
    };
    read(&Report {
        suite: &suite,
        folder: None,
        outcome,
        contracts: &contracts,
        aim,
        holds,
        elapsed: Duration::from_millis(1234),
        rerun: &rerun,
    })
}

/// Text that could break or fool a reader of any format.
pub(crate) const HOSTILE: &str = "]]></failure></script><script>alert(1)</script>\u{1b}[31m\u{202e}\u{fffe}\0\r\n::stop-commands::x\n  ::error::y\n##[error]z | `a` **b** [c](javascript:d) <img src=x> # SKIP \\ %0A &amp; \u{9b}\u{e0041}";

/// A run in which all text from the subject is hostile.
pub(crate) fn hostile() -> RunOutcome {
    let mut outcome = outcome();
    outcome.faults = vec![Fault::Garbage { message: HOSTILE.to_owned() }];
    if let Some(subject) = &mut outcome.subject {
        subject.name = HOSTILE.to_owned();
        subject.version = HOSTILE.to_owned();
        subject.language = HOSTILE.to_owned();
        subject.contracts.push(HOSTILE.to_owned());
        subject.hooks.push(HOSTILE.to_owned());
    }
    for result in &mut outcome.results {
        let Verdict::Failed { failure } = &mut result.verdict else { continue };
        let expected = json!({ "returns": "plain" });
        failure.message = HOSTILE.to_owned();
        failure.words = Some(HOSTILE.to_owned());
        failure.difference =
            Pattern::new(json!("plain")).expect("a string").difference(&json!(HOSTILE));
        failure.expected = Some(expected);
        failure.got = Some(json!({ "value": HOSTILE, HOSTILE: [HOSTILE] }));
        failure.stderr = vec![HOSTILE.to_owned(), "::error::at the beginning".to_owned()];
        for exchange in &mut failure.transcript {
            exchange.outcome = json!({ "value": HOSTILE });
        }
        for ask in &mut failure.asks {
            ask.fake = HOSTILE.to_owned();
            ask.method = HOSTILE.to_owned();
            ask.args = json!([HOSTILE]);
        }
    }
    outcome
}
