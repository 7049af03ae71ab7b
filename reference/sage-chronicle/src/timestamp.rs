//! ISO 8601, as far as a chronicle needs it.

/// Whether `text` is a calendar date in the extended form, alone or with a time of day:
/// `2024-01-01T12:00:00.000Z`, and also `2024-01-01`, `2024-01-01T12:00`, a fraction of any length
/// after `.` or `,`, an offset such as `+02:00` or `+02`, or none.
///
/// The contract says no more than "ISO 8601", so every form that programs commonly print is taken,
/// and what no calendar has (a 30th of February, a 25th hour) is not. The basic form, week dates
/// and ordinal dates are refused. Second 60 is a leap second.
pub(crate) fn is_iso8601(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    rest.date() && (rest.is_empty() || rest.eat(b'T') && rest.time() && rest.offset())
}

/// What has not been looked at yet. Each method takes its part from the front, if it is there.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn date(&mut self) -> bool {
        let Some(year) = self.number(4) else { return false };
        let Some(month) = self.eat(b'-').then(|| self.number(2)).flatten() else { return false };
        let Some(day) = self.eat(b'-').then(|| self.number(2)).flatten() else { return false };
        (1..=days_in(year, month)).contains(&day)
    }

    fn time(&mut self) -> bool {
        self.below(24)
            && self.eat(b':')
            && self.below(60)
            && (!self.eat(b':') || self.below(61) && self.fraction())
    }

    fn fraction(&mut self) -> bool {
        if !(self.eat(b'.') || self.eat(b',')) {
            return true;
        }
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.0 = &self.0[count..];
        count > 0
    }

    /// The offset, if any, and the end.
    fn offset(&mut self) -> bool {
        let whole = if self.eat(b'+') || self.eat(b'-') {
            self.below(24) && (!self.eat(b':') || self.below(60))
        } else {
            self.eat(b'Z') || self.is_empty()
        };
        whole && self.is_empty()
    }

    fn below(&mut self, limit: u32) -> bool {
        self.number(2).is_some_and(|number| number < limit)
    }

    /// The number that the next `count` decimal digits denote.
    fn number(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
        })
    }

    fn eat(&mut self, byte: u8) -> bool {
        let Some(rest) = self.0.strip_prefix(&[byte]) else { return false };
        self.0 = rest;
        true
    }
}

/// No days for a month that does not exist.
fn days_in(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2024-01-01T12:00:00.000Z")]
    #[case("2024-01-01T12:00:00Z")]
    #[case("2024-01-01T12:00Z")]
    #[case("2024-01-01T12:00:00.123456789+05:30")]
    #[case("2024-01-01T12:00:00,5-03")]
    #[case("2024-01-01T12:00:00")]
    #[case("2024-01-01")]
    #[case("2024-02-29T00:00:00Z")]
    #[case("2000-02-29")]
    #[case("2016-12-31T23:59:60Z")]
    #[case("0000-01-01T00:00:00Z")]
    fn is_a_time(#[case] text: &str) {
        assert!(is_iso8601(text));
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("1704110400")]
    #[case("Mon, 01 Jan 2024 12:00:00 GMT")]
    #[case("2024-01-01 12:00:00Z")]
    #[case("2024-13-01T12:00:00Z")]
    #[case("2024-00-01")]
    #[case("2024-01-00")]
    #[case("2023-02-29")]
    #[case("1900-02-29")]
    #[case("2024-04-31")]
    #[case("2024-01-01T24:00:00Z")]
    #[case("2024-01-01T12:60:00Z")]
    #[case("2024-01-01T12:00:61Z")]
    #[case("2024-01-01T12:00:00.Z")]
    #[case("2024-01-01T12:00:00+25:00")]
    #[case("2024-01-01T12:00:00ZZ")]
    #[case("2024-01-01T")]
    #[case("2024-01-01TZ")]
    #[case("2024-1-1")]
    #[case("+024-01-01")]
    #[case("2024-01-01T12:00:00.000Z\n")]
    #[case("٢٠٢٤-01-01")]
    fn is_no_time(#[case] text: &str) {
        assert!(!is_iso8601(text));
    }
}
