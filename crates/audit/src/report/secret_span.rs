//! Secrets that the notation of a file shows: passwords in URLs, and values that Terraform marks as sensitive.

use audit_read::{
    document::{Node, Span, Value},
    input,
    source::SourceFile,
};

/// The passwords in `scheme://user:password@host`.
pub(super) fn passwords_in_urls(text: &str) -> Vec<Span> {
    let url = |(at, scheme_end): (usize, &str)| {
        let start = at + scheme_end.len();
        let rest = text.get(start..)?;
        let url = rest.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '<' | '>')).next()?;
        // A password may contain slashes, a port may not: after a slash, a colon does not begin a password.
        let credentials = url.get(..url.rfind('@')?)?;
        let colon =
            credentials.find([':', '/']).filter(|at| credentials.get(*at..).is_some_and(|c| c.starts_with(':')))?;
        Some(Span::new(start + colon + 1, start + credentials.len()))
    };
    text.match_indices("://").filter_map(url).filter(|span| span.start < span.end).collect()
}

/// The values that Terraform marks as sensitive in a plan or a state.
pub(super) fn sensitive(file: &SourceFile) -> Vec<Node> {
    let mut out = Vec::new();
    // Only files with one of the marks are parsed again.
    let is_marked = ["sensitive\"", "sensitive_values\""].iter().any(|mark| file.text.contains(mark));
    if is_marked && let Ok((_, node)) = input::parse(file) {
        collect_values(&node, &mut out);
        collect_variables(&node, &mut out);
    }
    out
}

fn collect_values(node: &Node, out: &mut Vec<Node>) {
    let pairs = [
        ("values", "sensitive_values"),
        ("before", "before_sensitive"),
        ("after", "after_sensitive"),
        ("value", "sensitive"),
    ];
    for (value, marks) in pairs {
        if let (Some(value), Some(marks)) = (node.get(value), node.get(marks)) {
            collect(value, marks, out);
        }
    }
    node.items().iter().for_each(|item| collect_values(item, out));
    node.entries().iter().for_each(|entry| collect_values(&entry.node, out));
}

/// A plan declares a variable in one place and has its value in another.
fn collect_variables(root: &Node, out: &mut Vec<Node>) {
    let declared = root.get("configuration").and_then(|node| node.get("root_module")?.get("variables"));
    for entry in declared.map(Node::entries).unwrap_or_default() {
        let value = root.get("variables").and_then(|node| node.get(&entry.key)?.get("value"));
        if let (Some(marks), Some(value)) = (entry.node.get("sensitive"), value) {
            collect(value, marks, out);
        }
    }
}

fn collect(value: &Node, marks: &Node, out: &mut Vec<Node>) {
    match (&marks.value, &value.value) {
        (Value::Bool(true), Value::List(items)) => items.iter().for_each(|item| collect(item, marks, out)),
        (Value::Bool(true), Value::Map(entries)) => entries.iter().for_each(|entry| collect(&entry.node, marks, out)),
        (Value::Bool(true), _) => out.push(value.clone()),
        (Value::List(marks), Value::List(items)) => {
            items.iter().zip(marks).for_each(|(item, marks)| collect(item, marks, out));
        }
        (Value::Map(marks), Value::Map(_)) => {
            for entry in marks {
                if let Some(value) = value.get(&entry.key) {
                    collect(value, &entry.node, out);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<&str> {
        passwords_in_urls(text).into_iter().filter_map(|span| text.get(span.start..span.end)).collect()
    }

    #[test]
    fn a_url_s_password_ends_at_the_last_at_sign() {
        assert_eq!(urls("postgres://u:s3cr3tpw@db/x, redis://:p@ss/w@h:1"), ["s3cr3tpw", "p@ss/w"]);
        assert!(urls("http://host:80/x http://u@h https://h/a:b@c").is_empty());
    }

    #[test]
    fn terraform_s_marks_are_found_everywhere() {
        let text = r#"{
            "planned_values": {
                "outputs": { "o": { "sensitive": true, "value": "one" }, "p": { "sensitive": false, "value": "x" } },
                "root_module": { "resources": [
                    { "values": { "a": ["two", "x"], "b": "x" }, "sensitive_values": { "a": [true] } }
                ] }
            },
            "resource_changes": [{ "change": { "after": { "c": { "d": "three" } }, "after_sensitive": { "c": true } } }],
            "variables": { "v": { "value": "four" }, "w": { "value": "x" } },
            "configuration": { "root_module": { "variables": { "v": { "sensitive": true }, "w": {} } } }
        }"#;
        let found = sensitive(&SourceFile::new("plan.json", text));
        assert_eq!(found.iter().filter_map(Node::text).collect::<Vec<_>>(), ["one", "two", "three", "four"]);
    }
}
