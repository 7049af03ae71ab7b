//! The content of a feature file: every scenario with its tags, background and steps.

use cucumber::gherkin::StepType;

use proofmark_judge::problem::Span;

/// A scenario, or one row of an outline.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// The position of the scenario's title, or of the row.
    pub(super) at: Span,
    /// The line of the scenario's title.
    pub(super) title: usize,
    pub(super) name: String,
    /// The tags of the feature, the rule, the scenario and the examples, in this order.
    pub(super) tags: Vec<Tag>,
    /// The tags directly above the scenario.
    pub(super) own_tags: Vec<Tag>,
    /// Steps of the backgrounds come first.
    pub(super) steps: Vec<Step>,
    /// The number of rows, if this is a row of an outline.
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
    /// The possible kinds; empty means the kind of the step before it.
    pub(super) kinds: Vec<StepType>,
    pub(super) in_background: bool,
    pub(super) text: String,
    pub(super) doc_string: Option<DocString>,
    pub(super) table: Option<Vec<Vec<String>>>,
}

#[derive(Debug, Clone)]
pub(super) struct DocString {
    /// The word after the opening quotes, such as `json`.
    pub(super) media_type: String,
    /// Whole lines: each ends in a newline.
    pub(super) text: String,
    /// The line below the opening quotes.
    pub(super) line: usize,
    /// The number of characters removed from the start of each line.
    pub(super) margin: usize,
}

/// A line of description that may be a misspelt step.
#[derive(Debug, Clone)]
pub(super) struct Remark {
    pub(super) at: Span,
    pub(super) text: String,
}
