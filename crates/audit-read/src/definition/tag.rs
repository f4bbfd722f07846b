//! Tags.

use super::reader::record;

record! {
    /// A tag, or a property of a proxy.
    pub struct Tag {
        key: text("key"),
        value: text("value"),
    }
}
