//! Sections of a contract's text. A ledger pins the hash of each section that its requirements cite. If the text
//! changes, the pins show which promises, cases and subjects are affected. The text itself is not part of a suite.
//!
//! A **section** is a heading and everything up to the next heading of any level. A heading is a line that begins
//! with one to six `#` and a space, or a line that is entirely bold (`**Like this**`), outside fenced code. A
//! section's **hash** is `sha256:` and the hex SHA-256 of its lines, heading included, with each run of white space
//! replaced by one space and trimmed at both ends.
//!
//! A section's **name** is a path of headings, separated by `, `: `@sage/chronicle, Behavioral Rules`. Each part is a
//! heading below the previous one: its full title without backticks, or the title up to ` (`, ` - ` or ` — `. A
//! `source` cites sections, separated by `; `. After a section's name and in parentheses it may say more
//! (`@sage/chronicle, Behavioral Rules, Locking (per file)`). A citation may omit the part that it shares with the
//! previous one (`@sage/chronicle, Acceptance; Behavioral Rules`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sha2::{Digest as _, Sha256};
use toml::Spanned;

/// A section of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading's line, from 1.
    pub line: usize,
    level: usize,
    title: String,
    /// `sha256:…`
    pub hash: String,
}

/// The sections of a text, in its order.
#[derive(Debug)]
pub struct Sections(Vec<Section>);

/// Section names and hashes from a ledger.
pub type Pins = BTreeMap<String, String>;

/// How the pinned sections changed in another version of the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub changed: BTreeSet<String>,
    pub gone: BTreeSet<String>,
}

impl Sections {
    pub fn of(text: &str) -> Self {
        let mut sections: Vec<(Section, String)> = Vec::new();
        let mut fence: Option<&str> = None;
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let written = line.trim();
            let mark = ["```", "~~~"].into_iter().find(|mark| written.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                _ => {}
            }
            if let Some((level, title)) = heading(line).filter(|_| fence.is_none()) {
                let section = Section { line: index + 1, level, title, hash: String::new() };
                sections.push((section, String::new()));
            }
            if let Some((_, body)) = sections.last_mut() {
                body.push_str(line);
                body.push('\n');
            }
        }
        let hashed = |(section, body): (Section, String)| Section { hash: hash(&body), ..section };
        Self(sections.into_iter().map(hashed).collect())
    }

    /// The section with this name; the first, if there are several.
    pub fn named(&self, name: &str) -> Option<&Section> {
        let parts: Vec<&str> = name.split(", ").collect();
        self.find(&parts).map(|at| &self.0[at])
    }

    /// The lines of all headings that match this name; [`Self::named`] takes the first.
    pub fn lines_named(&self, name: &str) -> Vec<usize> {
        let parts: Vec<&str> = name.split(", ").collect();
        let meant = self.meant(0..self.0.len(), &parts);
        meant.into_iter().map(|at| self.0[at].line).collect()
    }

    /// The headings in this range that match the parts, each below the previous one.
    fn meant(&self, among: Range<usize>, parts: &[&str]) -> Vec<usize> {
        // A heading may contain a comma.
        let all = (1..=parts.len()).rev().map(|taken| {
            let title = parts[..taken].join(", ");
            let fits = among.clone().filter(|at| is_called(&self.0[*at].title, &title));
            let below = fits.flat_map(|at| match &parts[taken..] {
                [] => vec![at],
                rest => self.meant(at + 1..self.end_of(at), rest),
            });
            below.collect::<Vec<usize>>()
        });
        all.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The first section that is not below this one.
    fn end_of(&self, at: usize) -> usize {
        let level = self.0[at].level;
        let deeper = self.0[at + 1..].iter().take_while(|section| section.level > level);
        at + 1 + deeper.count()
    }

    fn find(&self, parts: &[&str]) -> Option<usize> {
        self.meant(0..self.0.len(), parts).first().copied()
    }

    /// The names of the sections that a source cites, each as deep as the text has headings. A citation that matches
    /// no heading is an error.
    pub fn cited<'a>(&self, source: &'a str) -> Vec<Result<String, &'a str>> {
        let mut before: Vec<String> = Vec::new();
        let mut names = Vec::new();
        for citation in citations(source) {
            let whole = plain(citation);
            let parts: Vec<String> = whole.split(", ").map(str::to_owned).collect();
            let found = (0..=before.len()).rev().find_map(|kept| {
                let whole: Vec<String> = before[..kept].iter().chain(&parts).cloned().collect();
                let mut deepest = (kept + 1..=whole.len()).rev();
                let depth = deepest.find(|depth| {
                    let name: Vec<&str> = whole[..*depth].iter().map(String::as_str).collect();
                    self.find(&name).is_some()
                });
                depth.map(|depth| whole[..depth].to_vec())
            });
            match found {
                Some(name) => {
                    names.push(Ok(name.join(", ")));
                    before = name;
                }
                None => names.push(Err(citation)),
            }
        }
        names
    }

    /// Compares the pins of a ledger with this version of the text.
    pub fn changes(&self, pins: &Pins) -> Changes {
        let mut changes = Changes::default();
        for (name, hash) in pins {
            match self.named(name) {
                None => changes.gone.insert(name.clone()),
                Some(section) if section.hash != *hash => changes.changed.insert(name.clone()),
                Some(_) => false,
            };
        }
        changes
    }

    /// Title and line of the sections that none of these names matches.
    pub fn beside<'a>(&'a self, names: &[&str]) -> impl Iterator<Item = (&'a str, usize)> {
        let meant: BTreeSet<usize> =
            names.iter().filter_map(|name| self.named(name)).map(|section| section.line).collect();
        self.0
            .iter()
            .filter(move |section| !meant.contains(&section.line))
            .map(|section| (section.title.as_str(), section.line))
    }
}

/// The pinned sections that a source cites: for each citation, the longest pin that it begins with.
pub fn pins_of<'a>(pins: &[&'a str], source: &str) -> Vec<Option<&'a str>> {
    let mut before: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for citation in citations(source) {
        let citation = plain(citation);
        let pin = (0..=before.len()).rev().find_map(|kept| {
            let mut whole = before[..kept].to_vec();
            whole.push(&citation);
            let whole = whole.join(", ");
            let begins = |pin: &&&str| {
                let rest = whole.strip_prefix(**pin);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
                    && pin.split(", ").count() > kept
            };
            pins.iter().filter(begins).max_by_key(|pin| pin.len()).copied()
        });
        if let Some(pin) = pin {
            before = pin.split(", ").collect();
        }
        found.push(pin);
    }
    found
}

/// The single citations of a source.
pub fn citations(source: &str) -> impl Iterator<Item = &str> {
    source.split("; ").map(str::trim)
}

/// The citation without its parentheses.
pub fn plain(citation: &str) -> String {
    let mut out = String::with_capacity(citation.len());
    let mut depth = 0_usize;
    for letter in citation.chars() {
        match letter {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out.replace(" ,", ",").trim_end().to_owned()
}

/// Every source must cite a pinned section, and every pin must be cited.
pub(crate) fn check_pins<'a>(
    pins: &BTreeMap<Spanned<String>, Spanned<String>>,
    sources: impl Iterator<Item = &'a Spanned<String>>,
) -> Vec<(Range<usize>, String)> {
    const FIX: &str = "`proofmark trace --text FILE --pin` writes the pins";
    let names: Vec<&str> = pins.keys().map(|name| name.get_ref().as_str()).collect();
    let mut used = BTreeSet::new();
    let mut wrong = Vec::new();
    for source in sources {
        let cited = pins_of(&names, source.get_ref());
        for (citation, pin) in citations(source.get_ref()).zip(cited) {
            match pin {
                Some(pin) => {
                    used.insert(pin);
                }
                None => wrong.push((
                    source.span(),
                    format!("the source cites `{citation}`, which is not a pinned section; {FIX}"),
                )),
            }
        }
    }
    for (name, hash) in pins {
        if !used.contains(name.get_ref().as_str()) {
            wrong.push((
                name.span(),
                format!("no source cites the pinned section `{}`; {FIX}", name.get_ref()),
            ));
        }
        let digits = hash.get_ref().strip_prefix("sha256:").unwrap_or_default();
        if digits.len() != 64
            || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            wrong.push((
                hash.span(),
                format!("a pin must be `sha256:` and 64 lower-case hex digits; {FIX}"),
            ));
        }
    }
    wrong
}

/// Level and title. A bold line ranks below every heading.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && line[level..].starts_with(' ') {
        return Some((level, line[level..].trim().trim_end_matches('#').trim().replace('`', "")));
    }
    let bold = line.trim().strip_prefix("**")?.strip_suffix("**")?;
    (!bold.is_empty() && !bold.contains('*')).then(|| (7, bold.trim().replace('`', "")))
}

/// Whether a citation may use this name for the heading.
fn is_called(title: &str, name: &str) -> bool {
    let further = title.strip_prefix(name);
    further.is_some_and(|rest| {
        rest.is_empty() || [" (", " - ", " — "].iter().any(|mark| rest.starts_with(mark))
    })
}

fn hash(body: &str) -> String {
    let normal = body.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("sha256:{}", hex::encode(Sha256::digest(normal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Top\n\n**Rules for all**\n\n- a\n\n## @x/one (First)\nintro\n\n```sh\n# no heading\n```\n### Rules\n- b\n## @x/two\n### Rules\n- c\n### `EIO` - Trouble\n";

    fn cited(source: &str) -> Vec<Result<String, &str>> {
        Sections::of(TEXT).cited(source)
    }

    #[test]
    fn a_citation_is_as_deep_as_the_headings() {
        let name = |name: &str| Ok(name.to_owned());
        assert_eq!(cited("@x/one, Rules, the first (of all)"), [name("@x/one, Rules")]);
        assert_eq!(cited("@x/two, Rules; EIO, path"), [name("@x/two, Rules"), name("@x/two, EIO")]);
        assert_eq!(cited("@x/one, introduction"), [name("@x/one")]);
        assert_eq!(cited("Rules for all, a"), [name("Rules for all")]);
        assert_eq!(cited("Nowhere, x"), [Err("Nowhere, x")]);
    }

    #[test]
    fn all_headings_with_a_name_are_found() {
        let lines = |name: &str| Sections::of(TEXT).lines_named(name);
        assert_eq!(lines("Rules"), [13, 16]);
        assert_eq!(lines("@x/two, Rules"), [16]);
        assert!(lines("Nowhere").is_empty());
    }

    #[test]
    fn only_changes_beyond_white_space_count() {
        let pins: Pins = ["@x/one", "@x/one, Rules", "@x/two, Rules", "@x/two, EIO"]
            .into_iter()
            .filter_map(|name| {
                Some((name.to_owned(), Sections::of(TEXT).named(name)?.hash.clone()))
            })
            .collect();
        assert_eq!(pins.len(), 4);
        let wider = TEXT.replace("- b\n", "-   b\r\n\n\n");
        assert_eq!(Sections::of(&wider).changes(&pins), Changes::default());
        let other = TEXT.replace("- c", "- d").replace("### `EIO` - Trouble\n", "");
        let changes = Sections::of(&other).changes(&pins);
        assert_eq!(changes.changed, BTreeSet::from(["@x/two, Rules".to_owned()]));
        assert_eq!(changes.gone, BTreeSet::from(["@x/two, EIO".to_owned()]));
        let beside: Vec<_> = Sections::of(TEXT)
            .beside(&["@x/one, Rules", "@x/two, EIO"])
            .map(|(title, _)| title.to_owned())
            .collect();
        assert_eq!(beside, ["Top", "Rules for all", "@x/one (First)", "@x/two", "Rules"]);
    }

    #[test]
    fn a_citation_matches_the_longest_pin() {
        let pins = ["@x/one", "@x/one, Rules", "@x/two, Rules"];
        assert_eq!(
            pins_of(&pins, "@x/one (First), x; Rules (all, of them); @x/two, Rules, c; @x/twofold"),
            [Some("@x/one"), Some("@x/one, Rules"), Some("@x/two, Rules"), None]
        );
    }
}
