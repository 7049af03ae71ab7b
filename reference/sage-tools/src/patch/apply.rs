//! Finds where the hunks of a patch fit, and applies them.

use super::{Hunk, Kind, Line, Patch, Side};

/// Limit of line comparisons to place a patch's hunks. A patch that comes near it fits nearly everywhere, or names
/// places far from any match.
const MOST_WORK: usize = 50_000_000;

/// A file with a patch applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) content: Vec<u8>,
    /// The patch with the actual positions of its hunks.
    pub(crate) diff: String,
}

impl Patch {
    /// Applies all hunks, or none.
    ///
    /// # Errors
    /// Names the hunk that does not fit.
    pub(crate) fn apply(&self, content: &[u8], file: &str) -> Result<Applied, String> {
        let mut image: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let mut diff = Vec::new();
        self.write_header(file, &mut diff);
        // Lines before this one belong to earlier hunks.
        let mut done = 0;
        let mut shift = 0;
        let mut work = 0;
        for (number, hunk) in self.hunks.iter().enumerate() {
            let at = hunk.place(&image, done, &mut work).ok_or_else(|| {
                let why = if work > MOST_WORK { "cannot be placed" } else { "does not fit" };
                format!("{why}: hunk {} (`-{}`)", number + 1, hunk.old_start)
            })?;
            let (old, new) = (hunk.side(Side::Old), hunk.side(Side::New));
            hunk.write(at, shift, &mut diff);
            shift += signed(new.len()) - signed(old.len());
            done = at + new.len();
            image.splice(at..at + old.len(), new);
        }
        let unfinished = |line: &&[u8]| line.last() != Some(&b'\n');
        if image.len() > 1 && image[..image.len() - 1].iter().any(unfinished) {
            return Err("does not fit: it puts lines after one without a newline".to_owned());
        }
        let content = image.concat();
        if self.kind == Kind::Delete && !content.is_empty() {
            return Err("does not fit: it deletes the file, but leaves lines".to_owned());
        }
        Ok(Applied { content, diff: String::from_utf8_lossy(&diff).into_owned() })
    }

    fn write_header(&self, file: &str, out: &mut Vec<u8>) {
        let (old, new) = (format!("a/{file}"), format!("b/{file}"));
        let (old, new) = match self.kind {
            Kind::Change => (old.as_str(), new.as_str()),
            Kind::Create => ("/dev/null", new.as_str()),
            Kind::Delete => (old.as_str(), "/dev/null"),
        };
        out.extend_from_slice(format!("--- {old}\n+++ {new}\n").as_bytes());
    }
}

impl Hunk {
    /// The lines of one side, in order.
    fn side(&self, side: Side) -> Vec<&[u8]> {
        let of_side = |line: &&Line| line.side == Side::Both || line.side == side;
        self.lines.iter().filter(of_side).map(|line| line.text.as_slice()).collect()
    }

    /// The position of the old lines in `image`, at or after `done`: the nearest to the one in the hunk, and of two
    /// the later.
    fn place(&self, image: &[&[u8]], done: usize, work: &mut usize) -> Option<usize> {
        let old = self.side(Side::Old);
        if old.is_empty() {
            return self.insertion(image, done);
        }
        let last = image.len().checked_sub(old.len())?;
        let mut fits = |at: usize| {
            if at < done || at > last || *work > MOST_WORK {
                return false;
            }
            let same = image[at..].iter().zip(&old).take_while(|(line, old)| line == old).count();
            *work += same + 1;
            same == old.len()
        };
        // As in git: a hunk of the first line stands at the start, and one without context after it
        // at the end of the file. Without any context nothing is said.
        let is_context = |line: &Line| line.side == Side::Both;
        if self.lines.iter().any(is_context) {
            let (at_start, at_end) =
                (self.old_start <= 1, !self.lines.last().is_some_and(is_context));
            match (at_start, at_end) {
                (true, true) => return (last == 0 && fits(0)).then_some(0),
                (true, false) => return fits(0).then_some(0),
                (false, true) => return fits(last).then_some(last),
                (false, false) => {}
            }
        }
        let stated = self.new_start.saturating_sub(1).min(image.len());
        (0..=image.len()).find_map(|distance| {
            let (later, earlier) = (stated + distance, stated.checked_sub(distance));
            if fits(later) { Some(later) } else { earlier.filter(|at| fits(*at)) }
        })
    }

    /// Only the hunk's own numbers place pure additions.
    fn insertion(&self, image: &[&[u8]], done: usize) -> Option<usize> {
        // `-3,0` is after line 3; with what earlier hunks added, that is where the new lines begin.
        let at = self.new_start.saturating_sub(1);
        (at >= done && at <= image.len()).then_some(at)
    }

    fn write(&self, at: usize, shift: isize, out: &mut Vec<u8>) {
        let (old, new) = (self.side(Side::Old).len(), self.side(Side::New).len());
        let before = usize::try_from(signed(at) - shift).unwrap_or(0);
        let head = format!("@@ -{} +{} @@\n", range(before, old), range(at, new));
        out.extend_from_slice(head.as_bytes());
        for line in &self.lines {
            out.push(match line.side {
                Side::Both => b' ',
                Side::Old => b'-',
                Side::New => b'+',
            });
            out.extend_from_slice(&line.text);
            if line.text.last() != Some(&b'\n') {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
}

/// The lines of a hunk as its header counts them: none stand after the line before.
fn range(at: usize, count: usize) -> String {
    match count {
        0 => format!("{at},0"),
        1 => format!("{}", at + 1),
        _ => format!("{},{count}", at + 1),
    }
}

fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
