//! Compares our parser with Cucumber's own on a corpus of Gherkin forms (`tests/gherkin/oracle.py`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::{Scenario, Step};
use super::parse::read;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gherkin")
}

fn as_oracle(scenario: &Scenario) -> Value {
    let step = |step: &Step| {
        let mut value = json!({ "text": step.text });
        if let Some(doc) = &step.doc_string {
            // Our doc strings are whole lines; Cucumber's have no newline after the last.
            let content = doc.text.strip_suffix('\n').unwrap_or(&doc.text);
            value["docString"] = json!({ "mediaType": doc.media_type, "content": content });
        }
        if let Some(table) = &step.table {
            value["table"] = json!(table);
        }
        value
    };
    let tags: Vec<String> = scenario.tags.iter().map(|tag| format!("@{}", tag.name)).collect();
    let steps: Vec<Value> = scenario.steps.iter().map(step).collect();
    json!({ "name": scenario.name, "tags": tags, "steps": steps, "line": scenario.at.line })
}

#[test]
fn every_form_is_read_as_cucumber_reads_it() {
    let mut forms = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder()).expect("the corpus is there") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|end| end != "feature") {
            continue;
        }
        forms += 1;
        let text = fs::read_to_string(&path).expect("a feature is text");
        let golden = fs::read_to_string(path.with_extension("json")).expect("it has a golden");
        let golden: Value = serde_json::from_str(&golden).expect("a golden is JSON");
        let found = read(&text);
        let scenario: Value = found.scenarios.iter().map(as_oracle).collect();
        if !found.wrong.is_empty() || scenario != golden {
            wrong.push(format!(
                "{}: {:#?}\n{scenario:#}\nis not\n{golden:#}",
                path.display(),
                found.wrong
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(forms >= 20, "{forms} forms only");
}
