//! The places in files where secrets stand.

use super::sounds_secret;
use document::{Entry, Node, SourceFile, Span, trees};

/// The ends of keys that have the name of a secret, or refer to it.
const NO_SECRETS: [&str; 5] = ["arn", "id", "name", "parameter", "prefix"];

/// Whether a place is in the value of a variable, option, label or argument that sounds like a secret.
pub fn is_in_secret(file: &SourceFile, span: Span) -> bool {
    trees(file).unwrap_or_default().iter().any(|tree| is_secret(tree, span) == Some(true))
}

/// Whether the value around `span` sounds like a secret; `None` if no name in `node` says it.
fn is_secret(node: &Node, span: Span) -> Option<bool> {
    let of_entry = |entry: &Entry| {
        let is_around = contains(entry.node.place.span, span);
        // A type or label of Terraform has the place of its first block's type, and not of what it contains.
        let is_label = entry.node.place.span == entry.key_span;
        let below = (is_around || is_label).then(|| is_secret(&entry.node, span)).flatten();
        let own = if is_around { sounds_by_key(&entry.key, node) } else { None };
        // However the value of a variable is computed, it is as secret as the name of the variable.
        if is_value(&entry.key) { own.max(below) } else { below.or(own) }
    };
    node.entries().iter().find_map(of_entry).or_else(|| node.items().iter().find_map(|item| is_secret(item, span)))
}

/// Whether the value of `key` in a map sounds like a secret; `None` if the key is a function.
fn sounds_by_key(key: &str, map: &Node) -> Option<bool> {
    if is_value(key) {
        let is_name = |entry: &&Entry| ["name", "key"].iter().any(|name| entry.key.eq_ignore_ascii_case(name));
        let name = map.entries().iter().find(is_name);
        // An unknown name might be a secret's.
        return Some(name.is_some_and(|name| name.node.text().is_none_or(sounds_secret)));
    }
    let is_function = key == "Ref" || key.starts_with("Fn::");
    let key = key.to_ascii_lowercase();
    let is_secret = sounds_secret(&key) && key != "key" && !NO_SECRETS.iter().any(|end| key.ends_with(end));
    (!is_function).then_some(is_secret)
}

fn is_value(key: &str) -> bool {
    key.eq_ignore_ascii_case("value")
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_secret_by_the_name_of_its_value() {
        for (name, text, expected) in [
            ("a.yaml", "Environment: [{ Name: DB_PASSWORD, Value: !Ref here }]", true),
            ("a.yaml", "Environment: [{ Name: DB_HOST, Value: !Ref here }]", false),
            ("a.yaml", "Environment: [{ Name: !Ref Name, Value: !Ref here }]", true),
            ("a.yaml", "Environment: [{ Value: !Join ['-', [a, !Ref here]], Name: DB_PASSWORD }]", true),
            ("a.yaml", "Environment: [{ Name: TOKEN, Value: !Sub ['${a}', { a: !Ref here }] }]", true),
            ("a.yaml", "Options: { splunk-token: !Sub 'x${here}' }", true),
            ("a.yaml", "Options: { splunk-index: !Sub 'x${here}' }", false),
            ("a.yaml", "Secrets: [{ Name: DB_PASSWORD, ValueFrom: !Ref here }]", false),
            ("a.yaml", "DatabaseSecret: { Properties: { KmsKeyId: !Ref here } }", false),
            ("a.yaml", "Tags: [{ Key: !Ref here, Value: a }]", false),
            ("a.json", r#"{"environment": [{"name": "API_KEY", "value": {"Ref": "here"}}]}"#, true),
            ("main.tf", "locals {\n  db_password = local.here\n}", true),
            ("main.tf", "locals {\n  db_password_arn = local.here\n}", false),
            ("main.tf", "a \"b\" \"c\" {\n  x = jsonencode([{ name = \"DB_PASSWORD\", value = local.here }])\n}", true),
            ("main.tf", "a \"b\" \"c\" {\n  x = jsonencode([{ name = \"DB_HOST\", value = local.here }])\n}", false),
        ] {
            let start = text.find("here").unwrap();
            let span = Span::new(start, start + "here".len());
            assert_eq!(is_in_secret(&SourceFile::new(name, text), span), expected, "{text}");
        }
    }
}
