//! A picture: a title, a line that says what lines and bands are, a legend and a grid of panels.

use std::path::Path;

use anyhow::Result;

use super::{
    canvas::{self, Canvas, Letters},
    look::{self, Pen},
    panel::{Panel, Scale, Y_LABEL},
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
        let legend_top = 138.0;
        let top = legend_top
            + if self.legend.is_empty() {
                -14.0
            } else {
                52.0 * self.legend_rows() as f64
            };
        let height = top + rows as f64 * self.height + 20.0;
        canvas::png(path, (WIDTH as u32, height as u32), |canvas| {
            let title = Letters {
                bold: true,
                ..Letters::new(look::TITLE, look::INK)
            };
            canvas.text((MARGIN, 44.0), &self.title, title)?;
            canvas.text(
                (MARGIN, 96.0),
                &self.subtitle,
                Letters::new(look::SUBTITLE, look::GREY),
            )?;
            self.draw_legend(canvas, legend_top)?;
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

    fn legend_rows(&self) -> usize {
        self.legend.len().div_ceil(LEGEND_COLUMNS)
    }

    fn draw_legend(&self, canvas: &Canvas<'_>, top: f64) -> Result<()> {
        let letters = Letters::new(look::LABEL, look::INK);
        if self.legend.is_empty() {
            return Ok(());
        }
        canvas.text((MARGIN, top + 16.0), self.legend_head, letters)?;
        let start = MARGIN + canvas.width(self.legend_head, letters)? + 30.0;
        let mut x = start;
        for (at, (pen, name)) in self.legend.iter().enumerate() {
            if at % LEGEND_COLUMNS == 0 {
                x = start;
            }
            let y = top + 16.0 + 52.0 * (at / LEGEND_COLUMNS) as f64;
            canvas.line(&[(x, y), (x + 84.0, y)], *pen)?;
            canvas.text((x + 98.0, y), name, letters)?;
            x += 98.0 + canvas.width(name, letters)? + 44.0;
        }
        Ok(())
    }
}

/// Entries in a row of the legend.
const LEGEND_COLUMNS: usize = 6;

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
