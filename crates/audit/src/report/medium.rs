//! Where a text is shown.

/// Where a text is shown. The default is a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Medium {
    /// The width of the terminal; `None`: lines may be of any length.
    pub width: Option<u16>,
    /// Whether it shows colours.
    pub in_colour: bool,
}
