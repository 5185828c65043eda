//! The arithmetic of a report: means, 95 % intervals over seeds, moving averages, running sums.
//!
//! Plain functions on plain numbers; nothing here knows what a reward is.

/// Quantile 0.975 of Student's t for 1 to 10 degrees of freedom.
const STUDENT_T: [f64; 10] =
    [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139];

/// A mean with what repeating the measurement says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// The mean.
    pub(super) mean: f64,
    /// Half the width of the 95 % interval; one value has none.
    pub(super) half: Option<f64>,
}

/// Mean and 95 % interval (Student t, n - 1 degrees of freedom); none of no values.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    let mean = mean(values.iter().copied())?;
    let n = values.len() as f64;
    let half = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        student_t(values.len() - 1) * (squares / (n - 1.0) / n).sqrt()
    });
    Some(Estimate { mean, half })
}

/// The mean; none of no values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u64), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Quantile 0.975 of Student's t, from the table or, beyond it, by the expansion around the normal.
fn student_t(freedom: usize) -> f64 {
    if let Some(t) = freedom.checked_sub(1).and_then(|at| STUDENT_T.get(at)) {
        return *t;
    }
    let (z, n) = (1.959_964_f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
}

/// The mean of what each full window holds: `values.len() - window + 1` numbers, the valid part.
/// A window without a number has no mean.
pub(super) fn moving_average(values: &[Option<f64>], window: usize) -> Vec<Option<f64>> {
    values.windows(window.max(1)).map(|window| mean(window.iter().copied().flatten())).collect()
}

/// The mean at each place over several rows of equal length, of the numbers that are there.
pub(super) fn mean_rows(rows: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let length = rows.iter().map(Vec::len).min().unwrap_or(0);
    (0..length).map(|at| mean(rows.iter().filter_map(|row| row[at]))).collect()
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
    fn interval_of_three_values_by_hand() {
        // Mean 4, squares 4 + 0 + 4, variance 4, standard error 2 / sqrt 3, t = 4.303.
        let Estimate { mean, half } = estimate(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!(mean, 4.0);
        assert!((half.unwrap() - 4.303 * 2.0 / 3.0_f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        assert_eq!(estimate(&[5.0]), Some(Estimate { mean: 5.0, half: None }));
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[3.0, 3.0]), Some(Estimate { mean: 3.0, half: Some(0.0) }));
    }

    #[test]
    fn quantiles_agree_with_printed_tables() {
        let check = |freedom, printed: &str| assert_eq!(format!("{:.3}", student_t(freedom)), printed);
        check(1, "12.706");
        check(2, "4.303");
        check(9, "2.262");
        check(11, "2.201");
        check(30, "2.042");
        check(120, "1.980");
    }

    #[test]
    fn moving_average_keeps_full_windows_only() {
        let values = [Some(1.0), Some(2.0), Some(6.0), Some(4.0)];
        assert_eq!(moving_average(&values, 2), [Some(1.5), Some(4.0), Some(5.0)]);
        assert_eq!(moving_average(&values, 1), values);
        assert_eq!(moving_average(&values, 5), []);
    }

    #[test]
    fn moving_average_skips_blanks() {
        assert_eq!(moving_average(&[None, Some(2.0), None, None], 2), [Some(2.0), Some(2.0), None]);
    }

    #[test]
    fn sums_and_means_along_rows() {
        assert_eq!(running_sum([1.0, 2.0, 4.0]), [1.0, 3.0, 7.0]);
        assert_eq!(mean_rows(&[vec![Some(1.0), None], vec![Some(3.0), None]]), [Some(2.0), None]);
    }
}
