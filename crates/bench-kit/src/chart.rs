//! A chart a backend: horizontal bars of kernel, floor, best peer and baselines, row by row.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::results::{Results, Row, write};
use crate::table::short;
use crate::{Error, Result};

const WIDTH: i32 = 960;
const LEFT: i32 = 400;
const RIGHT: i32 = WIDTH - 90;
const TOP: i32 = 78;
const BAR: i32 = 13;
const GAP: i32 = 3;
const GROUP_GAP: i32 = 14;
const BOTTOM: i32 = 16;

/// The SVG backend divides font sizes by this; `size` of a text is what the reader gets.
const EM_PER_PIXEL: f64 = 1.24;

/// Beyond this ratio of longest to shortest bar, the short ones vanish on a linear axis.
const LOG_FROM: f64 = 25.0;

const INK: RGBColor = RGBColor(33, 37, 41);
const MUTED: RGBColor = RGBColor(90, 98, 104);
const GRID: RGBColor = RGBColor(222, 226, 230);
const KERNEL: RGBColor = RGBColor(0, 92, 175);
const FLOOR: RGBColor = RGBColor(160, 168, 176);
const PEER: RGBColor = RGBColor(217, 110, 0);
const BASELINE: RGBColor = RGBColor(122, 78, 150);

struct Bar {
    name: String,
    us: f64,
    colour: RGBColor,
}

fn bars(row: &Row) -> Vec<Bar> {
    let floor = row
        .floor_us
        .min(row.target_floor_us.unwrap_or(f64::INFINITY));
    let bar = |name: &str, us, colour| Bar {
        name: name.into(),
        us,
        colour,
    };
    let mut bars = vec![
        bar("kernel", row.median_us, KERNEL),
        bar("floor", floor, FLOOR),
    ];
    bars.extend(row.best_peer().map(|(name, us)| bar(name, us, PEER)));
    bars.extend(
        row.baselines
            .iter()
            .map(|(name, us)| bar(name, *us, BASELINE)),
    );
    bars
}

/// The horizontal axis.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(groups: &[(&Row, Vec<Bar>)]) -> Self {
        let all = || {
            groups
                .iter()
                .flat_map(|(_, bars)| bars.iter().map(|bar| bar.us))
        };
        let shortest = all().fold(f64::INFINITY, f64::min);
        let longest = all().fold(0.0, f64::max);
        if longest / shortest > LOG_FROM {
            // From half the shortest, so that it still has a bar.
            Self {
                low: shortest / 2.0,
                high: longest,
                log: true,
            }
        } else {
            Self {
                low: 0.0,
                high: longest,
                log: false,
            }
        }
    }

    fn x(&self, us: f64) -> i32 {
        let share = if self.log {
            (us / self.low).ln() / (self.high / self.low).ln()
        } else {
            us / self.high
        };
        LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
    }

    /// Round numbers along the axis: 1, 2, 5, 10, .. on a logarithmic one, else at most six.
    fn ticks(&self) -> Vec<f64> {
        let mut steps = (-3..9).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)));
        if self.log {
            steps
                .filter(|us| (self.low..=self.high).contains(us))
                .collect()
        } else {
            let step = steps
                .find(|step| self.high / step <= 6.0)
                .unwrap_or(self.high);
            (1..)
                .map(|i| f64::from(i) * step)
                .take_while(|us| *us <= self.high)
                .collect()
        }
    }
}

/// Draws the chart of a backend's results as SVG. `None` where there are no rows.
///
/// # Errors
/// [`Error::Chart`].
pub fn svg(results: &Results) -> Result<Option<String>> {
    let groups: Vec<(&Row, Vec<Bar>)> = results.rows.iter().map(|row| (row, bars(row))).collect();
    let Some((first, _)) = groups.first() else {
        return Ok(None);
    };
    let rows: i32 = groups.iter().map(|(_, bars)| bars.len() as i32).sum();
    let height = TOP + rows * (BAR + GAP) + groups.len() as i32 * GROUP_GAP + BOTTOM;
    let axis = Axis::of(&groups);
    let mut text = String::new();
    {
        let size = (WIDTH as u32, height as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let canvas = Canvas { area };
        canvas.area.fill(&WHITE).map_err(failed)?;
        let scale = if axis.log { ", logarithmic axis" } else { "" };
        let title = format!(
            "{} on {}: microseconds a call{scale}",
            first.backend, results.gpu
        );
        canvas.text(&title, (16, 24), 17, INK, HPos::Left)?;
        let mut x = 16;
        for (name, colour) in [
            ("kernel", KERNEL),
            ("floor", FLOOR),
            ("best peer", PEER),
            ("replaced design", BASELINE),
        ] {
            canvas.rectangle((x, 42), (x + 12, 54), colour)?;
            canvas.text(name, (x + 17, 48), 12, INK, HPos::Left)?;
            x += 17 + 8 * name.len() as i32 + 16;
        }
        for us in axis.ticks() {
            let x = axis.x(us);
            canvas.rectangle((x, TOP - 4), (x + 1, height - BOTTOM), GRID)?;
            let label = if us < 1.0 {
                format!("{us}")
            } else {
                format!("{us:.0}")
            };
            canvas.text(&label, (x, TOP - 12), 11, MUTED, HPos::Center)?;
        }
        let mut y = TOP;
        for (row, bars) in &groups {
            let middle = y + (bars.len() as i32 * (BAR + GAP)) / 2 - 8;
            canvas.text(&row.case, (16, middle), 12, INK, HPos::Left)?;
            let kind = format!("{}, {}", row.mode, row.class);
            canvas.text(&kind, (16, middle + 15), 11, MUTED, HPos::Left)?;
            for bar in bars {
                let centre = y + BAR / 2;
                canvas.text(&bar.name, (LEFT - 8, centre), 11, INK, HPos::Right)?;
                canvas.rectangle(
                    (LEFT, y),
                    (axis.x(bar.us).max(LEFT + 1), y + BAR),
                    bar.colour,
                )?;
                canvas.text(
                    &short(bar.us),
                    (axis.x(bar.us) + 5, centre),
                    11,
                    INK,
                    HPos::Left,
                )?;
                y += BAR + GAP;
            }
            y += GROUP_GAP;
        }
        canvas.area.present().map_err(failed)?;
    }
    Ok(Some(text))
}

/// Writes the chart beside the results, `<name>.svg` for `<name>.json`. Returns whether there was one.
///
/// # Errors
/// [`Error::Chart`] or [`Error::File`].
pub fn write_beside(results: &Results, json: &Path) -> Result<bool> {
    match svg(results)? {
        Some(text) => write(&json.with_extension("svg"), &text).map(|()| true),
        None => Ok(false),
    }
}

struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl Canvas<'_> {
    fn rectangle(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Result<()> {
        self.area
            .draw(&Rectangle::new([from, to], colour.filled()))
            .map_err(failed)
    }

    fn text(
        &self,
        text: &str,
        at: (i32, i32),
        size: i32,
        colour: RGBColor,
        side: HPos,
    ) -> Result<()> {
        let style = ("sans-serif", f64::from(size) * EM_PER_PIXEL)
            .into_font()
            .color(&colour);
        let style = style.pos(Pos::new(side, VPos::Center));
        self.area
            .draw(&Text::new(text.to_string(), at, style))
            .map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Chart(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn every_bar_of_every_row_is_drawn_and_labelled_on_white() {
        let svg = svg(&sample()).unwrap().expect("there are rows");
        for label in [
            "dot-4x8",
            "dot-too-fast",
            "cold, exact",
            "kernel",
            "fast peer",
            "one block",
        ] {
            assert!(svg.contains(label), "{label} is missing");
        }
        assert!(!svg.contains("slow peer"), "only the best peer has a bar");
        assert!(
            svg.contains("2.40") && svg.contains("13.3"),
            "bars carry their times"
        );
        assert!(svg.contains(r##"fill="#FFFFFF""##));
        let bars = svg.matches("<rect").count();
        // Background, four legend squares, two rows of four bars, and the grid.
        assert!(bars >= 1 + 4 + 8, "{bars} rectangles");
    }

    #[test]
    fn a_longer_time_has_a_longer_bar() {
        for log in [false, true] {
            let axis = Axis {
                low: if log { 0.5 } else { 0.0 },
                high: 100.0,
                log,
            };
            assert!(axis.x(2.0) < axis.x(3.0) && axis.x(3.0) < axis.x(90.0));
        }
    }

    #[test]
    fn a_backend_without_rows_has_no_chart() {
        assert_eq!(svg(&Results::new("Fake One")).unwrap(), None);
    }

    #[test]
    fn an_axis_of_like_bars_is_linear_and_starts_at_zero() {
        let axis = Axis {
            low: 0.0,
            high: 12.0,
            log: false,
        };
        assert_eq!(axis.x(0.0), LEFT);
        assert_eq!(axis.x(12.0), RIGHT);
        assert_eq!(axis.ticks(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    }

    #[test]
    fn a_wide_range_gets_a_logarithmic_axis_with_room_for_the_shortest() {
        let axis = Axis {
            low: 0.5,
            high: 100.0,
            log: true,
        };
        assert_eq!(axis.ticks(), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(axis.x(1.0) > LEFT);
        assert_eq!(axis.x(100.0), RIGHT);
    }
}
