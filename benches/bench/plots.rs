//! Draws the figures as SVG.

use std::{error::Error, path::Path};

use plotters::{
    chart::ChartBuilder,
    coord::{Shift, combinators::IntoLogRange},
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, Rectangle, Text},
    prelude::SVGBackend,
    series::LineSeries,
    style::{Color, IntoFont, RGBColor, WHITE},
};
use serde_json::Value;

/// The size of the picture, in pixels.
const SIZE: (u32, u32) = (980, 330);
const INK: RGBColor = RGBColor(35, 47, 62);
const FAINT: RGBColor = RGBColor(104, 113, 126);
const LINE: RGBColor = RGBColor(210, 214, 220);
/// Before and now, in colours that people with colour blindness can tell apart: <https://jfly.uni-koeln.de/color/>.
const COLOURS: [RGBColor; 2] = [RGBColor(160, 160, 160), RGBColor(0, 114, 178)];
/// One stop more at commit 34de29d, before all work on speed: tokens in Consul, and instructions.
const STOP_BEFORE: [(f64, f64); 3] = [(100.0, 4.2e6), (10_000.0, 257e6), (50_000.0, 1_304e6)];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the first events and the stops into a file.
pub(crate) fn draw(figures: &Value, file: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(560);
    draw_first_events(&left, &figures["first-events"])?;
    draw_stops(&right, &figures["warm-stops"])?;
    root.present()?;
    Ok(())
}

/// Bars from the left: of each event the round trips before and now.
fn draw_first_events(area: &Area<'_>, rows: &Value) -> Result<(), Box<dyn Error>> {
    /// Where bars begin, how high a row is, and how wide a round trip.
    const BARS: i32 = 200;
    const ROW: i32 = 38;
    const TRIP: f64 = 20.0;
    let text = |size: u32, colour: &RGBColor| ("sans-serif", size).into_font().color(colour);
    area.draw(&Text::new("Round trips of the first event", (12, 10), text(15, &INK)))?;
    for (row, number) in rows.as_array().into_iter().flatten().zip(0..) {
        let top = 44 + number * ROW;
        area.draw(&Text::new(row["event"].as_str().unwrap_or_default().to_owned(), (12, top + 8), text(12, &INK)))?;
        for ((figure, colour), line) in ["roundTripsBefore", "roundTrips"].into_iter().zip(COLOURS).zip(0..) {
            let trips = row[figure].as_f64().ok_or(figure)?;
            let (y, end) = (top + line * 15, BARS + pixels(trips * TRIP));
            area.draw(&Rectangle::new([(BARS, y), (end, y + 12)], colour.filled()))?;
            area.draw(&Text::new(format!("{trips:.1}"), (end + 6, y + 1), text(11, &FAINT)))?;
        }
    }
    draw_legend(area, (BARS, 314))
}

/// Lines over the number of tokens: the instructions of one stop more, before and now.
fn draw_stops(area: &Area<'_>, rows: &Value) -> Result<(), Box<dyn Error>> {
    let labels = ("sans-serif", 11).into_font().color(&FAINT);
    area.draw(&Text::new("Instructions of one stop more", (12, 10), ("sans-serif", 15).into_font().color(&INK)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(40)
        .margin_right(24)
        .margin_bottom(28)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((80.0..60_000.0).log_scale(), (1e6..2e9).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(LINE)
        .axis_style(LINE)
        .label_style(labels.clone())
        .axis_desc_style(labels)
        .x_desc("tokens in Consul")
        .y_desc("million instructions")
        .x_label_formatter(&|tokens| format!("{tokens:.0}"))
        .y_label_formatter(&|count| format!("{:.0}", count / 1e6))
        .draw()?;
    let point = |row: &Value| Some((row["tokens"].as_f64()?, row["instructions"].as_f64()?));
    let now = rows.as_array().into_iter().flatten().filter_map(point).collect();
    for (points, colour) in [STOP_BEFORE.to_vec(), now].into_iter().zip(COLOURS) {
        chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    draw_legend(area, (76, 314))
}

/// Names the colours.
fn draw_legend(area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), Box<dyn Error>> {
    for ((name, colour), number) in ["before (34de29d)", "now"].into_iter().zip(COLOURS).zip(0..) {
        let x = x + number * 120;
        area.draw(&Rectangle::new([(x, y), (x + 12, y + 10)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 18, y), ("sans-serif", 11).into_font().color(&INK)))?;
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "a few hundred pixels")]
fn pixels(length: f64) -> i32 {
    length.round() as i32
}
