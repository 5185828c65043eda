//! Loops over the rows of a matrix, shared out to the threads of the pool that the caller is in.

/// Elements from which on a loop is worth more than one thread.
const MANY: usize = 1 << 17;

/// Calls `work` on whole rows of `out`, with the number of the first; on several threads where there
/// is much to do and more than one. What is written must not depend on how rows are divided.
pub(crate) fn rows_of(out: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let threads = rayon::current_num_threads();
    if threads == 1 || out.len() < MANY {
        return work(0, out);
    }
    let rows = (out.len() / width).div_ceil(threads);
    rayon::scope(|scope| {
        for (part, out) in out.chunks_mut(rows * width).enumerate() {
            let work = &work;
            scope.spawn(move |_| work(part * rows, out));
        }
    });
}

/// As [`rows_of`] for work on a row at a time that also gives a number.
pub(crate) fn reduce_rows(
    matrix: &mut [f32],
    width: usize,
    work: impl Fn(usize, &mut [f32]) -> f32 + Sync,
) -> Vec<f32> {
    let mut results = vec![0.0; matrix.len() / width];
    let threads = rayon::current_num_threads();
    let parts = if threads == 1 || matrix.len() < MANY {
        1
    } else {
        threads
    };
    let rows = results.len().div_ceil(parts).max(1);
    let work = |part: usize, matrix: &mut [f32], results: &mut [f32]| {
        for (i, (row, result)) in matrix.chunks_exact_mut(width).zip(results).enumerate() {
            *result = work(part * rows + i, row);
        }
    };
    if parts == 1 {
        work(0, matrix, &mut results);
        return results;
    }
    rayon::scope(|scope| {
        for (part, (matrix, results)) in matrix
            .chunks_mut(rows * width)
            .zip(results.chunks_mut(rows))
            .enumerate()
        {
            let work = &work;
            scope.spawn(move |_| work(part, matrix, results));
        }
    });
    results
}

/// Results of `work` for `0..count`, in order.
pub(crate) fn each<T: Send>(
    count: usize,
    parallel: bool,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    use rayon::prelude::*;
    if parallel && rayon::current_num_threads() > 1 {
        return (0..count).into_par_iter().map(&work).collect();
    }
    (0..count).map(work).collect()
}
