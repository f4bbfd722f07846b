//! The lists of docs/reference/permissions.md show the template's policies. `UPDATE_DOCS=1` writes them.

use std::{env, fmt::Write as _, fs};

use document::Node;

use crate::resolved::{TEMPLATE, resource};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/permissions.md");
const START: &str = "<!-- written from template.yaml by make pages -->\n";
const END: &str = "<!-- end -->\n";

/// The longest line that is written.
const WIDTH: usize = 120;
/// The roles and policies, by heading.
const LISTS: [(&str, &[&str]); 4] = [
    ("task-events and reconcile", &["MeshPolicy", "OtherSecretsPolicy"]),
    ("Only task-events", &["TaskEventsRole"]),
    ("Only reconcile", &["ReconcileRole"]),
    ("audit", &["AuditRole"]),
];

/// When a condition of the template holds, in words.
fn condition(node: &Node) -> String {
    let only = &node.entries()[0];
    let items = only.node.items();
    match only.key.as_str() {
        "Condition" => named(only.node.text().unwrap()),
        "Fn::And" => items.iter().map(condition).collect::<Vec<_>>().join(", "),
        "Fn::Not" => match items[0].get("Fn::Equals").expect("a comparison").items() {
            [it, value] if value.text() == Some("") => format!("with `{}`", reference(it)),
            [it, value] => format!("unless `{}={}`", reference(it), value.text().unwrap()),
            other => panic!("{other:?}"),
        },
        "Fn::Equals" => format!("with `{}={}`", reference(&items[0]), items[1].text().unwrap()),
        other => panic!("{other} is not known here"),
    }
}

fn named(name: &str) -> String {
    condition(TEMPLATE.get("Conditions").and_then(|all| all.get(name)).unwrap())
}

fn reference(node: &Node) -> &str {
    node.get("Ref").and_then(Node::text).expect("a reference")
}

/// The parts of a list, with the condition of each.
fn parts(node: &Node, when: &[String]) -> Vec<(Node, Vec<String>)> {
    if let Some([name, yes, _]) = node.get("Fn::If").map(Node::items) {
        return parts(yes, &[when, &[named(name.text().unwrap())]].concat());
    }
    if node.items().is_empty() {
        return vec![(node.clone(), when.to_vec())];
    }
    node.items().iter().flat_map(|item| parts(item, when)).collect()
}

/// A resource: an ARN in the account and region of the stack, without its start.
fn thing(node: &Node) -> String {
    let text = match node.entries().first().map(|only| (only.key.as_str(), &only.node)) {
        Some(("Ref", it)) => format!("${{{}}}", it.text().unwrap()),
        Some(("Fn::Sub", it)) => it.text().unwrap().to_owned(),
        Some(("Fn::GetAtt", it)) => {
            let name = it.items().first().and_then(Node::text).or_else(|| it.text()).unwrap();
            format!("${{{}}}", name.split('.').next().unwrap())
        }
        _ => node.text().unwrap().to_owned(),
    };
    let own = text
        .replace("arn:${AWS::Partition}:", "")
        .replace("${AWS::Region}:${AWS::AccountId}:", "")
        .replace("iam::${AWS::AccountId}:", "iam:");
    own.replace(".Arn}", "}").replace("${", "<").replace('}', ">")
}

/// Code spans, by the condition under which they apply.
fn spans(node: &Node, text: fn(&Node) -> String) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (part, when) in parts(node, &[]) {
        let (span, when) = (format!("`{}`", text(&part)), when.join(", "));
        match groups.iter_mut().find(|(condition, _)| *condition == when) {
            Some((_, spans)) => spans.push(span),
            None => groups.push((when, vec![span])),
        }
    }
    groups
}

/// More than this many names that begin and end in the same way are listed by what differs.
const MANY: usize = 10;

fn joined(spans: &[String]) -> String {
    let names: Vec<&str> = spans.iter().map(|span| span.trim_matches('`')).collect();
    let shared = |reads: fn(&str, usize) -> Option<&str>| {
        let is_shared = |length: &usize| {
            let first = reads(names[0], *length);
            first.is_some() && names.iter().all(|name| reads(name, *length) == first)
        };
        (0..=names[0].len()).take_while(is_shared).last().unwrap_or_default()
    };
    let before = shared(|name, length| name.get(..length));
    let after = shared(|name, length| name.get(name.len().checked_sub(length)?..));
    if names.len() <= MANY || before == 0 || names.iter().any(|name| name.len() < before + after) {
        return spans.join(", ");
    }
    let parts = |name: &str| {
        let (begin, rest) = name.split_at(before);
        let (own, end) = rest.split_at(rest.len() - after);
        [begin, own, end].map(str::to_owned)
    };
    let own: Vec<String> = names.iter().map(|name| format!("`{}`", parts(name)[1])).collect();
    let [begin, _, end] = parts(names[0]);
    format!("`{begin}NAME{end}`, where NAME is {}", own.join(", "))
}

fn listed(groups: &[(String, Vec<String>)]) -> String {
    let groups = groups.iter().map(|(when, spans)| match joined(spans) {
        spans if when.is_empty() => spans,
        spans => format!("{when} also {spans}"),
    });
    groups.collect::<Vec<_>>().join("; ")
}

/// A text in lines. All but the first are indented.
fn wrapped(text: &str, indent: &str) -> String {
    let mut words = text.split(' ');
    let mut line = words.next().unwrap_or_default().to_owned();
    let mut lines = String::new();
    for word in words {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines.push('\n');
            line = format!("{indent}{word}");
        } else {
            line.push(' ');
            line += word;
        }
    }
    lines + &line + "\n"
}

/// The keys of a statement's condition.
fn restriction(statement: &Node) -> String {
    let Some(node) = statement.get("Condition") else { return String::new() };
    let (node, when) = match node.get("Fn::If").map(Node::items) {
        Some([name, no_value, otherwise]) => {
            assert_eq!(no_value.get("Ref").and_then(Node::text), Some("AWS::NoValue"));
            let when = named(name.text().unwrap());
            (otherwise, format!(" ({})", when.replacen("unless", "with", 1)))
        }
        _ => (node, String::new()),
    };
    let operators = node.entries().iter().flat_map(|operator| {
        let kind = operator.key.as_str();
        operator.node.entries().iter().map(move |key| {
            let sign = match kind {
                "Null" => {
                    assert_eq!(key.node.text(), Some("false"));
                    return format!("`{}` is present", key.key);
                }
                _ if kind.starts_with("ForAllValues:") => "is only",
                _ if kind.contains("Not") => "is not",
                _ => "is",
            };
            let values = parts(&key.node, &[]).into_iter().map(|(value, _)| format!("`{}`", thing(&value)));
            format!("`{}` {sign} {}", key.key, values.collect::<Vec<_>>().join(" or "))
        })
    });
    operators.collect::<Vec<_>>().join("; ") + &when
}

/// `ReadTheQueue` as a sentence.
fn sentence(sid: &str) -> String {
    let mut text = String::new();
    for (at, letter) in sid.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            text.push(' ');
        }
        text.push(if at > 0 { letter.to_ascii_lowercase() } else { letter });
    }
    text.replace(" ca ", " CA ").replace(" consul", " Consul").replace(" vpc", " VPC")
}

fn item(statement: &Node, when: &[String]) -> String {
    let sid = sentence(statement.get("Sid").and_then(Node::text).expect("a name"));
    let denies = statement.get("Effect").and_then(Node::text) == Some("Deny");
    let (actions, prefix) = match (statement.get("Action"), statement.get("NotAction")) {
        (Some(actions), _) => (actions, ""),
        (None, others) => (others.expect("actions"), "all but "),
    };
    let effect = if denies { "**denied**: " } else { "" };
    let when = when.join(", ");
    let title = if when.is_empty() { format!("- **{sid}**") } else { format!("- **{sid}** ({when})") };
    let actions = spans(actions, |node| node.text().unwrap().to_owned());
    let things = spans(statement.get("Resource").expect("resources"), thing);
    let restriction = restriction(statement);
    if actions.len() == 1 && things.len() == 1 && things[0].1.len() <= 4 {
        let condition = if restriction.is_empty() { String::new() } else { format!(", if {restriction}") };
        let text = format!("{title}: {effect}{prefix}{} on {}{condition}", listed(&actions), listed(&things));
        return wrapped(&text, "  ");
    }
    let mut text = format!("{title}\n");
    text += &wrapped(&format!("  - actions: {effect}{prefix}{}", listed(&actions)), "    ");
    text += &wrapped(&format!("  - on: {}", listed(&things)), "    ");
    if !restriction.is_empty() {
        text += &wrapped(&format!("  - only if {restriction}"), "    ");
    }
    text
}

fn lists() -> String {
    let mut page = String::new();
    for (heading, sources) in LISTS {
        let _ = write!(page, "\n### {heading}\n\n");
        for source in sources {
            let properties = resource(source).get("Properties").unwrap();
            let inline = properties.get("Policies").map(Node::items);
            for document in inline.unwrap_or(std::slice::from_ref(properties)) {
                let statements = document.get("PolicyDocument").and_then(|it| it.get("Statement")).unwrap();
                page.extend(parts(statements, &[]).iter().map(|(statement, when)| item(statement, when)));
            }
        }
    }
    page + "\n"
}

#[test]
fn the_page_lists_what_the_template_grants() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).expect("the start of the lists");
    let (_, after) = rest.split_once(END).expect("the end of the lists");
    let fresh = format!("{before}{START}{}{END}{after}", lists());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, &fresh).unwrap();
        return;
    }
    assert!(page == fresh, "docs/reference/permissions.md is stale: run make pages");
}
