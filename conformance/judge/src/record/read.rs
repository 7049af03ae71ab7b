//! Reads and writes records. Strict: a record that this program would write differently is refused.

use serde::Deserialize;

use super::lines::{CaseLine, Header, Version};
use super::{FORMAT, Record};
use crate::verdict::NotExercised;

/// The size limit of a record.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Why bytes are not a record, or not one of this suite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("it says that laws were tried with 0 inputs; at least 1 is required")]
    NoInputs,
    #[error("it is larger than {MOST_BYTES} bytes, the limit for a transcript")]
    TooLarge,
    #[error("line {line} is not UTF-8 text")]
    NoText { line: usize },
    #[error("it is empty; a transcript begins with a line that says `\"format\":\"{FORMAT}\"`")]
    Empty,
    #[error("line 1 is not the header of a transcript: {fault}")]
    NoHeader { fault: String },
    #[error("its format is `{found}`; this program reads `{FORMAT}`")]
    OtherFormat { found: String },
    #[error("line {line} cannot be read: {fault}")]
    BadLine { line: usize, fault: String },
    #[error("line {line} is not in canonical form; it was changed, or another program wrote it")]
    NotCanonical { line: usize },
    #[error("its last line does not end with a newline; it was truncated")]
    CutOff,
    #[error(
        "it has {found} cases, but its header says {stated}; it was truncated, or lines were added"
    )]
    WrongCount { found: usize, stated: usize },
    #[error("line {line}: case `{case}` occurs twice")]
    Twice { line: usize, case: String },
    #[error("line {line}: case `{case}` is out of order; cases must be in name order")]
    OutOfOrder { line: usize, case: String },
    #[error("line {line}: the harness could not run case `{case}`, so the run determined nothing")]
    NoRun { line: usize, case: String },
    #[error("the suite has no case `{case}`")]
    UnknownCase { case: String },
    #[error("its transcript of `{case}` does not fit the case: {message}")]
    OddCase { case: String, message: String },
    #[error(
        "it was made with another suite: its digest is {recorded}, but the digest of this suite is {have}"
    )]
    OtherSuite { recorded: String, have: String },
}

impl Record {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = line(&Header::of(self));
        for recorded in &self.cases {
            bytes.append(&mut line(&CaseLine::of(recorded)));
        }
        bytes
    }

    /// Reads a record and checks its form. [`Record::rejudge`] checks whether it fits a suite.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() as u64 > MOST_BYTES {
            return Err(RecordError::TooLarge);
        }
        let Some(body) = bytes.strip_suffix(b"\n") else {
            return Err(if bytes.is_empty() { RecordError::Empty } else { RecordError::CutOff });
        };
        let mut lines = body.split(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let header = header(first)?;
        let mut cases = Vec::new();
        for (index, bytes) in lines.enumerate() {
            let line = index + 2;
            let read: CaseLine = strictly(bytes, line)?;
            let mut recorded = read.recorded();
            if let super::CaseSeen::Played(transcript) = &mut recorded.seen {
                super::settle(transcript);
            }
            // Also refuses data that a reader would drop, such as steps of a case that was not exercised.
            if self::line(&CaseLine::of(&recorded)).strip_suffix(b"\n") != Some(bytes) {
                return Err(RecordError::NotCanonical { line });
            }
            let case = recorded.case.clone();
            if let super::CaseSeen::NotExercised(NotExercised::NoWorkspace(_)) = recorded.seen {
                return Err(RecordError::NoRun { line, case });
            }
            match cases.last().map(|last: &super::Recorded| last.case.cmp(&case)) {
                Some(std::cmp::Ordering::Equal) => return Err(RecordError::Twice { line, case }),
                Some(std::cmp::Ordering::Greater) => {
                    return Err(RecordError::OutOfOrder { line, case });
                }
                Some(std::cmp::Ordering::Less) | None => cases.push(recorded),
            }
        }
        if header.laws.cases == 0 {
            return Err(RecordError::NoInputs);
        }
        if cases.len() != header.cases {
            return Err(RecordError::WrongCount { found: cases.len(), stated: header.cases });
        }
        Ok(header.with(cases))
    }
}

/// One line of a record. Serializing it cannot fail.
fn line(value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

fn header(first: &[u8]) -> Result<Header, RecordError> {
    let version: Version = serde_json::from_slice(first)
        .map_err(|fault| RecordError::NoHeader { fault: fault.to_string() })?;
    if version.format != FORMAT {
        return Err(RecordError::OtherFormat { found: version.format.chars().take(80).collect() });
    }
    let header: Header = strictly(first, 1)?;
    if line(&header).strip_suffix(b"\n") != Some(first) {
        return Err(RecordError::NotCanonical { line: 1 });
    }
    Ok(header)
}

fn strictly<'a, T: Deserialize<'a>>(bytes: &'a [u8], line: usize) -> Result<T, RecordError> {
    let text = std::str::from_utf8(bytes).map_err(|_| RecordError::NoText { line })?;
    serde_json::from_str(text)
        .map_err(|fault| RecordError::BadLine { line, fault: fault.to_string() })
}
