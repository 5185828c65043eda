//! The theme of the pictures: colours, dashes and sizes.
//!
//! Colours are Okabe and Ito's, which colour-blind readers can tell apart; dashes differ too, for print in
//! grey. A mix of the paper keeps its colour in every experiment, near to the one the paper gave it.

use plotters::style::RGBColor;

use super::{
    arms::{Arm, distinct},
    paper,
};

/// How a line is drawn. Lengths are in pixels of the finished picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) color: RGBColor,
    /// Lengths drawn and skipped in turn; empty for a line without gaps.
    pub(super) dash: &'static [f64],
    pub(super) width: f64,
}

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(32, 32, 32);
/// Text of less weight.
pub(super) const GREY: RGBColor = RGBColor(90, 90, 90);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(222, 222, 222);

/// Size of the text of a picture's title.
pub(super) const TITLE: f64 = 40.0;
/// Of the line below it.
pub(super) const SUBTITLE: f64 = 27.0;
/// Of the title of a panel.
pub(super) const PANEL: f64 = 31.0;
/// Of axis labels, legend and line ends.
pub(super) const LABEL: f64 = 27.0;
/// Of the numbers at the ticks.
pub(super) const TICK: f64 = 25.0;

const WIDTH: f64 = 3.4;
/// Black, blue, bluish green, vermillion for the mixes of the paper; then purple, sky blue, orange.
const PENS: [Pen; 7] = [
    Pen {
        color: RGBColor(0, 0, 0),
        dash: &[],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(0, 114, 178),
        dash: &[22.0, 8.0],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(0, 158, 115),
        dash: &[22.0, 7.0, 4.0, 7.0],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(213, 94, 0),
        dash: &[9.0, 6.0],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(178, 88, 140),
        dash: &[4.0, 6.0],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(66, 160, 214),
        dash: &[34.0, 8.0],
        width: WIDTH,
    },
    Pen {
        color: RGBColor(214, 146, 0),
        dash: &[12.0, 6.0, 4.0, 6.0, 4.0, 6.0],
        width: WIDTH,
    },
];
const PAPER_PENS: usize = 4;

/// The pen of a line that stands alone.
pub(super) fn first_pen() -> Pen {
    PENS[1]
}

/// The pens of own, training-set and held-out reward where they stand in one panel.
pub(super) fn series_pens() -> [Pen; 3] {
    [PENS[0], PENS[3], PENS[2]]
}

/// Pens that no mix of the paper has.
pub(super) fn other_pens() -> [Pen; 3] {
    [PENS[4], PENS[5], PENS[6]]
}

/// Pens for the values of a sweep or the arms of a tuning.
pub(super) fn sweep_pens(count: usize) -> Vec<Pen> {
    let all: Vec<usize> = (0..PENS.len()).collect();
    (0..count).map(|at| pen_of(&all, at)).collect()
}

/// Number `at` of these pens; after all have been taken they come again, each with another dash.
fn pen_of(pens: &[usize], at: usize) -> Pen {
    let (pen, round) = (pens[at % pens.len()], at / pens.len());
    Pen {
        dash: PENS[(pen + 2 * round) % PENS.len()].dash,
        ..PENS[pen]
    }
}

/// A pen for each arm. A mix of the paper has its own, the others have those that the paper's mixes leave; in a
/// sweep the colour says the value, and the dash the arm where there are several.
pub(super) fn pens(arms: &[&Arm]) -> Vec<Pen> {
    let place = |arm: &Arm| arm.named_mix().and_then(paper::place);
    let taken: Vec<usize> = arms.iter().filter_map(|arm| place(arm)).collect();
    let free = (PAPER_PENS..PENS.len()).chain(0..PAPER_PENS);
    let free: Vec<usize> = free.filter(|at| !taken.contains(at)).collect();
    let mut others = (0..).map(|at| pen_of(&free, at));
    let values = distinct(arms.iter().map(|arm| arm.swept.clone()));
    let families = distinct(arms.iter().map(|arm| arm.family_title()));
    let pen = |arm: &&Arm| {
        let swept = arm
            .swept
            .as_ref()
            .and_then(|_| place_of(&values, &arm.swept));
        let Some(value) = swept else {
            return place(arm).map_or_else(|| others.next().unwrap_or(PENS[0]), |at| PENS[at]);
        };
        let pen = PENS[value % PENS.len()];
        match place_of(&families, &arm.family_title()) {
            Some(family) if families.len() > 1 => Pen {
                dash: PENS[family % PENS.len()].dash,
                ..pen
            },
            _ => pen,
        }
    };
    arms.iter().map(pen).collect()
}

fn place_of<T: PartialEq>(values: &[T], value: &T) -> Option<usize> {
    values.iter().position(|other| other == value)
}

/// The colour of one of `count` lines, from dark for the first to pale for the last.
pub(super) fn shade(color: RGBColor, at: usize, count: usize) -> RGBColor {
    let place = at as f64 / (count.max(2) - 1) as f64;
    let (to, part) = if place < 0.5 {
        (0.0, 0.6 - 1.2 * place)
    } else {
        (255.0, 1.3 * (place - 0.5))
    };
    let mix = |from: u8| (f64::from(from) * (1.0 - part) + to * part) as u8;
    RGBColor(mix(color.0), mix(color.1), mix(color.2))
}

#[cfg(test)]
mod tests {
    use super::{super::arms::Swept, *};

    #[test]
    fn a_mix_of_the_paper_keeps_its_colour() {
        let arms = ["8-0", "7-1", "4-4", "1-7", "4-4,agents=2", "frozen"].map(|name| Arm {
            name: name.to_owned(),
            ..Arm::default()
        });
        let all = pens(&arms.each_ref());
        assert_eq!(pens(&[&arms[2]])[0], all[2]);
        assert_eq!((all[0], all[2]), (PENS[0], PENS[2]));
        // the last is the first of the paper's pens that is free
        assert_eq!(all[1..], [PENS[4], PENS[2], PENS[5], PENS[6], PENS[1]]);
    }

    #[test]
    fn in_a_sweep_the_colour_says_the_value_and_the_dash_the_arm() {
        let arms = ["8-0", "4-4"].map(|mix| {
            ["2", "4"].map(|value| Arm {
                name: format!("{mix},agents={value}"),
                swept: Some(Swept {
                    key: "swarm.agents".to_owned(),
                    value: value.to_owned(),
                }),
                ..Arm::default()
            })
        });
        let [alone, sharing] = arms.each_ref().map(|[a, b]| pens(&[a, b]));
        assert_eq!((&alone[..], &sharing[..]), (&PENS[..2], &PENS[..2]));
        let all = pens(&arms.iter().flatten().collect::<Vec<_>>());
        assert_eq!((all[0].color, all[0].dash), (all[2].color, all[1].dash));
        assert_eq!((all[3].color, all[3].dash), (all[1].color, all[2].dash));
        assert!(all[0].color != all[1].color && all[0].dash != all[2].dash);
    }

    #[test]
    fn shades_run_from_dark_to_pale() {
        let light = |at| {
            let RGBColor(r, g, b) = shade(RGBColor(0, 114, 178), at, 8);
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        assert!((1..8).all(|at| light(at - 1) < light(at)));
    }
}
