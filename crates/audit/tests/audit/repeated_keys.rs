//! Maps with equal keys: the last value counts, and one finding says so.

use std::sync::Arc;

use audit::audit;
use audit_read::{Material, input::read_source};
use document::{SourceFile, hcl};

use crate::reading::ids;

/// A file whose container is called `web`, and the text from the key that counts.
const CASES: [(&str, &str, &str); 11] = [
    (
        "task.json",
        r#"{"family": "a", "containerDefinitions": [{"name": "x", "image": "i:1", "name": "web"}]}"#,
        "\"name\": \"web",
    ),
    ("task.yaml", "family: a\ncontainerDefinitions:\n- name: x\n  image: i:1\n  name: web\n", "name: web"),
    (
        "stack.yaml",
        "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions:\n      - Name: !Ref X\n        Image: i:1\n        Name: web\n",
        "Name: web",
    ),
    (
        "stack.json",
        r#"{"Resources": {"T": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": [], "ContainerDefinitions": [{"Name": "web", "Image": "i:1"}]}}}}"#,
        "\"ContainerDefinitions\": [{",
    ),
    (
        "stack.yaml",
        "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties: {}\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: [{Name: web, Image: 'i:1'}]\n",
        "T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n",
    ),
    ("main.tf", "jsonencode([{ name = \"x\", image = \"i:1\", name = \"web\" }])", "name = \"web"),
    ("main.tf", "jsonencode([{ \"name\" = \"{\", image = \"i:1\", \"name\" = \"web\" }])", "\"name\" = \"web"),
    ("main.tf", "jsonencode([{ name = \"x\", image = \"i:1\", \"name\" = \"web\" }])", "\"name\" = \"web"),
    (
        "main.tf",
        "jsonencode([{ 1 = \"a\", 2 = \"b\", name = lookup({ 1 = \"x\", 2 = \"y\", 1 = \"web\" }, \"1\"), image = \"i:1\", 1 = \"c\" }])",
        "1 = \"c",
    ),
    ("main.tf", "<<EOF\n[{\"name\": \"x\", \"image\": \"i:1\", \"name\": \"web\"}]\nEOF", "\"name\": \"web"),
    (
        "main.tf",
        "jsonencode(local.all)\n}\nlocals {\n  all = [{ name = \"x\", name = \"y\", image = \"i:1\", name = \"web\" }]",
        "name = \"web",
    ),
];

#[test]
fn the_last_of_equal_keys_counts() {
    for (name, text, last) in CASES {
        let resource = "resource \"aws_ecs_task_definition\" \"t\" {\n  family = \"a\"\n  container_definitions = ";
        let text = if name == "main.tf" { format!("{resource}{text}\n}}\n") } else { text.to_owned() };
        let mut material = Material::default();
        read_source(Arc::new(SourceFile::new(name, &*text)), true, &mut material).unwrap();
        assert!(material.definitions[0].containers.items[0].is_called("web"), "{text}");
        let findings = audit(&material);
        assert_eq!(ids(&findings), ["ecs-duplicate-key"], "{text}");
        assert!(text[findings[0].span.start..].starts_with(last), "{text}: {:?}", &text[findings[0].span.start..]);
    }
}

#[test]
fn many_equal_keys_lose_no_file() {
    let tags = "    team = \"x\"\n    10 = { a = 1, a = 2, 9 = 3, 9 = 4 }\n".repeat(20);
    let text = format!(
        "locals {{\n  tags = {{\n{tags}  }}\n}}\nresource \"aws_ecs_task_definition\" \"t\" {{\n  family = \"a\"\n  \
         container_definitions = jsonencode([{{ name = \"web\", image = \"i:1\" }}])\n}}\n"
    );
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("main.tf", &*text)), true, &mut material).unwrap();
    assert!(material.definitions[0].containers.items[0].is_called("web"));
}

/// The parser is asked again for each number that the object has already: without a limit of its own, a short line took 15 s.
#[test]
fn a_short_key_that_repeats_too_often_is_an_error() {
    let text = format!("x = {{ {} }}\n", "a = 1, ".repeat(12));
    let error = hcl::parse(&text).unwrap_err();
    assert_eq!(
        error.reason,
        "not Terraform's language: invalid object item; expected unique object key; found redefined object key"
    );
}
