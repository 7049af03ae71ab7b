//! A text that came all at once, as a stream would have brought it.

/// Cuts a text into pieces, none of them empty, between characters.
pub(crate) struct Pieces {
    text: String,
    given: usize,
}

impl Pieces {
    const LONGEST: usize = 1024;

    pub(crate) fn new(text: String) -> Self {
        Self { text, given: 0 }
    }
}

impl Iterator for Pieces {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.given..];
        let piece = &rest[..rest.floor_char_boundary(Self::LONGEST)];
        self.given += piece.len();
        (!piece.is_empty()).then(|| piece.to_owned())
    }
}
