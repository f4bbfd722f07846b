//! The examples for users have no findings, and each is read as the table in `examples/README.md` describes it.

use std::{collections::BTreeSet, fs, io, path::Path};

use audit::{audit, ignore, severity::Severity, subject::Subject};
use audit_read::{
    definition::TaskDefinition,
    input::{Gathered, gather},
};
use document::{SourceFile, parse};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const TABLE: &str = include_str!("../../../../examples/README.md");

fn gathered() -> Gathered {
    gather(&[FOLDER.to_owned()], &mut io::empty())
}

fn in_folder(file: &str) -> String {
    Path::new(file).strip_prefix(FOLDER).unwrap().display().to_string()
}

/// The links of the table's rows.
fn links(row: &str) -> Vec<&str> {
    row.split("](").skip(1).map(|link| link.split(')').next().unwrap()).collect()
}

/// The rows of the table: the file that is read, and what it is.
fn rows() -> BTreeSet<[String; 4]> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| ["));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let file = links(cells[0]).last().copied().unwrap();
        [file, cells[1], cells[2], &cells[3].to_ascii_uppercase()].map(str::to_owned)
    })
    .collect()
}

/// A row as the auditor reads the definition.
fn row(definition: &TaskDefinition) -> [String; 4] {
    let subject = Subject::new(definition);
    let (what, program) = match (&subject.consul, &subject.app_mesh) {
        (Some(consul), None) => {
            let release = consul.version().expect("a release").in_line();
            (consul.gateway.map_or("service", |kind| kind.as_str()), format!("consul-ecs {release}"))
        }
        (None, Some(mesh)) if !mesh.is_gateway => ("service", "App Mesh".to_owned()),
        _ => panic!("{} is not in one mesh", definition.label()),
    };
    let launch_types = definition.requires_compatibilities.items.iter();
    let launch_types = launch_types.chain(definition.services.iter().map(|service| &service.launch_type));
    let launch_types: BTreeSet<&str> = launch_types.map(|field| field.text().expect("a launch type")).collect();
    let launch_types: Vec<&str> = launch_types.into_iter().collect();
    [in_folder(&definition.file.name), what.to_owned(), program, launch_types.join(", ")]
}

#[test]
fn each_example_is_read_as_its_table_says() {
    let gathered = gathered();
    assert_eq!((gathered.problems.len(), gathered.unchecked.len()), (0, 0), "{gathered:#?}");
    assert_eq!(gathered.material.definitions.iter().map(row).collect::<BTreeSet<_>>(), rows());
    for definition in &gathered.material.definitions {
        // ECS's own format describes no service.
        let services = usize::from(!in_folder(&definition.file.name).starts_with("ecs/"));
        assert_eq!(definition.services.len(), services, "{}", definition.label());
    }
}

#[test]
fn no_example_has_a_finding_without_a_reason() {
    let material = gathered().material;
    let sorted = ignore::sort(audit(&material), &material, &ignore::Config::default(), Path::new("/"));
    let found = sorted.findings.iter();
    let found: Vec<_> = found.map(|it| (in_folder(&it.file.name), it.rule.id, it.severity)).collect();
    let legacy = "terraform/legacy-service/main.tf".to_owned();
    assert_eq!(found, [(legacy, "consul-end-of-support", Severity::Info)]);
    let ignored = sorted.ignored.iter().map(|it| (in_folder(&it.finding.file.name), it.finding.rule.id));
    let app_mesh = "ecs/app-mesh-service.yaml".to_owned();
    assert_eq!(ignored.collect::<Vec<_>>(), [(app_mesh, "appmesh-end-of-service")]);
    assert_eq!((sorted.problems.len(), sorted.unused), (0, Vec::new()));
}

#[test]
fn each_example_says_what_to_replace() {
    for row in TABLE.lines().filter(|line| line.starts_with("| [")) {
        let file = links(row)[0];
        let text = fs::read_to_string(Path::new(FOLDER).join(file)).unwrap();
        assert!(text.lines().take(8).any(|line| line.trim_start_matches("# ").starts_with("Replace: ")), "{file}");
    }
}

/// The roles of a template that have a path: the path, and the keys of the tags. For a login, each has a policy with which it reads
/// itself, and nothing else.
fn roles_with_a_path(template: &str) -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(Path::new(FOLDER).join(template)).unwrap();
    let (_, template) = parse(&SourceFile::new(template, text)).unwrap();
    let template = template.json();
    let resources = template["Resources"].as_object().unwrap();
    let reads_a_role = |resource: &&Value| resource["Properties"]["PolicyDocument"].to_string().contains("iam:GetRole");
    let policies: Vec<&Value> = resources.values().filter(reads_a_role).collect();
    let [policy] = policies[..] else { panic!("not one policy: {policies:?}") };
    let tags = |role: &Value| {
        let tags = role["Properties"]["Tags"].as_array();
        tags.into_iter().flatten().map(|tag| tag["Key"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let of_role = |(name, role): (&String, &Value)| {
        let path = role["Properties"]["Path"].as_str()?.to_owned();
        let properties = &policy["Properties"];
        assert_eq!(properties["Roles"], json!([{ "Ref": name }]));
        let statements = properties["PolicyDocument"]["Statement"].as_array().unwrap();
        for statement in statements {
            let arn = &statement["Resource"]["Fn::GetAtt"];
            assert!(*arn == json!([name, "Arn"]) || *arn == json!(format!("{name}.Arn")), "{statement}");
        }
        Some((path, tags(role)))
    };
    resources.iter().filter_map(of_role).collect()
}

#[test]
fn the_task_role_of_a_template_may_log_in() {
    for (template, tags) in [
        ("cloudformation/service.yaml", &["service-name"][..]),
        ("cloudformation/api-gateway.yaml", &["service-name", "gateway-kind"]),
        ("cdk/web.template.json", &["service-name"]),
    ] {
        let tags = tags.iter().map(|tag| format!("consul.hashicorp.com.{tag}")).collect();
        // The default of the parameter IamRolePath.
        assert_eq!(roles_with_a_path(template), [("/consul-ecs/".to_owned(), tags)], "{template}");
    }
}
