//! The arithmetic of a report: means, Student's t over seeds, paired tests, moving averages, sums.
//!
//! Plain functions on plain numbers; nothing here knows what a reward is.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with what repeating the measurement says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// The mean.
    pub(super) mean: f64,
    /// The 95 % interval of Student's t; one value has none.
    pub(super) interval: Option<[f64; 2]>,
}

impl Estimate {
    /// True where a number lies below the interval, false where it lies above, none within.
    pub(super) fn beyond(&self, number: f64) -> Option<bool> {
        let [low, high] = self.interval?;
        if low > number {
            Some(true)
        } else {
            (high < number).then_some(false)
        }
    }
}

/// Mean and 95 % interval; none of no values.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    let mean = mean(values.iter().copied())?;
    let interval = student(values.len()).map(|student| {
        let half = student.inverse_cdf(0.975) * standard_error(values, mean);
        [mean - half, mean + half]
    });
    Some(Estimate { mean, interval })
}

/// Student's t for so many values; none for fewer than two.
fn student(count: usize) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, count.checked_sub(1)? as f64).ok()
}

/// Of a mean.
fn standard_error(values: &[f64], mean: f64) -> f64 {
    let (n, squares) = (
        values.len() as f64,
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>(),
    );
    (squares / (n - 1.0) / n).sqrt()
}

/// Two-sided p of a t test of whether the mean of paired differences is 0; none of fewer than two, or of
/// differences that are all the same.
pub(super) fn paired_p(differences: &[f64]) -> Option<f64> {
    let (student, mean) = (
        student(differences.len())?,
        mean(differences.iter().copied())?,
    );
    let error = standard_error(differences, mean);
    // what is the same but for rounding is the same
    (error > 1e-9 * mean.abs()).then(|| 2.0 * student.cdf(-(mean / error).abs()))
}

/// Two-sided p of Welch's t test of whether two groups have the same mean; none where one has fewer than two values or
/// neither varies.
pub(super) fn welch_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let group = |values: &[f64]| {
        let mean = mean(values.iter().copied()).filter(|_| values.len() > 1)?;
        Some((
            mean,
            standard_error(values, mean).powi(2),
            values.len() as f64 - 1.0,
        ))
    };
    let ((mean_a, a, of_a), (mean_b, b, of_b)) = (group(a)?, group(b)?);
    let error = (a + b).sqrt();
    // Welch and Satterthwaite
    let freedom = (a + b).powi(2) / (a * a / of_a + b * b / of_b);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (error > 0.0).then(|| 2.0 * student.cdf(-((mean_a - mean_b) / error).abs()))
}

/// Bonferroni's correction.
pub(super) fn bonferroni(ps: &[Option<f64>]) -> Vec<Option<f64>> {
    let count = ps.iter().flatten().count() as f64;
    ps.iter().map(|p| p.map(|p| (p * count).min(1.0))).collect()
}

/// Benjamini's and Hochberg's correction, of the share of what is found that is not there.
pub(super) fn benjamini_hochberg(ps: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..ps.len()).filter(|&i| ps[i].is_some()).collect();
    order.sort_by(|&a, &b| {
        ps[b]
            .partial_cmp(&ps[a])
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let count = order.len();
    let (mut corrected, mut least) = (vec![None; ps.len()], 1.0_f64);
    for (rank, &i) in order.iter().enumerate() {
        let factor = count as f64 / (count - rank) as f64;
        least = least.min(ps[i].map_or(1.0, |p| p * factor));
        corrected[i] = Some(least);
    }
    corrected
}

/// Holm's correction: each p for being one of several looked at.
pub(super) fn holm(ps: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..ps.len()).filter(|&i| ps[i].is_some()).collect();
    order.sort_by(|&a, &b| {
        ps[a]
            .partial_cmp(&ps[b])
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let (mut corrected, mut least) = (vec![None; ps.len()], 0.0_f64);
    for (rank, &i) in order.iter().enumerate() {
        least = least.max(ps[i].map_or(0.0, |p| (p * (order.len() - rank) as f64).min(1.0)));
        corrected[i] = Some(least);
    }
    corrected
}

/// Intercept and slope of the straight line nearest to the points; none of fewer than two places.
pub(super) fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (x, y) = (
        mean(points.iter().map(|p| p.0))?,
        mean(points.iter().map(|p| p.1))?,
    );
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread;
    slope.is_finite().then_some((y - slope * x, slope))
}

/// The mean; none of no values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0_u64), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The mean of what each full window holds: `values.len() - window + 1` numbers, the valid part.
/// A window without a number has no mean.
pub(super) fn moving_average(values: &[Option<f64>], window: usize) -> Vec<Option<f64>> {
    values
        .windows(window.max(1))
        .map(|window| mean(window.iter().copied().flatten()))
        .collect()
}

/// The trend of a curve: at each place that has `half` neighbours on both sides, the value there of the parabola
/// nearest to it and them (Savitzky and Golay).
pub(super) fn trend(values: &[f64], half: usize) -> Vec<f64> {
    let m = half as f64;
    let norm = (2.0 * m - 1.0) * (2.0 * m + 1.0) * (2.0 * m + 3.0);
    let weight =
        |i: usize| 3.0 * (3.0 * m * m + 3.0 * m - 1.0 - 5.0 * (i as f64 - m).powi(2)) / norm;
    let weights: Vec<f64> = (0..=2 * half).map(weight).collect();
    values
        .windows(2 * half + 1)
        .map(|window| window.iter().zip(&weights).map(|(v, w)| v * w).sum())
        .collect()
}

/// The mean at each place over several rows of equal length, of the numbers that are there.
pub(super) fn mean_rows(rows: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let length = rows.iter().map(Vec::len).min().unwrap_or(0);
    (0..length)
        .map(|at| mean(rows.iter().filter_map(|row| row[at])))
        .collect()
}

/// The sum of everything up to and including each place.
pub(super) fn running_sum(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let add = |sum: &mut f64, value| {
        *sum += value;
        Some(*sum)
    };
    values.into_iter().scan(0.0, add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_by_hand() {
        // standard error 1, t = 12.706 with one degree of freedom
        let found = estimate(&[2.0, 4.0]).unwrap();
        let [low, high] = found.interval.unwrap();
        assert!(
            (low + 9.706).abs() < 1e-3 && (high - 15.706).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(
            (found.mean, found.beyond(0.0), found.beyond(16.0)),
            (3.0, None, Some(false))
        );
        // standard error 1 / sqrt 3, t = 4.303 with two
        let [low, _] = estimate(&[1.0, 2.0, 3.0]).unwrap().interval.unwrap();
        assert!((low + 0.484).abs() < 1e-3, "{low}");
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let interval = None;
        assert_eq!(
            estimate(&[5.0]),
            Some(Estimate {
                mean: 5.0,
                interval
            })
        );
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[3.0, 3.0]).unwrap().interval, Some([3.0, 3.0]));
    }

    #[test]
    fn intervals_cover_the_mean_as_often_as_they_say() {
        // five normal values each, from a generator of its own
        let mut rng = crate::seed::Seed::new(3).rng();
        let mut normal = || {
            let (u, v) = (1.0 - rng.uniform(), rng.uniform());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let covered = (0..4000).filter(|_| {
            let values: Vec<f64> = (0..5).map(|_| normal()).collect();
            estimate(&values).unwrap().beyond(0.0).is_none()
        });
        let share = covered.count() as f64 / 4000.0;
        assert!((share - 0.95).abs() < 0.012, "{share}");
    }

    #[test]
    fn paired_test_agrees_with_printed_tables() {
        // mean 2, standard error 1 / sqrt 3 of three differences: t = 3.464 with 2 degrees of freedom
        assert!((paired_p(&[1.0, 2.0, 3.0]).unwrap() - 0.0742).abs() < 1e-4);
        assert!((paired_p(&[-1.0, 1.0]).unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((paired_p(&[1.0]), paired_p(&[1.0, 1.0])), (None, None));
    }

    #[test]
    fn holm_by_hand() {
        let corrected = holm(&[Some(0.01), Some(0.04), None, Some(0.03)]);
        let expected = [Some(0.03), Some(0.06), None, Some(0.06)];
        for (found, expected) in corrected.iter().zip(expected) {
            assert_eq!(found.is_some(), expected.is_some());
            assert!(
                found.is_none() || (found.unwrap() - expected.unwrap()).abs() < 1e-12,
                "{corrected:?}"
            );
        }
    }

    #[test]
    fn the_trend_of_a_parabola_is_itself() {
        let parabola: Vec<f64> = (0..9)
            .map(|x| f64::from(x * x) - 3.0 * f64::from(x))
            .collect();
        let found = trend(&parabola, 3);
        assert_eq!(found.len(), 3);
        assert!(
            found
                .iter()
                .zip(&parabola[3..])
                .all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn line_through_points_of_a_line() {
        let (intercept, slope) = line(&[(0.0, 1.0), (1.0, 3.0), (3.0, 7.0)]).unwrap();
        assert!((intercept - 1.0).abs() < 1e-12 && (slope - 2.0).abs() < 1e-12);
        assert_eq!(line(&[(1.0, 3.0)]), None);
    }

    #[test]
    fn moving_average_keeps_full_windows_only() {
        let values = [Some(1.0), Some(2.0), Some(6.0), Some(4.0)];
        assert_eq!(
            moving_average(&values, 2),
            [Some(1.5), Some(4.0), Some(5.0)]
        );
        assert_eq!(moving_average(&values, 1), values);
        assert_eq!(moving_average(&values, 5), []);
    }

    #[test]
    fn moving_average_skips_blanks() {
        assert_eq!(
            moving_average(&[None, Some(2.0), None, None], 2),
            [Some(2.0), Some(2.0), None]
        );
    }

    #[test]
    fn sums_and_means_along_rows() {
        assert_eq!(running_sum([1.0, 2.0, 4.0]), [1.0, 3.0, 7.0]);
        assert_eq!(
            mean_rows(&[vec![Some(1.0), None], vec![Some(3.0), None]]),
            [Some(2.0), None]
        );
    }

    #[test]
    fn welch_by_hand() {
        // means 2 and 4, squared errors 1/3 and 4/3: t = 2 / sqrt(5/3), 25/17 * 2 degrees of freedom
        let p = welch_p(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
        assert!((p - 0.220_881).abs() < 1e-5, "{p}");
        assert_eq!(welch_p(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch_p(&[1.0, 1.0], &[2.0, 2.0]), None);
    }

    #[test]
    fn corrections_by_hand() {
        let ps = [Some(0.01), None, Some(0.04), Some(0.03), Some(0.005)];
        let close = |found: Vec<Option<f64>>, expected: [Option<f64>; 5]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found.unwrap_or(-1.0) - expected.unwrap_or(-1.0)).abs() < 1e-12,
                    "{found:?}"
                );
            }
        };
        close(
            bonferroni(&ps),
            [Some(0.04), None, Some(0.16), Some(0.12), Some(0.02)],
        );
        close(
            benjamini_hochberg(&ps),
            [Some(0.02), None, Some(0.04), Some(0.04), Some(0.02)],
        );
        close(
            holm(&ps),
            [Some(0.03), None, Some(0.06), Some(0.06), Some(0.02)],
        );
    }
}
