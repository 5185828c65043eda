//! Threads for the agents: each has a pool of one, so that the tensor operations of an agent stay
//! on its thread and their results do not depend on how many threads there are.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::Mutex;

/// A number of threads that work on agents side by side.
pub struct Workers(Vec<ThreadPool>);

impl Workers {
    /// `threads` workers, at least one.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build();
        (0..threads.max(1))
            .map(pool)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// No threads: all work is done where it is asked for, as a GPU wants it.
    pub fn here() -> Self {
        Self(Vec::new())
    }

    /// How many items are worked on at the same time.
    pub fn threads(&self) -> usize {
        self.0.len().max(1)
    }

    /// Applies `work` to every item; results come in the order of the items.
    pub fn map<T: Send, R: Send>(
        &self,
        items: &mut [T],
        work: impl Fn(&mut T) -> R + Sync,
    ) -> Vec<R> {
        if self.0.is_empty() {
            return items.iter_mut().map(work).collect();
        }
        let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
        let queue = Mutex::new(items.iter_mut().zip(&results));
        let next = || {
            queue
                .lock()
                .expect("taking the next item does not panic")
                .next()
        };
        on_all(&self.0, &|| {
            while let Some((item, result)) = next() {
                *result.lock().expect("a result has one writer") = Some(work(item));
            }
        });
        let taken = results
            .into_iter()
            .map(|r| r.into_inner().expect("a result has one writer"));
        taken
            .map(|r| r.expect("every item was worked on"))
            .collect()
    }
}

/// Does the same on each pool at the same time; no thread is started for it.
fn on_all(pools: &[ThreadPool], work: &(dyn Fn() + Sync)) {
    if let Some((first, others)) = pools.split_first() {
        first.in_place_scope(|scope| {
            scope.spawn(|_| work());
            on_all(others, work);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_items() {
        let some = [0, 1, 3].map(|threads| Workers::new(threads).unwrap());
        for workers in some.into_iter().chain([Workers::here()]) {
            let mut items: Vec<usize> = (0..20).collect();
            let results = workers.map(&mut items, |i| {
                *i += 1;
                *i * 10
            });
            assert_eq!(results, (1..21).map(|i| i * 10).collect::<Vec<_>>());
        }
    }
}
