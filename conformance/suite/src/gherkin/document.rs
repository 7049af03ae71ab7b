//! The content of a feature file: every scenario with its tags, background and steps.

use cucumber::gherkin::StepType;

use proofmark_judge::problem::Span;

/// A scenario, or one row of an outline.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// Of the scenario's title, or of the row.
    pub(super) at: Span,
    /// The line of the scenario's title.
    pub(super) title: usize,
    pub(super) name: String,
    /// Those of the feature, the rule, the scenario and the examples, in this order.
    pub(super) tags: Vec<Tag>,
    /// Those that stand right above the scenario.
    pub(super) own_tags: Vec<Tag>,
    /// Those of the backgrounds come first.
    pub(super) steps: Vec<Step>,
    /// How many rows the outline has, if it is one of them.
    pub(super) rows: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) at: Span,
    /// Without the `@`.
    pub(super) name: String,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) at: Span,
    /// As written, with the space after it.
    pub(super) keyword: String,
    /// What it may be; nothing said means: like the step before it.
    pub(super) kinds: Vec<StepType>,
    pub(super) text: String,
    pub(super) doc_string: Option<DocString>,
    pub(super) table: Option<Vec<Vec<String>>>,
}

#[derive(Debug, Clone)]
pub(super) struct DocString {
    /// What follows the opening quotes, such as `json`.
    pub(super) media_type: String,
    /// Whole lines: each ends in a line end.
    pub(super) text: String,
    /// The line under the opening quotes.
    pub(super) line: usize,
    /// So many characters are missing at the start of each line.
    pub(super) margin: usize,
}

/// A line of text that may be a slip: what stands where a first step could.
#[derive(Debug, Clone)]
pub(super) struct Remark {
    pub(super) at: Span,
    pub(super) text: String,
}
