//! The paper's own numbers, which every table shows beside ours.
//!
//! Source: "Sharing is Caring", arXiv 2509.08721v1, the text of its results section: the sum over
//! 8 agents and 2000 rounds of the mean reward of the round, for four mixes. It has no table, and it
//! does not say which reward it sums. Gains and means are computed here from those four sums.

use super::arms::Mix;

/// What the paper sums over: 8 agents times 2000 rounds.
const AGENT_ROUNDS: f64 = 8.0 * 2000.0;
/// Mixes and their cumulative reward, the one without sharing first.
const CUMULATIVE: [(Mix, f64); 4] = [
    (
        Mix {
            local: 8,
            external: 0,
        },
        561.79,
    ),
    (
        Mix {
            local: 6,
            external: 2,
        },
        854.43,
    ),
    (
        Mix {
            local: 4,
            external: 4,
        },
        1093.31,
    ),
    (
        Mix {
            local: 2,
            external: 6,
        },
        945.87,
    ),
];

/// The mixes of the paper, the one without sharing first.
pub(super) const MIXES: [Mix; 4] = [
    CUMULATIVE[0].0,
    CUMULATIVE[1].0,
    CUMULATIVE[2].0,
    CUMULATIVE[3].0,
];

/// What the paper says about one mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paper {
    /// Sum over agents and rounds of the mean reward of the round.
    pub(super) cumulative: f64,
    /// Gain over 8 / 0 in percent; none for 8 / 0 itself.
    pub(super) gain: Option<f64>,
    /// Mean reward per agent and round.
    pub(super) mean: f64,
}

/// The paper's numbers for a mix, if it ran that mix.
pub(super) fn numbers(mix: Mix) -> Option<Paper> {
    let cumulative = CUMULATIVE[place(mix)?].1;
    let gain = (mix.external > 0).then(|| 100.0 * (cumulative / CUMULATIVE[0].1 - 1.0));
    Some(Paper {
        cumulative,
        gain,
        mean: cumulative / AGENT_ROUNDS,
    })
}

/// Where the paper lists a mix, counted from 0.
pub(super) fn place(mix: Mix) -> Option<usize> {
    CUMULATIVE.iter().position(|(known, _)| *known == mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_and_means_agree_with_those_printed() {
        let check = |local, external, gain: Option<&str>, mean: &str| {
            let paper = numbers(Mix { local, external }).unwrap();
            assert_eq!(paper.gain.map(|g| format!("{g:.1}")).as_deref(), gain);
            assert_eq!(format!("{:.4}", paper.mean), mean);
        };
        check(8, 0, None, "0.0351");
        check(6, 2, Some("52.1"), "0.0534");
        check(4, 4, Some("94.6"), "0.0683");
        check(2, 6, Some("68.4"), "0.0591");
        assert_eq!(
            numbers(Mix {
                local: 7,
                external: 1
            }),
            None
        );
    }
}
