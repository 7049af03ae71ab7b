//! Servers whose pages overlap or leave gaps, or whose lists are wrong.

use agent_common::Real;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{items_mut, show_all, succeeded, with, without};
use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "repeats-an-item",
        "a page begins with the last item of the page before",
        // Pages at the end and capped pages also begin at an offset.
        &["COMMON-069", "COMMON-076", "COMMON-077"],
        &Bent(|server| {
            server.around(|tool, args, real| shifted(tool, args, real, |offset| offset - 1))
        }),
    ),
    Adversary::server_saboteur(
        "skips-an-item",
        "between two pages an item is lost", // Pages at the end and capped pages also begin at an offset.
        &["COMMON-069", "COMMON-076", "COMMON-077"],
        &Bent(|server| {
            server.around(|tool, args, real| shifted(tool, args, real, |offset| offset + 1))
        }),
    ),
    Adversary::server_saboteur(
        "ends-pages-in-silence",
        "a list that limit cut does not say so",
        // With two limits, the answer names the one that cut.
        &["COMMON-070", "COMMON-076", "COMMON-077"],
        &Bent(|server| server.around(ends_pages_in_silence)),
    ),
    Adversary::server_saboteur(
        "pages-before-it-filters",
        "of a page of all tasks those of the plan are shown",
        &["COMMON-069", "COMMON-077"],
        &Bent(|server| server.around(pages_before_it_filters)),
    ),
    Adversary::server_saboteur(
        "forgets-the-commas",
        "max_chars counts the items of a list, and not what stands between them",
        &["COMMON-066", "COMMON-076"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                capped(tool, args, real, |left, item| {
                    let fits = item.len() <= *left;
                    *left = left.saturating_sub(item.len());
                    if fits { Fits::Shown } else { Fits::End }
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "leaves-out-the-largest",
        "max_chars leaves out what does not fit, and shows smaller ones that come later",
        &["COMMON-076"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                capped(tool, args, real, |left, item| {
                    // Each item is followed by a bracket or a comma, and a bracket precedes the list.
                    if item.len() + 1 < *left {
                        *left -= item.len() + 1;
                        return Fits::Shown;
                    }
                    Fits::LeftOut
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "lists-what-is-open",
        "conflicts that are resolved are not in the list",
        &["COMMON-108"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let mut answer = real(tool, args);
                if tool == "graph_conflict_list" && succeeded(&answer) {
                    let mut items = items_mut(&mut answer, "items").to_vec();
                    let all = items.len();
                    items.retain(|conflict| conflict["status"] == "open");
                    if items.len() < all {
                        show_all(&mut answer, items);
                    }
                }
                answer
            })
        }),
    ),
];

fn shifted(tool: &str, args: &Value, real: Real<'_>, to: impl Fn(u64) -> u64) -> Value {
    match args.get("offset").and_then(Value::as_u64) {
        Some(offset) if offset > 0 => real(tool, &with(args, "offset", to(offset))),
        _ => real(tool, args),
    }
}

fn ends_pages_in_silence(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let shown = answer["result"]["items"].as_array().map(Vec::len);
    // If max_chars cut, `used` is a number of bytes.
    if shown.is_some() && answer["result"]["budget"]["used"] == json!(shown) {
        answer["result"]["truncated"] = json!(false);
        answer["result"] = without(&answer["result"], &["budget"]);
    }
    answer
}

fn pages_before_it_filters(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let right = real(tool, args);
    if tool != "tasks_list" || args.get("plan").is_none() || !succeeded(&right) {
        return right;
    }
    let mut answer = real(tool, &without(args, &["plan"]));
    if let Some(items) = answer["result"]["items"].as_array_mut() {
        items.retain(|task| task["plan"] == args["plan"]);
    }
    answer
}

/// What to do with an item.
pub(super) enum Fits {
    Shown,
    LeftOut,
    End,
}

/// A list under max_chars, by the saboteur's own count: `fits` gets the number of bytes left and the item as compact
/// JSON.
pub(super) fn capped(
    tool: &str,
    args: &Value,
    real: Real<'_>,
    fits: impl Fn(&mut usize, &str) -> Fits,
) -> Value {
    let right = real(tool, args);
    let most = args.get("max_chars").and_then(Value::as_u64);
    let most = most.and_then(|most| usize::try_from(most).ok());
    let (Some(most), true) = (most, tool.ends_with("_list") && succeeded(&right)) else {
        return right;
    };
    let mut answer = real(tool, &without(args, &["max_chars"]));
    let all = items_mut(&mut answer, "items").to_vec();
    let mut left = most;
    let mut shown = Vec::new();
    for item in &all {
        match fits(&mut left, &item.to_string()) {
            Fits::Shown => shown.push(item.clone()),
            Fits::LeftOut => {}
            Fits::End => break,
        }
    }
    if shown.len() < all.len() {
        let used = json!(shown).to_string().len();
        answer["result"]["items"] = json!(shown);
        answer["result"]["truncated"] = json!(true);
        answer["result"]["budget"] = json!({ "used": used, "limit": most });
    }
    answer
}
