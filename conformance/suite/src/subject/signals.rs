//! Resets signals that this process inherited as ignored, for example from `nohup` or a background job. Otherwise
//! every process that it starts would ignore them too, and a program that a case interrupts would never exit.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Restores the default signals for processes started from now on. This process itself still ignores them: it
/// installs a handler that does nothing.
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
                // A new program starts with the default in place of a handler. If this fails, only that is lost.
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
    fn ignored_signals_are_read_from_the_mask() {
        let status =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001002\nSigCgt:\t0000000000000004\n";
        let ignored: Vec<i32> = (1..=64).filter(|number| is_ignored(status, *number)).collect();
        assert_eq!(ignored, [2, 13]);
        assert!(!is_ignored("", 2));
    }
}
