//! Validates chronicle paths. Nothing here touches the disk.

use sage_errors::{Detail, SageError};

/// The extension of every chronicle.
const ENDING: &str = ".sage";

const EXPECTED: &str =
    "a relative POSIX path inside the workspace that ends in `.sage`, such as `src/Foo.ts.sage`";

/// A checked chronicle path: POSIX, relative to the workspace root, ending in `.sage`.
///
/// A `.` segment is legal and means nothing. A name that is nothing but the ending is refused, since
/// a file of that name would stand where the folder `.sage/` goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChroniclePath {
    given: String,
    /// `None` if it equals the given text.
    normal: Option<String>,
}

impl ChroniclePath {
    /// # Errors
    /// `EVALIDATION` with one detail, whose field is `path`.
    pub fn parse(text: &str) -> Result<Self, SageError> {
        Self::check(text).map_err(|fault| SageError::validation(*fault))
    }

    /// Like [`Self::parse`], for callers that collect the faults of several arguments.
    pub(crate) fn check(text: &str) -> Result<Self, Box<Detail>> {
        let refuse = |reason: &str| {
            Err(Box::new(Detail::new("path", reason).received(text).expected(EXPECTED)))
        };
        if text.is_empty() {
            return refuse("is empty");
        }
        if text.as_bytes().contains(&0) {
            return refuse("holds a NUL character");
        }
        if text.as_bytes().contains(&b'\\') {
            return refuse("holds a backslash; segments are separated by `/`");
        }
        if text.starts_with('/') {
            return refuse("is absolute");
        }
        let mut has_dots = false;
        for segment in text.split('/') {
            match segment {
                "" => return refuse("has an empty segment"),
                ".." => return refuse("has a `..` segment"),
                "." => has_dots = true,
                _ => {}
            }
        }
        // The text's own ending counts, so that `a.sage/.` is not taken for `a.sage`.
        let name = text.rsplit('/').next().unwrap_or(text);
        match name.strip_suffix(ENDING) {
            None => refuse("does not end in `.sage`"),
            Some("") => refuse("has no name before `.sage`"),
            Some(_) => {
                let named = || text.split('/').filter(|segment| *segment != ".");
                let normal = has_dots.then(|| named().collect::<Vec<_>>().join("/"));
                Ok(Self { given: text.to_owned(), normal })
            }
        }
    }

    /// As the caller wrote it, for errors.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Without `.` segments, so that two spellings of one path are equal.
    pub fn normal(&self) -> &str {
        self.normal.as_deref().unwrap_or(&self.given)
    }

    pub(crate) fn into_normal(self) -> String {
        self.normal.unwrap_or(self.given)
    }

    /// The folders on the way from the workspace root to the chronicle.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.normal().match_indices('/').map(|(end, _)| &self.normal()[..end])
    }

    /// The folder that the chronicle lies in, unless that is the workspace root.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.normal().rsplit_once('/').map(|(parent, _)| parent)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("src/Foo.ts.sage", "src/Foo.ts.sage")]
    #[case(".sage/warden.dev.sage", ".sage/warden.dev.sage")]
    #[case("a.sage", "a.sage")]
    #[case("a..b.sage", "a..b.sage")]
    #[case("…/ключ.sage", "…/ключ.sage")]
    #[case("./a.sage", "a.sage")]
    #[case("x/./a.sage", "x/a.sage")]
    fn a_legal_path(#[case] text: &str, #[case] normal: &str) {
        assert_eq!(ChroniclePath::parse(text).unwrap().normal(), normal);
    }

    #[rstest]
    #[case("")]
    #[case("a.txt")]
    #[case("a.SAGE")]
    #[case("a.sage ")]
    #[case("sage")]
    #[case(".sage")]
    #[case("x/.sage")]
    #[case("a.sage/")]
    #[case("a.sage/.")]
    #[case("/a.sage")]
    #[case("//a.sage")]
    #[case("x//a.sage")]
    #[case("..")]
    #[case("../a.sage")]
    #[case("x/../a.sage")]
    #[case("x/..")]
    #[case("x\\a.sage")]
    #[case("..\\a.sage")]
    #[case("a\0.sage")]
    fn an_illegal_path(#[case] text: &str) {
        let error = ChroniclePath::parse(text).unwrap_err();
        assert_eq!(error.code(), "EVALIDATION");
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["details"][0]["field"], "path");
        assert_eq!(json["details"][0]["received"], text);
    }
}
