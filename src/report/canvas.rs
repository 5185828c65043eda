//! A picture to draw on, and its way into a PNG file.
//!
//! Plotters fills shapes without smoothing their edges, so everything is drawn three times as large and
//! each block of nine pixels becomes one. Callers give positions in pixels of the finished picture.

use std::{error::Error, path::Path};

use anyhow::{Context, Result, anyhow};
use plotters::{
    coord::Shift,
    prelude::*,
    style::{
        FontStyle, FontTransform, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::theme::Pen;

/// How many times larger than the finished picture.
const FINE: usize = 3;
/// The name under which the fonts are registered.
const FAMILY: &str = "DejaVu Sans";
/// From the middle of a capital letter to the top of its line, in parts of the size, as plotters places it.
const ABOVE_MIDDLE: f64 = 0.19;

/// A point, in pixels from the left and the top.
pub(super) type Point = (f64, f64);

/// How text is drawn; its point is the middle of the height of its capitals.
#[derive(Clone, Copy)]
pub(super) struct TextStyle {
    pub(super) size: f64,
    pub(super) color: RGBColor,
    pub(super) bold: bool,
    /// Where in the text its point is: at the left, in the centre or at the right.
    pub(super) anchor: HPos,
    /// Whether it runs from the bottom to the top.
    pub(super) vertical: bool,
}

impl TextStyle {
    /// Plain text that starts at its point.
    pub(super) fn new(size: f64, color: RGBColor) -> Self {
        TextStyle {
            size,
            color,
            bold: false,
            anchor: HPos::Left,
            vertical: false,
        }
    }

    fn to_plotters(self) -> plotters::style::TextStyle<'static> {
        let weight = if self.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let turn = if self.vertical {
            FontTransform::Rotate270
        } else {
            FontTransform::None
        };
        let font = FontDesc::new(FontFamily::Name(FAMILY), self.size * FINE as f64, weight)
            .transform(turn);
        plotters::style::TextStyle {
            color: self.color.to_backend_color(),
            ..font.into()
        }
        .pos(Pos::new(self.anchor, VPos::Top))
    }
}

/// What panels are drawn on.
pub(super) struct Canvas<'a> {
    area: DrawingArea<BitMapBackend<'a>, Shift>,
}

impl Canvas<'_> {
    /// Draws text.
    pub(super) fn text(&self, (x, y): Point, text: &str, style: TextStyle) -> Result<()> {
        let up = ABOVE_MIDDLE * style.size;
        let at = if style.vertical {
            (x - up, y)
        } else {
            (x, y - up)
        };
        self.area
            .draw(&Text::new(text, fine(at), style.to_plotters()))
            .map_err(failed)
    }

    /// Draws a line through points, dashed as the pen says, with round joints.
    pub(super) fn line(&self, points: &[Point], pen: Pen) -> Result<()> {
        let width = (pen.width * FINE as f64).round() as u32;
        let style = pen.color.stroke_width(width);
        for piece in dashes(points, pen.dash) {
            for pair in piece.windows(2) {
                self.area
                    .draw(&PathElement::new([fine(pair[0]), fine(pair[1])], style))
                    .map_err(failed)?;
            }
            let inner = piece.get(1..piece.len().saturating_sub(1)).unwrap_or(&[]);
            let joints = if pen.dash.is_empty() {
                &piece[..]
            } else {
                inner
            };
            for joint in joints.iter().filter(|_| width > 3) {
                self.area
                    .draw(&Circle::new(fine(*joint), width / 2, pen.color.filled()))
                    .map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Fills the shape between points; `cover` is 0 for glass and 1 for paint.
    pub(super) fn fill(&self, points: &[Point], color: RGBColor, cover: f64) -> Result<()> {
        let points: Vec<(i32, i32)> = points.iter().copied().map(fine).collect();
        self.area
            .draw(&Polygon::new(points, color.mix(cover).filled()))
            .map_err(failed)
    }
}

/// How wide text will be.
pub(super) fn text_width(text: &str, style: TextStyle) -> Result<f64> {
    register_fonts()?;
    let ((left, _), (right, _)) = style.to_plotters().font.layout_box(text).map_err(failed)?;
    Ok(f64::from(right - left) / FINE as f64)
}

fn register_fonts() -> Result<()> {
    for (style, font) in [
        (FontStyle::Normal, dejavu::sans::regular()),
        (FontStyle::Bold, dejavu::sans::bold()),
    ] {
        register_font(FAMILY, style, font)
            .map_err(|_| anyhow!("the built-in font cannot be read"))?;
    }
    Ok(())
}

/// Draws a picture of `size` pixels and writes it as PNG.
pub(super) fn write(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Canvas<'_>) -> Result<()>,
) -> Result<()> {
    register_fonts()?;
    let (width, height) = (size.0 as usize, size.1 as usize);
    let mut pixels = vec![255; 3 * FINE * FINE * width * height];
    {
        let backend =
            BitMapBackend::with_buffer(&mut pixels, (size.0 * FINE as u32, size.1 * FINE as u32));
        let canvas = Canvas {
            area: backend.into_drawing_area(),
        };
        draw(&canvas)?;
        canvas.area.present().map_err(failed)?;
    }
    let pixels = shrink(&pixels, width, height);
    super::output::write_file(
        path,
        &encode(&pixels, size).context("cannot encode a picture")?,
    )
}

/// Pixels of three bytes as the bytes of a PNG file.
fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// Each block of `FINE` times `FINE` pixels becomes its mean.
fn shrink(pixels: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut small = Vec::with_capacity(3 * width * height);
    let mut sums = vec![0_u32; 3 * width];
    for rows in pixels.chunks_exact(3 * FINE * width * FINE) {
        sums.fill(0);
        for row in rows.chunks_exact(3 * FINE * width) {
            for (at, pixel) in row.chunks_exact(3).enumerate() {
                for (channel, value) in pixel.iter().enumerate() {
                    sums[3 * (at / FINE) + channel] += u32::from(*value);
                }
            }
        }
        small.extend(sums.iter().map(|sum| (sum / (FINE * FINE) as u32) as u8));
    }
    small
}

/// The pieces of a path that a dashed pen draws; `dash` holds lengths drawn and skipped in turn.
fn dashes(points: &[Point], dash: &[f64]) -> Vec<Vec<Point>> {
    if dash.is_empty() || points.len() < 2 {
        return vec![points.to_vec()];
    }
    let mut pieces = vec![vec![points[0]]];
    let (mut turn, mut left) = (0, dash[0]);
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let length = dx.hypot(dy);
            let drawn = turn % 2 == 0;
            if length < left {
                left -= length;
                pieces
                    .last_mut()
                    .filter(|_| drawn)
                    .into_iter()
                    .for_each(|piece| piece.push(to));
                break;
            }
            let part = left / length.max(f64::MIN_POSITIVE);
            from = (from.0 + part * dx, from.1 + part * dy);
            if drawn {
                pieces
                    .last_mut()
                    .into_iter()
                    .for_each(|piece| piece.push(from));
            } else {
                pieces.push(vec![from]);
            }
            turn = (turn + 1) % dash.len();
            left = dash[turn];
        }
    }
    pieces
}

fn fine((x, y): Point) -> (i32, i32) {
    (
        (x * FINE as f64).round() as i32,
        (y * FINE as f64).round() as i32,
    )
}

fn failed(error: impl Error) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_path_around_a_corner() {
        let path = [(0.0, 0.0), (4.0, 0.0), (4.0, 5.0)];
        assert_eq!(
            dashes(&path, &[3.0, 2.0]),
            [vec![(0.0, 0.0), (3.0, 0.0)], vec![(4.0, 1.0), (4.0, 4.0)]],
        );
        assert_eq!(dashes(&path, &[]), [path.to_vec()]);
    }

    #[test]
    fn shrinking_takes_the_mean_of_each_block() {
        let mut pixels = vec![0; 3 * FINE * FINE * 2];
        pixels[0] = 90; // the red of one of the nine pixels of the left block
        assert_eq!(shrink(&pixels, 2, 1), [10, 0, 0, 0, 0, 0]);
    }
}
