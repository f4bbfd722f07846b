//! YAML that is read, and YAML that is refused.

use super::*;

#[test]
fn every_value_has_its_place_in_bytes() {
    let text = "# é\na:\n  - b: 'x'\n    c: 7\n  - [true, ~]\n";
    let node = parse_yaml(text).unwrap();
    let items = node.get("a").unwrap().items();
    let slice = |node: &Node| text.get(node.place.span.start..node.place.span.end).unwrap();
    assert_eq!(slice(items[0].get("b").unwrap()), "'x'");
    assert_eq!(slice(&items[1]), "[true, ~]");
    assert!(matches!(&items[0].get("c").unwrap().value, Value::Number(n) if n == "7"));
    assert!(matches!(items[1].items()[0].value, Value::Bool(true)));
    assert!(matches!(items[1].items()[1].value, Value::Null));
}

#[test]
fn short_forms_become_long_ones() {
    let node = parse_yaml("a: !Sub '${x}'\nb: !If [c, !Ref d, 8]\nc: !Condition e\n").unwrap();
    let sub = node.get("a").unwrap();
    assert_eq!(sub.get("Fn::Sub").unwrap().text(), Some("${x}"));
    assert_eq!((sub.place.span.start, sub.place.span.end), (3, 14));
    let branches = node.get("b").unwrap().get("Fn::If").unwrap().items();
    assert_eq!(branches[1].get("Ref").unwrap().text(), Some("d"));
    assert_eq!(node.get("c").unwrap().get("Condition").unwrap().text(), Some("e"));
}

#[test]
fn aliases_are_copies_without_a_route() {
    let node = parse_yaml("a: &x {b: 1}\nc: *x\n").unwrap();
    assert!(node.get("c").unwrap().get("b").unwrap().place.route.is_none());
}

#[test]
fn a_merge_adds_only_missing_keys() {
    let node = parse_yaml("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n").unwrap();
    let keys: Vec<&str> = node.get("d").unwrap().entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["c", "b"]);
    assert!(matches!(&node.get("d").unwrap().get("c").unwrap().value, Value::Number(c) if c == "3"));
}

#[test]
fn invalid_yaml_is_refused() {
    for (text, reason) in [
        ("", "empty"),
        ("a: [1, 2", "not YAML"),
        ("a: 1\na: 2\n", "\"a\" is twice"),
        ("? [a]\n: b\n", "not a plain value"),
        ("a: *nothing\n", "not YAML"),
        ("a: &x [*x]\n", "alias of itself"),
    ] {
        let error = parse_yaml(text).unwrap_err();
        assert!(error.reason.contains(reason), "{text}: {error}");
    }
    assert!(parse_yaml(&"[".repeat(10_000)).is_err());
    let line = |n: usize| format!("a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 9].join(", "));
    let bomb: Vec<String> = (1..12).map(line).collect();
    let error = parse_yaml(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{}", bomb.join("\n"))).unwrap_err();
    assert!(error.reason.contains("aliases"), "{error}");
}
