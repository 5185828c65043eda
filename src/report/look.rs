//! Colours, dashes and sizes of the pictures.
//!
//! Colours are Okabe and Ito's, which colour-blind readers can tell apart; dashes differ too, for print in
//! grey. A mix of the paper keeps its colour in every experiment, near to the one the paper gave it.

use plotters::style::RGBColor;

use super::{csv::Mix, paper};

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

/// Size of the letters of a picture's title.
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

/// The pen of a line that is alone.
pub(super) fn first_pen() -> Pen {
    PENS[1]
}

/// The pens of own, training-set and held-out reward where they stand in one panel.
pub(super) fn series_pens() -> [Pen; 3] {
    [PENS[0], PENS[3], PENS[2]]
}

/// Pens for as many lines as there are values of a sweep; they repeat after the seventh.
pub(super) fn sweep_pens(count: usize) -> Vec<Pen> {
    PENS.into_iter().cycle().take(count).collect()
}

/// A pen for each of the mixes.
pub(super) fn pens(mixes: &[Mix]) -> Vec<Pen> {
    let mut others = (PAPER_PENS..PENS.len()).cycle();
    let mut pen = |mix: &Mix| PENS[paper::place(*mix).or_else(|| others.next()).unwrap_or(0)];
    mixes.iter().map(&mut pen).collect()
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
    use super::*;

    #[test]
    fn a_mix_of_the_paper_keeps_its_colour() {
        let mix = |local, external| Mix { local, external };
        let all = pens(&[mix(8, 0), mix(7, 1), mix(4, 4), mix(1, 7)]);
        assert_eq!(pens(&[mix(4, 4)])[0], all[2]);
        assert_eq!((all[1], all[3]), (PENS[4], PENS[5]));
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
