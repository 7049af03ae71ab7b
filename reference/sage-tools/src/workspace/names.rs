//! Validates the paths of tools, and reserves the names of chronicles. Nothing here touches the disk.

use unicode_normalization::UnicodeNormalization as _;

/// The folder of the chronicles.
pub(super) const PROTECTED: &str = ".sage";

/// Longer than any file system allows.
const LONGEST: usize = 4096;

/// Why a text is not a path of a file in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It leads out, or may.
    Outside,
    TooLong,
    /// It ends in `/` or `.`, so it can only be a folder.
    Folder,
}

/// The names on the way to the file, without `.` and empty ones.
///
/// A `..` is refused even where it would stay inside: where it leads depends on links.
pub(super) fn parse(path: &str) -> Result<Vec<&str>, Refusal> {
    if path.len() > LONGEST {
        return Err(Refusal::TooLong);
    }
    // Elsewhere a backslash separates too.
    if path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|name| name == "..") {
        return Err(Refusal::Outside);
    }
    if matches!(path.rsplit('/').next(), Some("" | ".")) {
        return Err(Refusal::Folder);
    }
    Ok(path.split('/').filter(|name| !matches!(*name, "" | ".")).collect())
}

/// Whether some file system would treat `name` as `.sage`: one that ignores case, normalises, drops invisible
/// characters, or drops dots and spaces at the end.
pub(super) fn is_protected(name: &str) -> bool {
    name.split('\\').any(|part| {
        let folded: String = part
            .nfkc()
            .filter(|c| !is_ignorable(*c))
            .flat_map(char::to_lowercase)
            .nfkc()
            .filter(|c| !is_ignorable(*c))
            .collect();
        // On NTFS `.sage:x` is a stream of `.sage`, and `sage~1` its short name.
        let stem = folded.split(':').next().unwrap_or_default();
        let stem = stem.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
        stem == PROTECTED || is_short_name(stem)
    })
}

fn is_short_name(stem: &str) -> bool {
    stem.strip_prefix("sage~")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Unicode's default ignorable code points, and control characters.
fn is_ignorable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a", &["a"])]
    #[case("a/b.txt", &["a", "b.txt"])]
    #[case("./a//b/./c", &["a", "b", "c"])]
    #[case("a..b/...", &["a..b", "..."])]
    #[case("ключ", &["ключ"])]
    fn a_path(#[case] text: &str, #[case] names: &[&str]) {
        assert_eq!(parse(text).unwrap(), names);
    }

    #[rstest]
    #[case("/a", Refusal::Outside)]
    #[case("//a", Refusal::Outside)]
    #[case("..", Refusal::Outside)]
    #[case("a/../b", Refusal::Outside)]
    #[case("..\\a", Refusal::Outside)]
    #[case("\\a", Refusal::Outside)]
    #[case("a/", Refusal::Folder)]
    #[case(".", Refusal::Folder)]
    #[case("a/.", Refusal::Folder)]
    fn no_path(#[case] text: &str, #[case] refusal: Refusal) {
        assert_eq!(parse(text).unwrap_err(), refusal);
        assert_eq!(parse(&"a/".repeat(3000)).unwrap_err(), Refusal::TooLong);
    }

    #[rstest]
    fn a_name_of_the_chronicles(
        #[values(
            ".sage",
            ".SAGE",
            ".Sage",
            ".sage.",
            ".sage..",
            ".sage ",
            ".sage. .",
            ".s\u{200c}age",
            "\u{feff}.sage",
            ".\u{ff53}age",
            "\u{ff0e}sage",
            ".\u{ff33}\u{ff21}\u{ff27}\u{ff25}",
            ".\u{17f}age",
            ".sage::$DATA",
            ".sage:x",
            "SAGE~1",
            "sage~12",
            ".sag\u{ad}e",
            ".sage\u{3000}",
            ".sage\\x",
            "x\\.sage",
            ".sage\u{7f}",
            "\u{2024}sage",
            ".\u{1d42c}age",
            ".sag\u{e0067}e"
        )]
        name: &str,
    ) {
        assert!(is_protected(name));
    }

    #[rstest]
    fn another_name(
        #[values("sage", "a.sage", ".sages", ".sag", "..sage", ".sage.txt", ".sagé", "sage~", "x")]
        name: &str,
    ) {
        assert!(!is_protected(name));
    }
}
