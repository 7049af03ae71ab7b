//! ISO 8601, as far as a chronicle needs it.

/// Whether `text` is a calendar date in the extended form, alone or with a time of day:
/// `2024-01-01T12:00:00.000Z`, and also `2024-01-01`, `2024-01-01T12:00`, a fraction of any length
/// after `.` or `,`, an offset such as `+02:00` or `+02`, or none.
///
/// The contract says no more than "ISO 8601", so every form that programs commonly print is taken,
/// and what no calendar has (a 30th of February, a 25th hour) is not. The basic form, week dates
/// and ordinal dates are refused. Second 60 is a leap second.
pub(crate) fn is_iso8601(text: &str) -> bool {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    is_date(date) && time.is_none_or(is_time_with_offset)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    (1..=days_in(year, month)).contains(&day)
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

fn is_time_with_offset(text: &str) -> bool {
    if let Some(time) = text.strip_suffix('Z') {
        return is_time(time);
    }
    match text.split_once(['+', '-']) {
        Some((time, offset)) => is_time(time) && is_offset(offset),
        None => is_time(text),
    }
}

fn is_time(text: &str) -> bool {
    let (clock, fraction) = match text.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let parts: Vec<_> = clock.split(':').collect();
    match parts[..] {
        [hour, minute] => fraction.is_none() && below(hour, 24) && below(minute, 60),
        [hour, minute, second] => {
            below(hour, 24)
                && below(minute, 60)
                && below(second, 61)
                && fraction.is_none_or(|f| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    }
}

fn is_offset(text: &str) -> bool {
    match text.split_once(':') {
        Some((hour, minute)) => below(hour, 24) && below(minute, 60),
        None => below(text, 24),
    }
}

fn below(text: &str, limit: u32) -> bool {
    digits(text, 2).is_some_and(|n| n < limit)
}

/// The number that exactly `count` decimal digits denote.
fn digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
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
