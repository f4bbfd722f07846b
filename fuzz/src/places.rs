//! The spans of values.

use document::Node;

/// Asserts that every value has a span within the text.
pub fn check(text: &str, node: &Node) {
    let span = node.place.span;
    assert!(text.get(span.start..span.end).is_some(), "{span:?}");
    for item in node.items() {
        check(text, item);
    }
    for entry in node.entries() {
        assert!(text.get(entry.key_span.start..entry.key_span.end).is_some(), "{:?}", entry.key_span);
        check(text, &entry.node);
    }
}
