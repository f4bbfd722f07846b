//! Draws a dashboard as SVG.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use plotters::{
    chart::ChartBuilder,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, PathElement, Text},
    prelude::SVGBackend,
    series::LineSeries,
    style::{Color, IntoFont, RGBColor, ShapeStyle, WHITE},
};
use test_harness::picture::in_both_schemes;

use super::{
    body::{Dashboard, Line, Source, Widget},
    metrics::Recorded,
};

/// The size of a cell of the grid, in pixels.
const CELL: (u32, u32) = (40, 48);
/// The space between widgets.
const GAP: u32 = 6;
/// The sizes of the font of titles and of labels.
const TITLE: u32 = 16;
const LABEL: u32 = 15;
/// The height of a row of the legend, and the width of a character in it.
const ROW: u32 = 17;
const CHARACTER: u32 = 7;
/// The width of a legend's line, with the spaces around it.
const MARK: u32 = 34;
const FRAME: RGBColor = RGBColor(210, 214, 220);
const INK: RGBColor = RGBColor(35, 47, 62);
const FAINT: RGBColor = RGBColor(104, 113, 126);
/// Colours that people with colour blindness can tell apart: <https://jfly.uni-koeln.de/color/>, and greys.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 20),
    RGBColor(90, 90, 90),
    RGBColor(160, 160, 160),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws the widgets with metrics into a file.
pub(super) fn draw(dashboard: &Dashboard, recorded: &Recorded, file: &Path) -> Result<(), Box<dyn Error>> {
    let right = dashboard.widgets.iter().map(|widget| widget.x + widget.width).max().unwrap_or(0);
    let top = dashboard.widgets.iter().map(|widget| widget.y).min().unwrap_or(0);
    let bottom = dashboard.widgets.iter().map(|widget| widget.y + widget.height).max().unwrap_or(0);
    let root = SVGBackend::new(file, (right * CELL.0, (bottom - top) * CELL.1)).into_drawing_area();
    root.fill(&WHITE)?;
    for widget in &dashboard.widgets {
        let (x, y) = (widget.x * CELL.0, (widget.y - top) * CELL.1);
        let (width, height) = (widget.width * CELL.0 - GAP, widget.height * CELL.1 - GAP);
        let area = root.clone().shrink((x, y), (width, height));
        draw_widget(&area, widget, recorded)?;
    }
    root.present()?;
    drop(root);
    fs::write(file, in_both_schemes(&fs::read_to_string(file)?))?;
    Ok(())
}

fn draw_widget(area: &Area<'_>, widget: &Widget, recorded: &Recorded) -> Result<(), Box<dyn Error>> {
    let (width, height) = area.dim_in_pixel();
    let (right, bottom) = (i32::try_from(width)? - 1, i32::try_from(height)? - 1);
    area.draw(&PathElement::new([(0, 0), (right, 0), (right, bottom), (0, bottom), (0, 0)], FRAME))?;
    area.draw(&Text::new(widget.title.clone(), (10, 8), ("sans-serif", TITLE).into_font().color(&INK)))?;
    let values: Vec<BTreeMap<i64, f64>> = widget.lines.iter().map(|line| recorded.line(&line.source)).collect();
    let largest = values.iter().flat_map(BTreeMap::values).fold(1.0_f64, |largest, value| largest.max(*value));
    let mut chart = ChartBuilder::on(area)
        .margin_top(34)
        .margin_right(12)
        .margin_bottom(u32::try_from(legend(widget, width).len())? * ROW + 10)
        .margin_left(4)
        .x_label_area_size(22)
        .y_label_area_size(46)
        .build_cartesian_2d(0..recorded.periods(), 0.0..largest * 1.1)?;
    let labels = ("sans-serif", LABEL).into_font().color(&FAINT);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(ShapeStyle::from(WHITE.mix(0.0)))
        .bold_line_style(FRAME)
        .axis_style(FRAME)
        .label_style(labels.clone())
        .axis_desc_style(labels)
        .x_labels(6)
        .y_labels(4)
        .x_label_formatter(&|second| format!("{second} s"))
        .y_label_formatter(&|value| number(*value))
        .y_desc(widget.unit.as_str())
        .draw()?;
    for (index, points) in values.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let line = points.iter().map(|(period, value)| (*period, *value));
        chart.draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?;
        chart.draw_series(line.map(|point| Circle::new(point, 2, colour.filled())))?;
    }
    draw_legend(area, widget)
}

/// Names the lines below the chart.
fn draw_legend(area: &Area<'_>, widget: &Widget) -> Result<(), Box<dyn Error>> {
    let (width, height) = area.dim_in_pixel();
    let rows = legend(widget, width);
    let mut index = 0;
    for (row, labels) in rows.iter().enumerate() {
        let y = i32::try_from(height)? - 8 - i32::try_from(ROW)? * i32::try_from(rows.len() - row)?;
        let mut x = 12;
        for label in labels {
            let colour = COLOURS[index % COLOURS.len()];
            area.draw(&PathElement::new([(x, y + 6), (x + 14, y + 6)], colour.stroke_width(2)))?;
            area.draw(&Text::new(label.clone(), (x + 20, y), ("sans-serif", LABEL).into_font().color(&INK)))?;
            x += i32::try_from(width_of(label))?;
            index += 1;
        }
    }
    Ok(())
}

/// The labels of the lines, in rows that fit into a width.
fn legend(widget: &Widget, width: u32) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for label in widget.lines.iter().map(label_of) {
        let taken = |row: &[String]| row.iter().map(|label| width_of(label)).sum::<u32>();
        match rows.last_mut().filter(|row| taken(row) + width_of(&label) <= width) {
            Some(row) => row.push(label),
            None => rows.push(vec![label]),
        }
    }
    rows
}

fn label_of(line: &Line) -> String {
    match line.source {
        Source::OfAws => format!("{} (by AWS)", line.label),
        Source::Metric(_) | Source::Quotient(..) => line.label.clone(),
    }
}

fn width_of(label: &str) -> u32 {
    u32::try_from(label.chars().count()).unwrap_or(u32::MAX / CHARACTER) * CHARACTER + MARK
}

fn number(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
