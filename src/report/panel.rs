//! One panel: a frame with ticks, a light grid, bands, lines, and labels at the ends of the lines.
//!
//! It knows numbers and pixels, not what is plotted.

use anyhow::Result;
use plotters::style::{RGBColor, WHITE, text_anchor::HPos};

use super::{
    canvas::{Canvas, Point, TextStyle, text_width},
    curves::Curve,
    theme::{self, Pen},
};

/// What the label of a y axis adds to the width of a panel.
pub(super) const Y_LABEL: f64 = 40.0;

/// A curve, how it is drawn, and the text at its end.
pub(super) struct Line {
    pub(super) curve: Curve,
    pub(super) pen: Pen,
    /// Empty for none.
    pub(super) label: String,
}

impl Line {
    fn label_style(&self) -> TextStyle {
        TextStyle {
            bold: true,
            ..TextStyle::new(theme::LABEL, self.pen.color)
        }
    }
}

/// What a panel shows.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    /// What the x axis counts.
    pub(super) x_label: &'static str,
    /// The last number on the x axis, which starts at 0.
    pub(super) x_end: f64,
    /// Where its ticks stand and what they say; round numbers where nobody says.
    pub(super) x_ticks: Option<Vec<(f64, String)>>,
    /// The range of the y axis.
    pub(super) y: Scale,
}

/// The range of an axis and the distance between its ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// `low` to `high`, widened to halves of a round step, of which there are about `ticks`.
    pub(super) fn around(low: f64, high: f64, ticks: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let step = round_step(span / ticks);
        let half = step / 2.0;
        Scale {
            low: (low / half).floor() * half,
            high: ((low + span) / half).ceil() * half,
            step,
        }
    }

    /// An x axis from 0 to `end`, with a tick at the end where a round step of at least `end / ticks` divides it.
    fn rounds(end: f64, ticks: f64) -> Self {
        let least = end / ticks;
        let power = 10_f64.powf(least.log10().floor());
        let steps =
            [1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0].map(|times| times * power);
        let divides = |step: &f64| {
            *step >= least && *step <= 2.0 * least && step.fract() == 0.0 && end % step == 0.0
        };
        let step = steps
            .into_iter()
            .find(divides)
            .unwrap_or(round_step(least).max(1.0));
        Scale {
            low: 0.0,
            high: end,
            step,
        }
    }

    /// A y axis that holds all lines, and bands as far as they do not dwarf the lines. It starts at 0
    /// unless something is below.
    pub(super) fn holding<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Self {
        let (mut low, mut high, mut band_low, mut band_high) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
        for Line { curve, .. } in lines {
            for &(_, y) in &curve.points {
                (low, high) = (low.min(y), high.max(y));
            }
            for &(_, from, to) in &curve.band {
                (band_low, band_high) = (band_low.min(from), band_high.max(to));
            }
        }
        let room = 0.4 * (high - low);
        let below = if low < 0.0 { room } else { 0.0 };
        Scale::around(
            low.min(band_low.max(low - below)),
            high.max(band_high.min(high + room)),
            7.0,
        )
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step - 1e-6).ceil() as i64;
        let last = (self.high / self.step + 1e-6).floor() as i64;
        (first..=last).map(move |at| at as f64 * self.step)
    }

    fn text(self, value: f64) -> String {
        let decimals = (0..6_usize).find(|&d| {
            let scaled = self.step * 10_f64.powi(d as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        });
        format!("{value:.*}", decimals.unwrap_or(6))
    }
}

/// The 1, 2, 2.5 or 5 times a power of ten that is next above.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|times| times * power >= step * 0.999_999);
    times.unwrap_or(10.0) * power
}

/// Where the inside of a panel lies on the canvas.
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x_end: f64,
    y: Scale,
}

impl Frame {
    fn place(&self, (x, y): Point) -> Point {
        let part = ((y - self.y.low) / (self.y.high - self.y.low)).clamp(0.0, 1.0);
        (
            self.left + x / self.x_end * (self.right - self.left),
            self.bottom - part * (self.bottom - self.top),
        )
    }
}

impl Panel {
    /// Draws the panel into the box from `corner`, `size` wide and high. `y_label` is empty where the panel
    /// to the left says it.
    pub(super) fn draw(
        &self,
        canvas: &Canvas<'_>,
        y_label: &str,
        corner: Point,
        size: Point,
    ) -> Result<()> {
        let y_room = if y_label.is_empty() { 0.0 } else { Y_LABEL };
        let frame = Frame {
            left: corner.0 + 84.0 + y_room,
            top: corner.1 + 58.0,
            right: corner.0 + size.0 - self.label_room()?,
            bottom: corner.1 + size.1 - 84.0,
            x_end: self.x_end,
            y: self.y,
        };
        self.axes(canvas, &frame)?;
        let label = TextStyle {
            anchor: HPos::Center,
            ..TextStyle::new(theme::LABEL, theme::INK)
        };
        let vertical = TextStyle {
            vertical: true,
            ..label
        };
        let faint = TextStyle {
            color: theme::GREY,
            ..label
        };
        let (across, down) = (
            f64::midpoint(frame.left, frame.right),
            f64::midpoint(frame.top, frame.bottom),
        );
        canvas.text((across, frame.bottom + 62.0), self.x_label, label)?;
        canvas.text((corner.0 + 16.0, down), y_label, vertical)?;
        if self.lines.iter().all(|line| line.curve.points.is_empty()) {
            return canvas.text((across, down), "no numbers", faint);
        }
        self.curves(canvas, &frame)?;
        self.end_labels(canvas, &frame)
    }

    /// All bands, then all lines.
    fn curves(&self, canvas: &Canvas<'_>, frame: &Frame) -> Result<()> {
        for Line { curve, pen, .. } in &self.lines {
            let low = curve.band.iter().map(|&(x, low, _)| (x, low));
            let high = curve.band.iter().rev().map(|&(x, _, high)| (x, high));
            let edge: Vec<Point> = low.chain(high).map(|point| frame.place(point)).collect();
            if !edge.is_empty() {
                canvas.fill(&edge, pen.color, 0.13)?;
            }
        }
        for Line { curve, pen, .. } in &self.lines {
            let points = curve.points.iter();
            let points: Vec<Point> = points.map(|&point| frame.place(point)).collect();
            canvas.line(&points, *pen)?;
        }
        Ok(())
    }

    fn axes(&self, canvas: &Canvas<'_>, frame: &Frame) -> Result<()> {
        let &Frame {
            left: x0,
            top,
            right: x1,
            bottom,
            ..
        } = frame;
        let solid = |color: RGBColor, width: f64| Pen {
            color,
            dash: &[],
            width,
        };
        let (grid, axis) = (solid(theme::GRID, 1.0), solid(theme::INK, 1.5));
        let across = TextStyle {
            anchor: HPos::Center,
            ..TextStyle::new(theme::TICK, theme::INK)
        };
        let down = TextStyle {
            anchor: HPos::Right,
            ..across
        };
        for y in self.y.ticks() {
            let (_, at) = frame.place((0.0, y));
            canvas.line(&[(x0, at), (x1, at)], grid)?;
            canvas.text((x0 - 12.0, at), &self.y.text(y), down)?;
        }
        let x = Scale::rounds(self.x_end, ((x1 - x0) / 90.0).clamp(3.0, 8.0));
        let ticks = self.x_ticks.clone();
        let ticks = ticks.unwrap_or_else(|| x.ticks().map(|at| (at, x.text(at))).collect());
        for (x, text) in &ticks {
            let (at, _) = frame.place((*x, 0.0));
            canvas.line(&[(at, top), (at, bottom)], grid)?;
            canvas.line(&[(at, bottom), (at, bottom + 7.0)], axis)?;
            canvas.text((at, bottom + 26.0), text, across)?;
        }
        canvas.line(&[(x0, top), (x0, bottom), (x1, bottom)], axis)?;
        let title = TextStyle {
            bold: true,
            ..TextStyle::new(theme::PANEL, theme::INK)
        };
        canvas.text((x0, top - 30.0), &self.title, title)
    }

    /// What the labels at the ends of the lines take of the width.
    fn label_room(&self) -> Result<f64> {
        let mut room: f64 = 30.0;
        for line in self.lines.iter().filter(|line| !line.label.is_empty()) {
            room = room
                .max(84.0)
                .max(text_width(&line.label, line.label_style())?);
        }
        Ok(room)
    }

    /// The labels at the ends of the lines, moved apart where they would lie on each other.
    fn end_labels(&self, canvas: &Canvas<'_>, frame: &Frame) -> Result<()> {
        let labelled = self.lines.iter().filter(|line| !line.label.is_empty());
        let mut ends: Vec<(Point, &Line)> = labelled
            .filter_map(|line| Some((frame.place(*line.curve.points.last()?), line)))
            .collect();
        ends.sort_by(|((_, a), _), ((_, b), _)| a.total_cmp(b));
        let wanted: Vec<f64> = ends.iter().map(|((_, y), _)| *y).collect();
        for (&((x, _), line), y) in
            ends.iter()
                .zip(spread(&wanted, theme::LABEL, (frame.top, frame.bottom)))
        {
            let style = line.label_style();
            if x < frame.right {
                // A line that ends early has its label among the others: make room for it.
                let (from, to) = (x + 6.0, x + 14.0 + text_width(&line.label, style)?);
                let (top, bottom) = (y - theme::LABEL / 2.0, y + theme::LABEL / 2.0);
                canvas.fill(
                    &[(from, top), (to, top), (to, bottom), (from, bottom)],
                    WHITE,
                    0.8,
                )?;
            }
            canvas.text((x + 10.0, y), &line.label, style)?;
        }
        Ok(())
    }
}

/// Sorted heights moved apart to at least `gap`, each cluster around its middle, from `top` to `bottom`.
fn spread(wanted: &[f64], gap: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    // Less `gap` times its place, each height must be no less than the one before: where it is, the two
    // are pooled at their mean.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (place, height) in wanted.iter().enumerate() {
        let mut pool = (height - place as f64 * gap, 1);
        while let Some((above, size)) = pools.pop_if(|(above, _)| *above > pool.0) {
            let sum = above * size as f64 + pool.0 * pool.1 as f64;
            pool = (sum / (size + pool.1) as f64, size + pool.1);
        }
        pools.push(pool);
    }
    let heights = pools
        .into_iter()
        .flat_map(|(height, size)| std::iter::repeat_n(height, size));
    let place_each = |(place, height): (usize, f64)| {
        let (above, below) = (place as f64 * gap, (wanted.len() - 1 - place) as f64 * gap);
        (height + above).min(bottom - below).max(top + above)
    };
    heights.enumerate().map(place_each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let check = |low, high, expected: &str| {
            let scale = Scale::around(low, high, 5.0);
            assert_eq!(
                scale
                    .ticks()
                    .map(|tick| scale.text(tick))
                    .collect::<Vec<_>>()
                    .join(" "),
                expected
            );
        };
        check(0.0, 0.43, "0.0 0.1 0.2 0.3 0.4");
        check(0.0, 1093.0, "0 250 500 750 1000");
        check(0.0, 0.0, "0.0 0.2 0.4 0.6 0.8 1.0");
        check(-3.0, 11.0, "-5 0 5 10");
    }

    #[test]
    fn rounds_end_with_a_tick_where_one_fits() {
        let check = |end, ticks, expected: &str| {
            let scale = Scale::rounds(end, ticks);
            assert_eq!(
                scale
                    .ticks()
                    .map(|tick| scale.text(tick))
                    .collect::<Vec<_>>()
                    .join(" "),
                expected
            );
        };
        check(120.0, 5.0, "0 30 60 90 120");
        check(200.0, 8.0, "0 25 50 75 100 125 150 175 200");
        check(2000.0, 5.0, "0 400 800 1200 1600 2000");
        check(17.0, 5.0, "0 5 10 15");
        check(3.0, 8.0, "0 1 2 3");
        check(1.0, 8.0, "0 1");
    }

    #[test]
    fn labels_move_apart_around_their_middle() {
        assert_eq!(spread(&[10.0, 50.0], 20.0, (0.0, 99.0)), [10.0, 50.0]);
        assert_eq!(spread(&[50.0, 50.0], 20.0, (0.0, 99.0)), [40.0, 60.0]);
        assert_eq!(
            spread(&[50.0, 50.0, 50.0], 20.0, (0.0, 99.0)),
            [30.0, 50.0, 70.0]
        );
        assert_eq!(spread(&[90.0, 95.0], 20.0, (0.0, 100.0)), [80.0, 100.0]);
        assert_eq!(spread(&[5.0, 5.0], 20.0, (0.0, 100.0)), [0.0, 20.0]);
    }
}
