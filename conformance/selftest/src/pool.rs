//! Runs several adversaries concurrently.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `work` to every item, at most `at_a_time` concurrently. Returns the results in order.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    at_a_time: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    each_with_first(items, at_a_time, |_| false, work)
}

/// As [`each`], but starts `slow` items first, so that the others need not wait for them at the end.
pub(crate) fn each_with_first<T: Sync, R: Send>(
    items: &[T],
    at_a_time: usize,
    slow: impl Fn(&T) -> bool,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let mut order: Vec<(usize, &T)> = items.iter().enumerate().collect();
    order.sort_by_key(|(_, item)| !slow(item));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let Some((index, item)) = order.get(turn) else { break };
                    let result = work(item);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((*index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(each(&items, 7, |item| item * 2), (0..200).step_by(2).collect::<Vec<_>>());
        let odd = |item: &usize| item % 2 == 1;
        let halved = each_with_first(&items, 3, odd, |item| item / 2);
        assert_eq!(halved, items.iter().map(|item| item / 2).collect::<Vec<_>>());
        assert_eq!(each(&Vec::<usize>::new(), 7, |item| item * 2), Vec::<usize>::new());
    }
}
