//! What Rust code adds to the files of a suite. Each contract's room has some; an author's own suite needs none.

use proofmark_fakes::host::FakeKind;

use crate::gherkin::vocabulary::VocabularyStep;
use proofmark_judge::law::Law;

/// Laws, fakes, and steps beyond the general ones.
#[derive(Debug, Clone, Default)]
pub struct Extensions {
    pub laws: Vec<&'static Law>,
    pub steps: Vec<&'static VocabularyStep>,
    /// Fakes that cases can ask for.
    pub fakes: Vec<&'static FakeKind>,
}
