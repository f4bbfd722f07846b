//! Draws a dashboard as SVG.

use std::{collections::BTreeMap, error::Error, path::Path};

use plotters::{
    chart::ChartBuilder,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, PathElement, Text},
    prelude::SVGBackend,
    series::LineSeries,
    style::{Color, IntoFont, RGBColor, ShapeStyle, WHITE},
};

use super::{
    body::{Dashboard, Source, Widget},
    metrics::Recorded,
};

/// The size of a cell of the grid, in pixels.
const CELL: (u32, u32) = (50, 40);
/// The space between widgets.
const GAP: u32 = 6;
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
    Ok(())
}

fn draw_widget(area: &Area<'_>, widget: &Widget, recorded: &Recorded) -> Result<(), Box<dyn Error>> {
    let (width, height) = area.dim_in_pixel();
    let (right, bottom) = (i32::try_from(width)? - 1, i32::try_from(height)? - 1);
    area.draw(&PathElement::new([(0, 0), (right, 0), (right, bottom), (0, bottom), (0, 0)], FRAME))?;
    area.draw(&Text::new(widget.title.clone(), (10, 8), ("sans-serif", 15).into_font().color(&INK)))?;
    let values: Vec<BTreeMap<i64, f64>> = widget.lines.iter().map(|line| recorded.line(&line.source)).collect();
    let largest = values.iter().flat_map(BTreeMap::values).fold(1.0_f64, |largest, value| largest.max(*value));
    let mut chart = ChartBuilder::on(area)
        .margin_top(34)
        .margin_right(12)
        .margin_bottom(u32::try_from(widget.lines.len().div_ceil(2))? * 15 + 8)
        .margin_left(4)
        .x_label_area_size(22)
        .y_label_area_size(46)
        .build_cartesian_2d(0..recorded.periods(), 0.0..largest * 1.1)?;
    let labels = ("sans-serif", 11).into_font().color(&FAINT);
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

/// Names the lines below the chart, in two columns.
fn draw_legend(area: &Area<'_>, widget: &Widget) -> Result<(), Box<dyn Error>> {
    let (width, height) = area.dim_in_pixel();
    let rows = widget.lines.len().div_ceil(2);
    for (index, line) in widget.lines.iter().enumerate() {
        let (column, row) = (index / rows, index % rows);
        let x = i32::try_from(column)? * i32::try_from(width / 2)? + 12;
        let y = i32::try_from(height)? - 10 - 15 * i32::try_from(rows - row)?;
        let colour = COLOURS[index % COLOURS.len()];
        area.draw(&PathElement::new([(x, y + 6), (x + 14, y + 6)], colour.stroke_width(2)))?;
        let label = match line.source {
            Source::OfAws => format!("{} (by AWS)", line.label),
            Source::Metric(_) | Source::Quotient(..) => line.label.clone(),
        };
        area.draw(&Text::new(label, (x + 20, y), ("sans-serif", 11).into_font().color(&INK)))?;
    }
    Ok(())
}

fn number(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
