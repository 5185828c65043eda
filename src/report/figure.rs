//! A picture: a title, a line that says what lines and bands are, a legend and a grid of panels.

use std::path::Path;

use anyhow::Result;

use super::{
    canvas::{self, Canvas, Point, TextStyle, text_width},
    panel::{Panel, Scale, Y_LABEL},
    theme::{self, Pen},
};

/// Width of every picture.
const WIDTH: f64 = 1800.0;
/// Free space at the edges.
const MARGIN: f64 = 30.0;

/// A picture before it is drawn.
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) subtitle: String,
    /// What the legend names.
    pub(super) legend_head: &'static str,
    pub(super) legend: Vec<(Pen, String)>,
    pub(super) y_label: &'static str,
    pub(super) panels: Vec<Panel>,
    pub(super) columns: usize,
    /// Height of one panel.
    pub(super) height: f64,
}

impl Figure {
    /// Draws it into a PNG file.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let rows = self.panels.len().div_ceil(self.columns).max(1);
        let entries = self.legend_entries()?;
        let top = match entries.last() {
            Some((_, y)) => y + ROW - 16.0,
            None => LEGEND_TOP - 14.0,
        };
        let height = top + rows as f64 * self.height + 20.0;
        canvas::write(path, (WIDTH as u32, height as u32), |canvas| {
            let title = TextStyle {
                bold: true,
                ..TextStyle::new(theme::TITLE, theme::INK)
            };
            canvas.text((MARGIN, 44.0), &self.title, title)?;
            canvas.text(
                (MARGIN, 96.0),
                &self.subtitle,
                TextStyle::new(theme::SUBTITLE, theme::GREY),
            )?;
            self.draw_legend(canvas, &entries)?;
            // The first column alone has room for the label of the y axis.
            let width = (WIDTH - 2.0 * MARGIN - Y_LABEL) / self.columns as f64;
            for (at, panel) in self.panels.iter().enumerate() {
                let (row, column) = (at / self.columns, at % self.columns);
                let (y_label, room) = if column == 0 {
                    (self.y_label, Y_LABEL)
                } else {
                    ("", 0.0)
                };
                let left = MARGIN + Y_LABEL + column as f64 * width - room;
                let corner = (left, top + row as f64 * self.height);
                panel.draw(canvas, y_label, corner, (width + room, self.height))?;
            }
            Ok(())
        })
    }

    /// Where each entry of the legend begins; rows end where the picture does.
    fn legend_entries(&self) -> Result<Vec<Point>> {
        let style = TextStyle::new(theme::LABEL, theme::INK);
        let start = MARGIN + text_width(self.legend_head, style)? + 30.0;
        let (mut x, mut y) = (start, LEGEND_TOP + 16.0);
        let mut entries = Vec::new();
        for (_, name) in &self.legend {
            let width = STROKE + 14.0 + text_width(name, style)?;
            if x > start && x + width > WIDTH - MARGIN {
                (x, y) = (start, y + ROW);
            }
            entries.push((x, y));
            x += width + 44.0;
        }
        Ok(entries)
    }

    fn draw_legend(&self, canvas: &Canvas<'_>, entries: &[Point]) -> Result<()> {
        let style = TextStyle::new(theme::LABEL, theme::INK);
        if !entries.is_empty() {
            canvas.text((MARGIN, LEGEND_TOP + 16.0), self.legend_head, style)?;
        }
        for (&(x, y), (pen, name)) in entries.iter().zip(&self.legend) {
            canvas.line(&[(x, y), (x + STROKE, y)], *pen)?;
            canvas.text((x + STROKE + 14.0, y), name, style)?;
        }
        Ok(())
    }
}

/// Where the legend begins.
const LEGEND_TOP: f64 = 138.0;
/// Height of a row of the legend.
const ROW: f64 = 52.0;
/// Length of a line of the legend.
const STROKE: f64 = 84.0;

/// The same y axis for all panels.
pub(super) fn same_axis(mut panels: Vec<Panel>) -> Vec<Panel> {
    let same = Scale::holding(panels.iter().flat_map(|panel| &panel.lines));
    panels.iter_mut().for_each(|panel| panel.y = same);
    panels
}

/// How many panels stand side by side.
pub(super) fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}
