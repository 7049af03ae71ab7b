//! The styles in use. Output is readable without them.

use anstyle::{AnsiColor, Style};

pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const QUIET: Style = AnsiColor::BrightBlack.on_default();
pub const STRONG: Style = Style::new().bold();

/// `text` in a style; the writer strips it if the output is a pipe.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
