//! A clock that follows a script: its start, and how far it moves at each reading.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// A clock whose first reading is its start, and whose later readings are each one step further.
///
/// A step may be zero or negative. The clock stops at either end of the calendar (years -9999 and 9999),
/// because a reading cannot fail.
#[derive(Debug)]
pub struct ScriptedClock {
    next: Mutex<Timestamp>,
    step: SignedDuration,
}

/// The start of a clock is refused: the first reading would differ from the script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    #[error("`clock.start` is not a time: {reason}; write it as in `2024-01-01T12:00:00.000Z`")]
    NotATime { start: String, reason: String },
    #[error("`clock.start` must be in UTC with milliseconds; write `{expected}`, not `{start}`")]
    NotAsPrinted { start: String, expected: String },
}

impl ScriptedClock {
    /// A clock that starts at `start`, written as the clock prints times: `2024-01-01T12:00:00.000Z`.
    pub fn new(start: &str, step_ms: i64) -> Result<Self, ClockError> {
        let next: Timestamp = start.parse().map_err(|error: jiff::Error| ClockError::NotATime {
            start: start.to_owned(),
            reason: error.to_string(),
        })?;
        let expected = print(next);
        if expected != start {
            return Err(ClockError::NotAsPrinted { start: start.to_owned(), expected });
        }
        Ok(Self { next: Mutex::new(next), step: SignedDuration::from_millis(step_ms) })
    }

    /// Reads the clock and moves it one step: UTC with milliseconds, such as `2024-01-01T12:00:00.000Z`.
    pub fn now(&self) -> String {
        // A reader that panicked left a whole timestamp behind.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = *next;
        let end = if self.step.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
        *next = now.checked_add(self.step).unwrap_or(end);
        print(now)
    }
}

fn print(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[track_caller]
    fn check(start: &str, step_ms: i64, expect: &[&str]) {
        let clock = ScriptedClock::new(start, step_ms).expect("a good start");
        let readings: Vec<_> = expect.iter().map(|_| clock.now()).collect();
        assert_eq!(readings, expect);
    }

    #[test]
    fn readings_follow_the_script() {
        check(
            "2024-01-01T12:00:00.000Z",
            1000,
            &["2024-01-01T12:00:00.000Z", "2024-01-01T12:00:01.000Z", "2024-01-01T12:00:02.000Z"],
        );
        check(
            "2024-02-28T23:59:59.999Z",
            1,
            &["2024-02-28T23:59:59.999Z", "2024-02-29T00:00:00.000Z"],
        );
        check(
            "1970-01-01T00:00:00.000Z",
            -1,
            &["1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z"],
        );
        check("2024-01-01T00:00:00.000Z", 0, &["2024-01-01T00:00:00.000Z"; 3]);
    }

    #[test]
    fn it_stops_at_the_end_of_the_calendar() {
        let last = "9999-12-30T22:00:00.999Z";
        check("2024-01-01T00:00:00.000Z", i64::MAX, &["2024-01-01T00:00:00.000Z", last, last]);
        let clock = ScriptedClock::new("2024-01-01T00:00:00.000Z", i64::MIN).expect("a good start");
        clock.now();
        assert_eq!(clock.now(), clock.now());
    }

    #[rstest]
    #[case("")]
    #[case("noon")]
    #[case("2024-01-01")]
    #[case("2024-13-01T00:00:00.000Z")]
    #[case("2023-02-29T00:00:00.000Z")]
    #[case("2024-01-01T00:00:00Z")]
    #[case("2024-01-01T00:00:00.0001Z")]
    #[case("2024-01-01T00:00:00.000+01:00")]
    #[case("2024-01-01t00:00:00.000z")]
    #[case("99999-01-01T00:00:00.000Z")]
    fn a_bad_start_is_refused(#[case] start: &str) {
        let refusal = ScriptedClock::new(start, 0).expect_err("a bad start");
        let (ClockError::NotATime { start: refused, .. }
        | ClockError::NotAsPrinted { start: refused, .. }) = &refusal;
        assert_eq!(refused, start);
        assert!(refusal.to_string().starts_with("`clock.start` "), "{refusal}");
    }

    #[test]
    fn concurrent_readers_get_each_time_once() {
        let clock = ScriptedClock::new("2024-01-01T00:00:00.000Z", 1).expect("a good start");
        let mut readings: Vec<_> = std::thread::scope(|scope| {
            let readers: Vec<_> =
                (0..4).map(|_| scope.spawn(|| [(); 50].map(|()| clock.now()))).collect();
            readers.into_iter().flat_map(|reader| reader.join().expect("no panic")).collect()
        });
        readings.sort();
        readings.dedup();
        assert_eq!(readings.len(), 200);
        assert_eq!(readings.last().map(String::as_str), Some("2024-01-01T00:00:00.199Z"));
    }
}
