//! The machine-readable formats, as their readers see them, even with hostile subjects.

mod made_up;

use made_up::{blocked, hostile, outcome, reported};
use proofmark_judge::verdict::{NotExercised, RunOutcome, Verdict};
use proofmark_report::text::visible;
use proofmark_report::{Aim, Report, github, html, junit, markdown, tap};
use pulldown_cmark::{Event, Options, Parser, Tag};
use rstest::rstest;
use serde_json::Value;

fn written(
    outcome: &RunOutcome,
    aim: Aim,
    write: fn(&mut dyn std::io::Write, &Report<'_>) -> std::io::Result<()>,
) -> String {
    reported(outcome, aim, |report| {
        let mut out = Vec::new();
        write(&mut out, report).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    })
}

/// The made-up run with every case passed, no fault, and every contract claimed.
fn flawless() -> RunOutcome {
    let mut outcome = outcome();
    outcome.faults.clear();
    outcome.results.iter_mut().for_each(|result| result.verdict = Verdict::Passed);
    outcome
}

/// The only failure is a case that shows an interpretation.
fn differing() -> RunOutcome {
    let (failure, mut outcome) = (outcome().results[0].verdict.clone(), flawless());
    outcome.results[1].verdict = failure;
    outcome
}

/// Nothing failed, but one case did not run.
fn idle() -> RunOutcome {
    let mut outcome = flawless();
    outcome.results[0].verdict =
        Verdict::NotExercised { reason: NotExercised::HookMissing("demo.lock".to_owned()) };
    outcome
}

#[test]
fn junit_says_what_the_terminal_says() {
    let text = written(&outcome(), Aim::Certify, junit::write);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let attribute = |node: roxmltree::Node<'_, '_>, name: &str| {
        node.attribute(name).unwrap_or_default().to_owned()
    };
    let suites: Vec<_> =
        document.root_element().children().filter(|node| node.has_tag_name("testsuite")).collect();
    let counts = |node: &roxmltree::Node<'_, '_>| {
        ["name", "tests", "failures", "errors", "skipped"]
            .map(|name| attribute(*node, name))
            .join(" ")
    };
    assert_eq!(
        suites.iter().map(counts).collect::<Vec<_>>(),
        ["demo 4 1 0 1", "other 1 0 0 1", "proofmark 1 0 1 0"]
    );
    let failure =
        document.descendants().find(|node| node.has_tag_name("failure")).expect("a failure");
    assert_eq!(attribute(failure, "type"), "difference");
    assert_eq!(
        attribute(failure, "message"),
        "DEMO-002 What DEMO-002 says. At $: expected \"hello world\", got \"hello wurld\""
    );
    let body = failure.text().expect("a body");
    assert!(body.contains("first difference at $") && body.contains("run it alone: proofmark run --case demo/greet/breaks --suite 'my suite' -- node my-adapter.mjs"), "{body}");
    let case = failure.parent_element().expect("a case");
    assert_eq!(
        [attribute(case, "name"), attribute(case, "classname")],
        ["greet/breaks", "demo/greet"]
    );
    assert!(
        text.contains(r#"<property name="requirements.greet/breaks" value="DEMO-002"/>"#),
        "{text}"
    );
    let error = document.descendants().find(|node| node.has_tag_name("error")).expect("an error");
    assert_eq!(attribute(error, "type"), "left-processes");
    assert!(text.contains("<property name=\"subject.version\" value=\"1.2.3\"/>"), "{text}");
    assert!(!text.contains("time="), "no two runs take the same time");
}

/// The attributes and elements that the strictest JUnit reader allows.
#[test]
fn junit_has_nothing_that_a_strict_reader_refuses() {
    let text = written(&hostile(), Aim::Certify, junit::write);
    let document = roxmltree::Document::parse(&text).expect("XML");
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let (attributes, elements): (&[&str], &[&str]) = match node.tag_name().name() {
            "testsuites" => (&["name", "time", "tests", "failures", "errors"], &["testsuite"]),
            "testsuite" => (
                &["name", "tests", "failures", "errors", "skipped"],
                &["properties", "testcase", "system-out", "system-err"],
            ),
            "properties" => (&[], &["property"]),
            "property" => (&["name", "value"], &[]),
            "testcase" => (&["name", "classname"], &["skipped", "error", "failure", "system-out"]),
            "skipped" | "error" | "failure" => (&["type", "message"], &[]),
            other => panic!("<{other}>"),
        };
        let name = node.tag_name().name();
        for attribute in node.attributes() {
            assert!(attributes.contains(&attribute.name()), "<{name} {}>", attribute.name());
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            assert!(
                elements.contains(&child.tag_name().name()),
                "<{name}><{}>",
                child.tag_name().name()
            );
        }
    }
}

/// Gates read these: none may be green unless the exit code is 0, or red if it is.
#[rstest]
#[case::all_good(flawless(), Aim::Run, 0)]
#[case::not_decisive(differing(), Aim::Certify, 0)]
#[case::not_decisive_but_asked_for(differing(), Aim::Run, 1)]
#[case::nothing_ran(idle(), Aim::Run, 1)]
#[case::nothing_certified(idle(), Aim::Certify, 1)]
#[case::interrupted(RunOutcome { interrupted: true, ..flawless() }, Aim::Certify, 1)]
#[case::faults(outcome(), Aim::Certify, 2)]
#[case::blocked(blocked(), Aim::Certify, 2)]
fn all_formats_agree_with_the_exit_code(
    #[case] outcome: RunOutcome,
    #[case] aim: Aim,
    #[case] red: usize,
) {
    let holds = reported(&outcome, aim, |report| report.holds);
    assert_eq!(holds, red == 0);
    let junit = written(&outcome, aim, junit::write);
    assert_eq!(
        junit.matches("<failure ").count() + junit.matches("<error ").count(),
        red,
        "{junit}"
    );
    let tap = written(&outcome, aim, tap::write);
    let bad = |line: &&str| {
        line.starts_with("Bail out!") || line.starts_with("not ok") && !line.contains("# TODO")
    };
    assert_eq!(tap.lines().filter(bad).count(), red, "{tap}");
    let annotations = reported(&outcome, aim, |report| {
        let mut out = Vec::new();
        github::annotate(&mut out, report, |_| false).expect("memory");
        String::from_utf8(out).expect("text")
    });
    assert_eq!(
        annotations.lines().filter(|line| line.starts_with("::error ")).count(),
        red,
        "{annotations}"
    );
    let page = reported(&outcome, aim, html::page);
    assert_eq!(page.contains("class=\"verdict good\""), holds);
}

#[test]
fn junit_is_legal_xml_whatever_a_subject_says() {
    let text = written(&hostile(), Aim::Run, junit::write);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let legal = |letter: char| matches!(letter, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(legal), "XML 1.0 has no such character");
    let failure =
        document.descendants().find(|node| node.has_tag_name("failure")).expect("a failure");
    assert!(failure.text().expect("a body").contains(r"\u001b[31m\u202e\ufffe"), "{failure:?}");
}

/// Everything between `---` and `...`, without its indentation.
fn diagnostics(tap: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = tap.lines();
    while lines.by_ref().any(|line| line == "  ---") {
        let block = lines.by_ref().take_while(|line| *line != "  ...");
        blocks.push(
            block
                .map(|line| line.strip_prefix("  ").unwrap_or(line))
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    blocks
}

#[test]
fn tap_has_a_plan_a_line_for_each_case_and_yaml() {
    let tap = written(&outcome(), Aim::Certify, tap::write);
    let lines: Vec<&str> = tap.lines().filter(|line| !line.starts_with("  ")).collect();
    assert_eq!(
        lines,
        [
            "TAP version 14",
            "1..5",
            "not ok 1 - demo/greet/breaks",
            "ok 2 - demo/greet/guess",
            "ok 3 - demo/greet/holds",
            "ok 4 - demo/greet/hooked # SKIP the subject has no test hook `demo.lock`",
            "ok 5 - other/greet/first # SKIP the subject does not claim the contract",
            "Bail out! left-processes: the subject left 2 process(es) running; they were killed",
        ]
    );
    let blocks = diagnostics(&tap);
    let read: Value = serde_saphyr::from_str(&blocks[0]).expect("YAML");
    assert_eq!(read["difference"]["got"], "\"hello wurld\"");
    assert_eq!(read["requirements"][0], "DEMO-002");
    assert!(
        read["failure"].as_str().expect("text").starts_with("FAILED demo/greet/breaks"),
        "{read}"
    );
}

#[test]
fn a_subject_cannot_forge_tap() {
    let tap = written(&hostile(), Aim::Run, tap::write);
    let known = |line: &str| {
        ["TAP version", "1..", "ok ", "not ok ", "  ", "Bail out! garbage"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    assert_eq!(tap.lines().find(|line| !known(line)), None);
    let blocks = diagnostics(&tap);
    assert_eq!(blocks.len(), 1);
    let read: Value = serde_saphyr::from_str(&blocks[0]).expect("YAML");
    assert_eq!(read["message"], *visible(made_up::HOSTILE));
}

#[test]
fn an_annotation_names_the_file_only_if_it_is_there() {
    let annotate = |there: bool| {
        reported(&outcome(), Aim::Run, |report| {
            let mut out = Vec::new();
            github::annotate(&mut out, report, |_| there).expect("memory");
            String::from_utf8(out).expect("text")
        })
    };
    let shown = annotate(true);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    let (fault, failure) = shown.split_once('\n').expect("two lines");
    assert_eq!(
        fault,
        "::error title=fault%3A left-processes::the subject left 2 process(es) running; they were killed"
    );
    assert!(failure.starts_with("::error file=fixtures/demo/greet.json,line=7,title=DEMO-002 demo/greet/breaks::DEMO-002 What DEMO-002 says. At $"), "{failure}");
    assert!(annotate(false).contains("::error title=DEMO-002 demo/greet/breaks::"));
}

#[test]
fn a_subject_cannot_forge_annotations() {
    let shown = reported(&hostile(), Aim::Run, |report| {
        let mut out = Vec::new();
        github::annotate(&mut out, report, |_| true).expect("memory");
        String::from_utf8(out).expect("text")
    });
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("::error ")), "{shown}");
}

/// GitHub silently drops more than ten.
#[test]
fn annotations_are_capped_and_the_rest_is_counted() {
    let mut many = outcome();
    many.faults = (0..25).map(|count| proofmark_judge::Fault::LeftProcesses { count }).collect();
    let shown = reported(&many, Aim::Run, |report| {
        let mut out = Vec::new();
        github::annotate(&mut out, report, |_| false).expect("memory");
        String::from_utf8(out).expect("text")
    });
    assert_eq!(shown.lines().count(), 10);
    assert!(
        shown.ends_with("::error title=and 17 more::17 more; the report has them all\n"),
        "{shown}"
    );
}

/// The Markdown has only our own elements, and none from the subject.
#[test]
fn the_summary_is_made_of_our_own_elements() {
    let page = reported(&hostile(), Aim::Certify, markdown::summary);
    let mut tags = Vec::new();
    for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
        match event {
            Event::Html(tag) | Event::InlineHtml(tag) => tags.push(tag.into_string()),
            Event::Start(
                Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::CodeBlock(_),
            )
            | Event::Code(_) => {
                panic!("{event:?} is not ours")
            }
            _ => {}
        }
    }
    let names = |tag: &String| -> Vec<String> {
        tag.split('<')
            .skip(1)
            .map(|rest| {
                rest.chars()
                    .take_while(|letter| letter.is_alphanumeric() || *letter == '/')
                    .collect()
            })
            .collect()
    };
    let mut names: Vec<String> = tags.iter().flat_map(names).collect();
    names.sort();
    names.dedup();
    assert_eq!(
        names,
        ["/code", "/details", "/pre", "/summary", "code", "details", "pre", "summary"]
    );
    // One row for each contract and broken promise; an injected line would add one.
    let rows = page.lines().filter(|line| line.starts_with("| <code>")).count();
    assert_eq!(rows, 2 + 1, "{page}");
    let commands = |line: &str| line.trim_start().starts_with("::");
    assert!(!page.lines().filter(|line| !line.starts_with("  ")).any(commands), "{page}");
}

#[test]
fn a_summary_is_never_larger_than_github_takes() {
    let mut many = hostile();
    let long = "<".repeat(15_000);
    if let Verdict::Failed { failure } = &mut many.results[0].verdict {
        failure.stderr = vec![long; 40];
    }
    let failure = many.results[0].verdict.clone();
    many.results.iter_mut().for_each(|result| result.verdict = failure.clone());
    let page = reported(&many, Aim::Run, markdown::summary);
    assert!(page.len() < 1024 * 1024, "{}", page.len());
    assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
}

#[test]
fn the_page_shows_a_subjects_output_only_as_text() {
    let page = reported(&hostile(), Aim::Certify, html::page);
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;img src=x&gt;"));
    assert!(page.contains(r"\u202e") && !page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(!page.contains("http://") && !page.contains("https://"), "the page needs nobody");
}

#[test]
fn the_page_has_all_details() {
    let page = reported(&outcome(), Aim::Certify, html::page);
    for part in [
        "made-up 1.2.3: not certified",
        "badge bad\">not certified",
        "badge quiet\">not claimed",
        "0 of 1 claimed contract certified; 2 of 5 cases passed",
        "left-processes",
        "What DEMO-002 says.",
        "The text is silent.",
        "It would take a year.",
        "First difference at <code>$</code>",
        "<code>&quot;hello w<mark>u</mark>rld&quot;</code>",
        "secrets.get {&quot;key&quot;:&quot;A&quot;}",
        "warning: a typo ahead",
        "Calls before",
        "proofmark run --case demo/greet/breaks --suite 'my suite' -- node my-adapter.mjs",
    ] {
        assert!(page.contains(part), "`{part}` is not on the page:\n{page}");
    }
    assert_eq!(
        page,
        reported(&outcome(), Aim::Certify, html::page),
        "the same run, the same bytes"
    );
}

/// A subject may fail everything at length; a browser must still open the page.
#[test]
fn one_failure_adds_a_bounded_size() {
    let size = |length: usize| {
        let mut outcome = outcome();
        if let Verdict::Failed { failure } = &mut outcome.results[0].verdict {
            let long = Value::from("x".repeat(length));
            failure.got = Some(long.clone());
            failure.message = "y".repeat(length);
            failure.stderr = vec!["z".repeat(length); 500];
            let exchange = failure.transcript[0].clone();
            failure.transcript = vec![exchange; 500];
            failure.transcript.iter_mut().for_each(|one| one.outcome = long.clone());
        }
        reported(&outcome, Aim::Run, html::page).len()
    };
    let (some, more) = (size(5_000), size(15_000));
    assert!(more - some < 200, "{some} and {more}: only the number of what was left out may grow");
    assert!(more < 100_000, "{more}");
}

/// Text has a contrast of at least 4.5 to 1.
#[test]
fn colours_have_contrast_in_light_in_dark_and_on_paper() {
    let style = include_str!("../src/html/page.css");
    let blocks: Vec<&str> = style
        .split(":root {")
        .skip(1)
        .map(|rest| rest.split('}').next().unwrap_or_default())
        .collect();
    assert_eq!(blocks.len(), 3, "light, dark, paper");
    for block in blocks {
        let colour = |name: &str| {
            let (_, rest) = block
                .split_once(&format!("--{name}: #"))
                .unwrap_or_else(|| panic!("--{name} is missing in {block}"));
            let part = |at: usize| {
                f64::from(u8::from_str_radix(&rest[at..at + 2], 16).expect("hex")) / 255.0
            };
            let linear = |part: f64| {
                if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
        };
        for (letters, behind) in [
            ("ink", "ground"),
            ("ink", "paper"),
            ("ink", "code"),
            ("ink", "mark"),
            ("ink", "bad-ground"),
            ("ink", "quiet-ground"),
            ("quiet", "ground"),
            ("quiet", "paper"),
            ("quiet", "quiet-ground"),
            ("link", "paper"),
            ("link", "ground"),
            ("good", "good-ground"),
            ("good", "paper"),
            ("bad", "bad-ground"),
            ("bad", "paper"),
            ("warn", "warn-ground"),
        ] {
            let (a, b) = (colour(letters), colour(behind));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{letters} on {behind}: {contrast:.2}");
        }
    }
}

/// Running one shard, or a few cases, is not a refusal.
#[test]
fn a_passing_part_is_not_a_refusal() {
    let mut outcome = flawless();
    outcome.results.truncate(1);
    let shown = |aim| {
        reported(&outcome, aim, |report| {
            format!("{}{}", markdown::summary(report), html::page(report))
        })
    };
    assert!(shown(Aim::Run).contains("not judged: a part of its cases"));
    assert!(!shown(Aim::Run).contains("not certified"), "{}", shown(Aim::Run));
    assert!(shown(Aim::Certify).contains("❌ not certified"));
}
