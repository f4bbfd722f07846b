//! Drawn charts that follow the colour scheme of the page that shows them.

/// The colours of charts that a dark scheme replaces: paper, ink, faint ink, lines, and dark colours of data.
const COLOURS: [(&str, &str); 7] = [
    ("#FFFFFF", "#0D1117"),
    ("#232F3E", "#E2E8F0"),
    ("#68717E", "#A0AEC0"),
    ("#D2D6DC", "#3D444D"),
    ("#0072B2", "#4AA8E0"),
    ("#785E14", "#C9A24B"),
    ("#5A5A5A", "#C4C9D0"),
];

/// An SVG document with fixed colours, with a style sheet that replaces them in a dark scheme.
pub fn in_both_schemes(svg: &str) -> String {
    let rules =
        COLOURS.map(|(light, dark)| format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}"));
    let style = format!("<style>@media (prefers-color-scheme:dark){{{}}}</style>", rules.concat());
    match svg.split_once(">\n") {
        Some((head, rest)) => format!("{head}>\n{style}\n{rest}"),
        None => svg.to_owned(),
    }
}
