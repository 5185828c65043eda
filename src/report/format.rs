//! How numbers read in texts.

use super::stats::Estimate;

/// Stands where there is no number.
pub(super) const NONE: &str = "–";

/// `1.25 [0.75, 1.75]`, or the mean alone where there is no interval.
pub(super) fn number(estimate: Option<Estimate>, decimals: usize) -> String {
    let text = |number: f64| format!("{:.decimals$}", rounded(number, decimals));
    with_interval(estimate, text, "")
}

/// The same without the interval.
pub(super) fn without_interval(estimate: Option<Estimate>, decimals: usize) -> String {
    let mean = estimate.map(|estimate| Estimate {
        interval: None,
        ..estimate
    });
    number(mean, decimals)
}

/// `+52.1 % [+49.1, +55.1]`.
pub(super) fn percent(estimate: Option<Estimate>) -> String {
    let text = |number: f64| format!("{:+.1}", rounded(number, 1));
    with_interval(estimate, text, " %")
}

fn with_interval(estimate: Option<Estimate>, text: impl Fn(f64) -> String, unit: &str) -> String {
    let Some(Estimate { mean, interval, .. }) = estimate else {
        return NONE.to_owned();
    };
    let interval = interval.map(|ends| format!(" [{}]", ends.map(&text).join(", ")));
    format!("{}{unit}{}", text(mean), interval.unwrap_or_default())
}

/// `0.0123`, or what it is surely below.
pub(super) fn probability(p: f64) -> String {
    if p < 1e-4 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// `1 seed`, `2 seeds`.
pub(super) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `8 agents`, or `2 to 16 agents`.
pub(super) fn range((least, most): (usize, usize), what: &str) -> String {
    if least < most {
        format!("{least} to {most} {what}s")
    } else {
        count(most, what)
    }
}

/// Rounded, and never minus zero.
pub(super) fn rounded(number: f64, decimals: usize) -> f64 {
    let scale = 10_f64.powi(decimals as i32);
    (number * scale).round() / scale + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_papers_do() {
        let estimate = |mean, interval| Some(Estimate { mean, interval });
        assert_eq!(number(estimate(561.786, None), 2), "561.79");
        let mean = estimate(0.035112, Some([0.032, 0.03768]));
        assert_eq!(number(mean, 4), "0.0351 [0.0320, 0.0377]");
        assert_eq!(without_interval(mean, 3), "0.035");
        let gain = estimate(52.09, Some([-0.01, 55.0]));
        assert_eq!(percent(gain), "+52.1 % [+0.0, +55.0]");
        assert_eq!(percent(estimate(-0.01, None)), "+0.0 %");
        assert_eq!((number(None, 2), percent(None)), (NONE.into(), NONE.into()));
    }

    #[test]
    fn counts_and_ranges_have_their_plural() {
        assert_eq!(
            (count(1, "seed"), count(2, "seed")),
            ("1 seed".into(), "2 seeds".into())
        );
        assert_eq!(
            (range((1, 1), "agent"), range((2, 16), "agent")),
            ("1 agent".into(), "2 to 16 agents".into())
        );
    }
}
