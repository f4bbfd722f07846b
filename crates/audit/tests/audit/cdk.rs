//! Templates that the AWS CDK has synthesised.

use std::{path::Path, sync::Arc};

use audit::{
    audit,
    fix::repair,
    ignore::{self, Config},
    inject::{Images, InjectError, Options, inject},
    report::{Format, Medium, Report},
    severity::Threshold,
};
use audit_read::{
    Material,
    app_mesh::Resources,
    definition::{Maybe, TaskDefinition},
    input::{Gathered, read_source},
};
use document::SourceFile;
use serde_json::{Value, json};
use terraform::Tree;

const CDK: &str = include_str!("../audit_inputs/cdk.template.json");
const NAME: &str = "cdk.out/Shop.template.json";

fn read(text: &str) -> Material {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new(NAME, text)), true, &mut material).unwrap();
    material
}

fn definition(text: &str) -> TaskDefinition {
    read(text).definitions.pop().unwrap()
}

/// The template without what the options of `cdk synth` and the synthesizer leave out.
fn reduced(is_left_out: impl Fn(&str) -> bool) -> String {
    let mut template: Value = serde_json::from_str(CDK).unwrap();
    let resources = template["Resources"].as_object_mut().unwrap();
    if is_left_out("paths") {
        resources.values_mut().for_each(|resource| drop(resource.as_object_mut().unwrap().remove("Metadata")));
    }
    if is_left_out("versions") {
        resources.remove("CDKMetadata").unwrap();
    }
    if is_left_out("bootstrap") {
        template.as_object_mut().unwrap().remove("Rules").unwrap();
    }
    template.to_string()
}

#[test]
fn a_definition_is_called_by_its_construct() {
    let web = definition(CDK);
    assert_eq!(web.construct.as_deref(), Some("Shop/Web/TaskDef"));
    assert_eq!(web.label(), "ShopWebTaskDef2F1B5C30 (Shop/Web/TaskDef)");
    assert_eq!(web.services[0].name, "Shop/Web/Service/Service");
    let material = read(CDK);
    for choice in ["Shop/Web/TaskDef", "WebTaskDef7C1D9E55", "ShopWebTaskDef2F1B5C30"] {
        assert_eq!(material.chosen(Some(choice)).len(), 1, "{choice}");
    }
    // With a family of its own, and with one that is known only at deployment.
    let family = |family: &str| definition(&CDK.replace("\"ShopWebTaskDef2F1B5C30\"", family)).label();
    assert_eq!(family("\"web\""), "web (Shop/Web/TaskDef)");
    assert_eq!(family("{\"Fn::ImportValue\": \"Family\"}"), "Shop/Web/TaskDef");
}

#[test]
fn every_report_names_the_construct() {
    // Given a synthesised template with a defect.
    let material = read(&CDK.replace("\"NetworkMode\": \"awsvpc\"", "\"NetworkMode\": \"bridge\""));
    let sorted = ignore::sort(audit(&material), &material, &Config::default(), Path::new("/run"));
    assert_eq!(sorted.findings.len(), 1);
    let report = Report::new(&Gathered { material, files_read: 1, ..Gathered::default() }, &sorted, Threshold::Error);
    for format in Format::ALL {
        // Then each format names the construct.
        let text = report.render(format, Medium::default()).unwrap();
        assert!(text.contains("ShopWebTaskDef2F1B5C30 (Shop/Web/TaskDef)"), "{}: {text}", format.as_str());
    }
    let json: Value = serde_json::from_str(&report.render(Format::Json, Medium::default()).unwrap()).unwrap();
    let definition = &json["definitions"][0];
    assert_eq!(
        (&definition["address"], &definition["construct"]),
        (&json!("WebTaskDef7C1D9E55"), &json!("Shop/Web/TaskDef"))
    );
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/schema/report.schema.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &json));
}

#[test]
fn a_synthesised_template_is_not_edited() {
    let options = |parts: &[&str]| reduced(|part| parts.contains(&part));
    for (text, is_synthesised) in [
        (CDK.to_owned(), true),
        (options(&["paths"]), true),
        (options(&["versions", "bootstrap"]), true),
        (options(&["paths", "bootstrap"]), true),
        (options(&["paths", "versions"]), true),
        (options(&["paths", "versions", "bootstrap"]), false),
    ] {
        // Given a template with defects that can be fixed in other templates.
        let broken = text.replace("awsvpc\"", "bridge\"").replace("1048576", "2097152");
        let findings = audit(&read(&broken));
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| !finding.help.is_empty()));
        // Then only a template that is not synthesised is edited.
        assert_eq!(findings.iter().any(|finding| finding.fix.is_some()), !is_synthesised);
        let repaired = repair(Arc::new(SourceFile::new(NAME, broken.as_str())), &Tree::default(), |_| true);
        assert_eq!(repaired.after.text == broken, is_synthesised);
        assert_eq!(definition(&text).is_synthesised, is_synthesised);
    }
}

#[test]
fn the_mesh_is_not_added_to_a_synthesised_template() {
    let web = definition(CDK);
    let options = Options {
        consul_hosts: "consul.example.internal".to_owned(),
        service_name: None,
        port: None,
        upstreams: Vec::new(),
        ca_secret: None,
        acls: false,
        task_role: None,
        images: Images::newest(),
    };
    let error = inject(&web, &Resources::default(), &options).unwrap_err();
    assert!(matches!(&error, InjectError::Synthesised(label) if label.contains("Shop/Web/TaskDef")), "{error}");
}

#[test]
fn values_of_other_stacks_are_unknown() {
    let text = CDK.replace(
        "\"NetworkMode\": \"awsvpc\"",
        "\"NetworkMode\": {\"Fn::ImportValue\": \"Network:ExportsOutputMode\"}",
    );
    assert!(matches!(definition(&text).network_mode.value, Maybe::Unknown));
    assert!(audit(&read(&text)).is_empty());
}
