//! Limits how many subjects run at the same time, over all parts of the self-test.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Two limits: one for subjects that compute, one for those that mostly wait for a timeout. Clones share the limits.
#[derive(Debug, Clone)]
pub struct Lanes {
    working: Arc<Lane>,
    waiting: Arc<Lane>,
}

impl Default for Lanes {
    /// A working subject still waits for its pipes, so a core can serve three. The wait for a timeout costs nothing.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(3 * cores, 8)
    }
}

impl Lanes {
    /// At least one subject runs in each lane.
    pub fn new(working: usize, waiting: usize) -> Self {
        Self { working: Arc::new(Lane::new(working)), waiting: Arc::new(Lane::new(waiting)) }
    }

    /// Applies `work` to every item. Returns the results in order.
    pub(crate) fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        self.each_by(items, |_| false, work)
    }

    /// As [`each`](Self::each), with `slow` items in the lane of those that wait.
    pub(crate) fn each_by<T: Sync, R: Send>(
        &self,
        items: &[T],
        slow: impl Fn(&T) -> bool,
        work: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let (slow, others): (Vec<_>, Vec<_>) =
            items.iter().enumerate().partition(|(_, item)| slow(item));
        let done = Mutex::new(Vec::with_capacity(items.len()));
        let (next_slow, next_other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for (lane, queue, next) in
                [(&self.waiting, &slow, &next_slow), (&self.working, &others, &next_other)]
            {
                for _ in 0..lane.width.min(queue.len()) {
                    scope.spawn(|| {
                        loop {
                            let permit = lane.enter();
                            let turn = next.fetch_add(1, Ordering::Relaxed);
                            let Some((index, item)) = queue.get(turn) else { break };
                            let result = work(item);
                            drop(permit);
                            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                            done.push((*index, result));
                        }
                    });
                }
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[derive(Debug)]
struct Lane {
    width: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

impl Lane {
    fn new(width: usize) -> Self {
        let width = width.max(1);
        Self { width, free: Mutex::new(width), freed: Condvar::new() }
    }

    /// Waits until the lane has room.
    fn enter(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit { lane: self }
    }
}

/// A place in a lane, until it is dropped.
struct Permit<'a> {
    lane: &'a Lane,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.lane.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.lane.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let lanes = Lanes::new(7, 3);
        assert_eq!(lanes.each(&items, |item| item * 2), (0..200).step_by(2).collect::<Vec<_>>());
        let odd = |item: &usize| item % 2 == 1;
        let halved = lanes.each_by(&items, odd, |item| item / 2);
        assert_eq!(halved, items.iter().map(|item| item / 2).collect::<Vec<_>>());
        assert_eq!(lanes.each(&Vec::<usize>::new(), |item| item * 2), Vec::<usize>::new());
    }

    #[test]
    fn parts_share_the_limits() {
        let lanes = Lanes::new(3, 2);
        let (working, waiting) = (Crowd::default(), Crowd::default());
        let items: Vec<usize> = (0..60).collect();
        let odd = |item: &usize| item % 2 == 1;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    lanes.each_by(&items, odd, |item| {
                        if odd(item) { waiting.visit() } else { working.visit() }
                    })
                });
            }
        });
        assert_eq!(working.visits.load(Ordering::SeqCst), 4 * 30);
        assert!(working.most.load(Ordering::SeqCst) <= 3);
        assert!(waiting.most.load(Ordering::SeqCst) <= 2);
    }

    /// Counts how many visit it at the same time.
    #[derive(Default)]
    struct Crowd {
        visits: AtomicUsize,
        here: AtomicUsize,
        most: AtomicUsize,
    }

    impl Crowd {
        fn visit(&self) {
            self.visits.fetch_add(1, Ordering::SeqCst);
            let here = self.here.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(here, Ordering::SeqCst);
            std::thread::yield_now();
            self.here.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
