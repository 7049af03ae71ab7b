//! Resets signals that this process inherited as ignored, for example from `nohup` or a background job. Otherwise every
//! process that it starts would ignore them too, and a program that a case interrupts would never end.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Lets the processes that are started from now on have the usual signals. For this process nothing
/// changes: a signal that nobody waits for is as good as ignored.
pub(super) fn restore() {
    static RESTORED: Once = Once::new();
    RESTORED.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let usual = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ];
        for kind in usual {
            if is_ignored(&status, kind.as_raw_value()) {
                // What has a handler starts anew in a new program. Without one, nothing is lost but this.
                let _unheard = signal(kind);
            }
        }
    });
}

fn is_ignored(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (number - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals() {
        let status =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001002\nSigCgt:\t0000000000000004\n";
        let ignored: Vec<i32> = (1..=64).filter(|number| is_ignored(status, *number)).collect();
        assert_eq!(ignored, [2, 13]);
        assert!(!is_ignored("", 2));
    }
}
