//! Draws the figures as SVG.

use std::{error::Error, fs, path::Path};

use plotters::{
    chart::ChartBuilder,
    coord::{Shift, combinators::IntoLogRange},
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, Rectangle, Text},
    prelude::SVGBackend,
    series::LineSeries,
    style::{
        Color, IntoFont, RGBColor, WHITE,
        text_anchor::{HPos, Pos, VPos},
    },
};
use serde_json::Value;
use test_harness::picture::in_both_schemes;

/// The size of the picture, in pixels.
const SIZE: (u32, u32) = (980, 300);
const INK: RGBColor = RGBColor(35, 47, 62);
const FAINT: RGBColor = RGBColor(104, 113, 126);
const LINE: RGBColor = RGBColor(210, 214, 220);
const BLUE: RGBColor = RGBColor(0, 114, 178);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the first events and the stops into a file.
pub(crate) fn draw(figures: &Value, file: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(560);
    draw_first_events(&left, &figures["first-events"])?;
    draw_stops(&right, &figures["warm-stops"])?;
    root.present()?;
    drop(root);
    fs::write(file, in_both_schemes(&fs::read_to_string(file)?))?;
    Ok(())
}

/// A bar for each event, as long as its round trips.
fn draw_first_events(area: &Area<'_>, rows: &Value) -> Result<(), Box<dyn Error>> {
    /// Where bars begin, how high a row is, and how wide a round trip.
    const BARS: i32 = 260;
    const ROW: i32 = 34;
    const TRIP: f64 = 32.0;
    let text = |size: u32, colour: &RGBColor| ("sans-serif", size).into_font().color(colour);
    area.draw(&Text::new("Round trips of the first event", (12, 10), text(18, &INK)))?;
    for (row, number) in rows.as_array().into_iter().flatten().zip(0..) {
        let top = 48 + number * ROW;
        let trips = row["roundTrips"].as_f64().ok_or("roundTrips")?;
        let end = BARS + pixels(trips * TRIP);
        area.draw(&Text::new(row["event"].as_str().unwrap_or_default().to_owned(), (12, top + 4), text(15, &INK)))?;
        area.draw(&Rectangle::new([(BARS, top), (end, top + 18)], BLUE.filled()))?;
        area.draw(&Text::new(format!("{trips:.1}"), (end + 6, top + 4), text(14, &FAINT)))?;
    }
    Ok(())
}

/// A line over the number of tokens: the instructions of one stop more.
fn draw_stops(area: &Area<'_>, rows: &Value) -> Result<(), Box<dyn Error>> {
    let labels = ("sans-serif", 14).into_font().color(&FAINT);
    let centred = labels.pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("Instructions of one stop more", (12, 10), ("sans-serif", 18).into_font().color(&INK)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(40)
        .margin_right(24)
        .margin_bottom(28)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((80.0..60_000.0).log_scale(), (1e6..1e9).log_scale())?;
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
        .x_label_formatter(&|_| String::new())
        .y_label_formatter(&|count| format!("{:.0}", count / 1e6))
        .draw()?;
    let point = |row: &Value| Some((row["tokens"].as_f64()?, row["instructions"].as_f64()?));
    let points: Vec<_> = rows.as_array().into_iter().flatten().filter_map(point).collect();
    chart.draw_series(LineSeries::new(points.clone(), BLUE.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, BLUE.filled())))?;
    // Each measured number of tokens has its label: the axis by itself labels powers of ten only.
    let (left, top) = area.get_base_pixel();
    for (tokens, instructions) in points {
        let (x, y) = chart.backend_coord(&(tokens, instructions));
        let (_, axis) = chart.backend_coord(&(tokens, 1e6));
        let label = |text: String, y: i32| Text::new(text, (x - left, y - top), centred.clone());
        area.draw(&label(thousands(tokens), axis + 8))?;
        let (millions, digits) = (instructions / 1e6, usize::from(instructions < 1e7));
        area.draw(&label(format!("{millions:.digits$}"), y - 18))?;
    }
    Ok(())
}

/// A number below a million, with a comma.
fn thousands(number: f64) -> String {
    let number = pixels(number);
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

#[expect(clippy::cast_possible_truncation, reason = "a few hundred pixels, or tokens by the thousand")]
fn pixels(length: f64) -> i32 {
    length.round() as i32
}
