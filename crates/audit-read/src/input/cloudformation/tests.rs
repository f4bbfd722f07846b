//! The results of functions. Each example is a value of `Family` in a template.

use std::sync::Arc;

use crate::{
    Material,
    definition::{Field, Maybe, TaskDefinition, Text},
    input::read_source,
};
use document::SourceFile;

const TEMPLATE: &str = r"
Parameters:
  Known: {Type: String, Default: shop}
  Unknown: {Type: String}
  Hidden: {Type: String, NoEcho: true, Default: do-not-show}
  Count: {Type: Number, Default: '7'}
  Names: {Type: CommaDelimitedList, Default: 'a, b,c'}
  Stored: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /key}
Mappings:
  M: {shop: {name: mapped, list: [x, y]}}
Conditions:
  Yes: !Equals [!Ref Known, shop]
  No: !Not [!Condition Yes]
  Maybe: !Equals [!Ref Unknown, shop]
  YesAndMaybe: !And [!Condition Yes, !Condition Maybe]
  NoAndMaybe: !And [!Condition No, !Condition Maybe]
  YesOrMaybe: !Or [!Condition Yes, !Condition Maybe]
  ByHidden: !Equals [!Ref Hidden, do-not-show]
  Itself: !Not [!Condition Itself]
  Seven: !Equals [!Ref Count, 7]
Resources:
  Bucket: {Type: 'AWS::S3::Bucket', Properties: {MeshName: bucket}}
  Mesh: {Type: 'AWS::AppMesh::Mesh', Properties: {MeshName: !Sub '${Known}-mesh'}}
  Node: {Type: 'AWS::AppMesh::VirtualNode', Properties: {MeshName: !GetAtt Mesh.MeshName, VirtualNodeName: node}}
  Unnamed: {Type: 'AWS::AppMesh::VirtualGateway', Properties: {MeshName: !Ref Unknown}}
  Route: {Type: 'AWS::AppMesh::Route', Properties: {VirtualRouterName: router, RouteName: !GetAtt Route.RouteName}}
  Web:
    Type: AWS::ECS::TaskDefinition
    Properties:
";

fn read(properties: &str) -> TaskDefinition {
    let indented: String = properties.lines().flat_map(|line| ["      ", line, "\n"]).collect();
    let file = Arc::new(SourceFile::new("web.yaml", format!("{TEMPLATE}{indented}")));
    let mut material = Material::default();
    read_source(file, true, &mut material).unwrap();
    material.definitions.pop().unwrap()
}

/// A value as the examples spell it: `?` is unknown, `…` is an unknown part of a string, `-` is absent.
fn shown(field: &Field<Text>) -> String {
    match &field.value {
        Maybe::Known(text) => text.shown(),
        Maybe::Unknown => "?".to_owned(),
        Maybe::Absent => "-".to_owned(),
    }
}

#[test]
fn functions_are_computed_from_literals_and_defaults() {
    for (value, expected) in [
        ("plain", "plain"),
        ("!Ref Known", "shop"),
        ("{Ref: Known}", "shop"),
        ("!Ref Unknown", "?"),
        ("!Ref Hidden", "?"),
        ("!Ref Stored", "?"),
        ("!Ref Bucket", "?"),
        ("!Ref Nothing", "?"),
        ("!Ref Count", "7"),
        ("!Ref AWS::NoValue", "-"),
        ("!Ref AWS::Region", "?"),
        ("!GetAtt Bucket.Arn", "?"),
        ("!GetAtt Bucket.MeshName", "?"),
        ("!GetAtt Mesh.MeshName", "shop-mesh"),
        ("{'Fn::GetAtt': [Node, MeshName]}", "shop-mesh"),
        ("!GetAtt Node.VirtualNodeName", "node"),
        ("!GetAtt Node.VirtualRouterName", "?"),
        ("!GetAtt Node.Uid", "?"),
        ("!GetAtt Unnamed.VirtualGatewayName", "?"),
        ("!GetAtt Route.VirtualRouterName", "router"),
        ("!GetAtt Route.RouteName", "?"),
        ("!Sub '${Mesh.MeshName}/${Node.VirtualNodeName}/${Unnamed.MeshName}'", "shop-mesh/node/…"),
        ("!Ref Node", "arn:…:appmesh:…:…:mesh/shop-mesh/virtualNode/node"),
        ("!GetAtt Node.Arn", "arn:…:appmesh:…:…:mesh/shop-mesh/virtualNode/node"),
        ("!Sub '${Unnamed}'", "arn:…:appmesh:…:…:mesh/…/virtualGateway/…"),
        ("!Ref Mesh", "?"),
        ("!ImportValue x", "?"),
        ("!Sub '${Known}-${Unknown}-${AWS::Region}-${Bucket.Arn}-${!Known}'", "shop-…-…-…-…"),
        ("!Sub ['${a}.${b}.${Known}', {a: 1, b: !Ref Unknown, Known: own}]", "1.….own"),
        ("!Sub '${Hidden}'", "?"),
        ("!Sub 'x-${Hidden}'", "x-…"),
        ("!Sub plain", "plain"),
        ("!Join ['-', [a, !Ref Known, !Ref Unknown, !Ref AWS::NoValue]]", "a-shop-…"),
        ("!Join ['+', !Ref Names]", "a+b+c"),
        ("!Join ['+', !Ref Unknown]", "?"),
        ("!Select [1, !Ref Names]", "b"),
        ("!Select ['1', [!Ref Known, b]]", "b"),
        ("!Select [1, [!If [Maybe, a, !Ref AWS::NoValue], b]]", "?"),
        ("!Select [9, !Ref Names]", "?"),
        ("!Select [0, !GetAZs '']", "?"),
        ("!Select [2, !Split ['/', 'a/b/c']]", "c"),
        ("!Select [0, !Split ['/', !Sub 'a/${Unknown}']]", "?"),
        ("!FindInMap [M, !Ref Known, name]", "mapped"),
        ("!FindInMap [M, !Ref Unknown, name]", "?"),
        ("!FindInMap [M, other, name]", "?"),
        ("!FindInMap [M, other, name, {DefaultValue: default}]", "default"),
        ("!Join ['', !FindInMap [M, shop, list]]", "xy"),
        ("!If [Yes, a, b]", "a"),
        ("!If [No, a, b]", "b"),
        ("!If [Maybe, a, b]", "?"),
        ("!If [Nowhere, a, b]", "?"),
        ("!If [YesAndMaybe, a, b]", "?"),
        ("!If [NoAndMaybe, a, b]", "b"),
        ("!If [YesOrMaybe, a, b]", "a"),
        ("!If [ByHidden, a, b]", "?"),
        ("!If [Itself, a, b]", "?"),
        ("!If [Seven, a, b]", "a"),
        ("!If [No, a, !If [Yes, !Ref Known, c]]", "shop"),
        ("!If [No, a, !Ref AWS::NoValue]", "-"),
        ("'{{resolve:ssm:/name:1}}'", "?"),
        ("'a-{{resolve:ssm:/name:1}}'", "a-…"),
        ("!Sub '{{resolve:secretsmanager:${Known}}}'", "?"),
        ("!Base64 x", "?"),
        ("{'Fn::ToJsonString': {a: 1}}", "?"),
        ("{'Fn::Transform': {Name: x}}", "?"),
        ("{'Fn::Nonsense': [1, {Ref: x}]}", "?"),
        ("!Join [a]", "?"),
        ("!Sub []", "?"),
        ("!If [Yes]", "?"),
        ("8", "8"),
    ] {
        assert_eq!(shown(&read(&format!("Family: {value}")).family), expected, "{value}");
    }
}

#[test]
fn lists_with_unknown_items_are_incomplete() {
    for (list, known, is_complete) in [
        ("[a, !Ref Known]", vec!["a", "shop"], true),
        ("[a, !Ref Unknown]", vec!["a"], false),
        ("[a, !If [Yes, !Ref AWS::NoValue, b]]", vec!["a"], true),
        ("[a, !If [Maybe, b, !Ref AWS::NoValue]]", vec!["a"], false),
        ("!If [Yes, [a], [b]]", vec!["a"], true),
        ("!If [Maybe, [a], [b]]", vec![], false),
        ("!Ref Names", vec!["a", "b", "c"], true),
        ("!Split [' ', 'a b']", vec!["a", "b"], true),
        ("!Ref AWS::NoValue", vec![], true),
    ] {
        let definition = read(&format!("RequiresCompatibilities: {list}"));
        let list_read = &definition.requires_compatibilities;
        let texts: Vec<&str> = list_read.items.iter().filter_map(Field::text).collect();
        assert_eq!((texts, list_read.is_complete), (known, is_complete), "{list}");
    }
}

#[test]
fn numbers_and_flags_may_be_strings_and_unknown() {
    let definition = read(
        "ContainerDefinitions:\n  - Name: web\n    Essential: 'false'\n    StopTimeout: !Ref Count\n    StartTimeout: !Sub '1${Unknown}'\n    Privileged: !If [Maybe, true, false]\n    User: 5995",
    );
    let web = &definition.containers.items[0];
    assert_eq!(web.is_essential(), Some(false));
    assert_eq!(web.stop_timeout.known(), Some(&7));
    assert!(web.start_timeout.is_unknown() && web.privileged.is_unknown());
    assert_eq!(web.user.text(), Some("5995"));
}

#[test]
fn edits_reach_literals_but_not_results_of_functions() {
    let definition = read("Family: !Ref Known\nNetworkMode: bridge\nTaskRoleArn: !If [Yes, literal, x]");
    let slice = |span: document::Span| definition.file.text.get(span.start..span.end).unwrap();
    assert!(definition.family.place.route.is_none());
    assert_eq!(slice(definition.family.span()), "!Ref Known");
    assert!(definition.network_mode.place.route.is_some());
    assert_eq!(slice(definition.network_mode.span()), "bridge");
    assert!(definition.task_role.place.route.is_none());
    assert_eq!(slice(definition.task_role.span()), "literal");
    assert_eq!(slice(definition.place.span), "Web");
}

fn definitions(resources: &str) -> Vec<TaskDefinition> {
    let top = TEMPLATE.split_once("  Web:").unwrap().0;
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("a.yaml", format!("{top}{resources}"))), true, &mut material).unwrap();
    material.definitions
}

#[test]
fn a_resource_exists_only_under_its_condition() {
    let family = |condition: &str| {
        let web = format!(
            "  Web:\n    Type: AWS::ECS::TaskDefinition\n    Condition: {condition}\n    Properties:\n      Family: !If [{condition}, there, absent]\n      NetworkMode: !Ref Known\n"
        );
        let definition = definitions(&web).pop().unwrap();
        (shown(&definition.family), shown(&definition.network_mode))
    };
    assert_eq!(family("Yes"), ("there".to_owned(), "shop".to_owned()));
    assert_eq!(family("Maybe"), ("there".to_owned(), "shop".to_owned()));
    // With the defaults of the parameters, it does not exist.
    assert_eq!(family("No"), ("there".to_owned(), "?".to_owned()));
}

#[test]
fn a_loop_s_resource_is_read_once_with_its_variable_unknown() {
    let found = definitions(
        "  Fn::ForEach::Each:\n    - Name\n    - [a, b]\n    - Task${Name}:\n        Type: AWS::ECS::TaskDefinition\n        Properties:\n          Family: !Sub 'x-${Name}'\n",
    );
    assert_eq!(found.iter().map(|definition| shown(&definition.family)).collect::<Vec<_>>(), ["x-…"]);
}

#[test]
fn services_are_found_by_their_references() {
    for (reference, is_found) in [
        ("!Ref Web", true),
        ("!GetAtt Web.TaskDefinitionArn", true),
        ("{'Fn::GetAtt': [Web, TaskDefinitionArn]}", true),
        ("!Sub '${Web}'", true),
        ("!If [Yes, !Ref Web, !Ref Other]", true),
        ("!If [Maybe, !Ref Web, !Ref Other]", false),
        ("!Ref Other", false),
        ("web:7", false),
    ] {
        let found = definitions(&format!(
            "  Web: {{Type: 'AWS::ECS::TaskDefinition', Properties: {{Family: web}}}}\n  Service:\n    Type: AWS::ECS::Service\n    Properties:\n      TaskDefinition: {reference}\n      PropagateTags: SERVICE\n      LaunchType: !Ref Unknown\n"
        ));
        let uses: Vec<(&str, Option<&str>, bool)> = found[0]
            .services
            .iter()
            .map(|service| (service.name.as_str(), service.propagate_tags.text(), service.launch_type.is_unknown()))
            .collect();
        let expected = if is_found { vec![("Service", Some("SERVICE"), true)] } else { vec![] };
        assert_eq!(uses, expected, "{reference}");
    }
}

#[test]
fn exponential_functions_are_limited() {
    let doubled = (0..60).fold("x".to_owned(), |inner, _| format!("!Sub ['${{a}}${{a}}', {{a: {inner}}}]"));
    assert_eq!(shown(&read(&format!("Family: {doubled}")).family), "?");
    let condition = |n: usize| format!("  C{n}: !And [!Condition C{}, !Condition C{}]", n + 1, n + 1);
    let chain: Vec<String> = (0..10_000).map(condition).collect();
    let chain = chain.join("\n");
    let text = format!(
        "Conditions:\n{chain}\nResources:\n  Web: {{Type: 'AWS::ECS::TaskDefinition', Properties: {{Family: !If [C0, a, b]}}}}\n"
    );
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("a.yaml", text)), true, &mut material).unwrap();
    assert_eq!(shown(&material.definitions[0].family), "?");
    let large = format!("Parameters: {{P: {{Type: String, Default: {}}}}}\n", "x".repeat(1_000_000));
    let many = vec!["!Ref P"; 100].join(", ");
    let text = format!(
        "{large}Resources:\n  Web: {{Type: 'AWS::ECS::TaskDefinition', Properties: {{Family: a, RequiresCompatibilities: [{many}]}}}}\n"
    );
    let problem = read_source(Arc::new(SourceFile::new("a.yaml", text)), true, &mut material).unwrap_err();
    assert!(problem.to_string().contains("too much text"), "{problem}");
}
