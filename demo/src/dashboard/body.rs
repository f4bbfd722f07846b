//! The body of a dashboard:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html>

use serde_json::Value;

/// The dimension of a queue's metrics.
pub(super) const QUEUE: &str = "QueueName";

/// The widgets with metrics.
pub(super) struct Dashboard {
    pub(super) widgets: Vec<Widget>,
}

/// A widget, in the grid of 24 columns.
pub(super) struct Widget {
    pub(super) title: String,
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    /// What its axis counts.
    pub(super) unit: String,
    pub(super) lines: Vec<Line>,
}

/// A line in a widget.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) source: Source,
}

/// What a line shows.
pub(super) enum Source {
    /// A statistic of a metric.
    Metric(MetricLine),
    /// One metric divided by another.
    Quotient(MetricLine, MetricLine),
    /// A metric that AWS counts, and that is not read here.
    OfAws,
}

/// A statistic of a metric.
#[derive(Clone)]
pub(super) struct MetricLine {
    pub(super) name: String,
    /// Names and values.
    pub(super) dimensions: Vec<(String, String)>,
    /// `Sum`, `Average`, `Maximum`, or a percentile such as `p90`.
    pub(super) stat: String,
}

impl Dashboard {
    pub(super) fn parse(body: &Value) -> Self {
        let widgets = body["widgets"].as_array().expect("widgets").iter();
        Self { widgets: widgets.filter(|widget| widget["type"] == "metric").map(Widget::parse).collect() }
    }
}

impl Widget {
    fn parse(widget: &Value) -> Self {
        let number = |name: &str| u32::try_from(widget[name].as_u64().expect("a number")).expect("a small number");
        let properties = &widget["properties"];
        let stat = text(&properties["stat"]);
        let rows: Vec<&Vec<Value>> = properties["metrics"]
            .as_array()
            .expect("metrics")
            .iter()
            .map(|row| row.as_array().expect("a row"))
            .collect();
        Self {
            title: text(&properties["title"]),
            x: number("x"),
            y: number("y"),
            width: number("width"),
            height: number("height"),
            unit: text(&properties["yAxis"]["left"]["label"]),
            lines: rows.iter().filter_map(|row| Line::parse(row, &rows, &stat)).collect(),
        }
    }
}

impl Line {
    /// The line of a row; `None` if the row is not visible.
    fn parse(row: &[Value], rows: &[&Vec<Value>], stat: &str) -> Option<Self> {
        let options = row.last().filter(|last| last.is_object()).cloned().unwrap_or_default();
        if options["visible"] == false {
            return None;
        }
        let source = if let Some(expression) = options["expression"].as_str() {
            let (above, below) = expression.split_once(" / ").expect("a quotient");
            let named = |id: &str| {
                let row = rows.iter().find(|row| row.last().is_some_and(|options| options["id"] == id));
                MetricLine::parse(row.expect("the metric of an expression"), stat)
            };
            Source::Quotient(named(above), named(below))
        } else if row[0].as_str().is_some_and(|namespace| namespace.starts_with("AWS/") && namespace != "AWS/SQS") {
            Source::OfAws
        } else {
            Source::Metric(MetricLine::parse(row, options["stat"].as_str().unwrap_or(stat)))
        };
        Some(Self { label: text(&options["label"]), source })
    }
}

impl MetricLine {
    fn parse(row: &[Value], stat: &str) -> Self {
        let texts: Vec<&str> = row.iter().filter_map(Value::as_str).collect();
        let (pairs, _) = texts[2..].as_chunks::<2>();
        let dimensions = pairs.iter().map(|[name, value]| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { name: texts[1].to_owned(), dimensions, stat: stat.to_owned() }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
