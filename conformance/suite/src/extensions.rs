//! What Rust code adds to the files of a suite. Contract rooms use this; an author's own suite needs none.

use proofmark_fakes::host::FakeKind;

use crate::gherkin::vocabulary::VocabularyStep;
use proofmark_judge::law::Law;

/// Laws, fakes, and steps beyond the general ones.
#[derive(Debug, Clone, Default)]
pub struct Extensions {
    pub laws: Vec<&'static Law>,
    pub steps: Vec<&'static VocabularyStep>,
    /// The fakes that cases can use.
    pub fakes: Vec<&'static FakeKind>,
}
