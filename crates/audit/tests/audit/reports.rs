//! Reports of a small run in every format: as snapshots, and against the formats' schemas.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::{path::Path, sync::Arc};

use audit::{
    audit,
    finding::Finding,
    ignore::{self, Config, Exception, Ignored, IgnoredBy, Sorted},
    report::{Format, Medium, Report},
    severity::Threshold,
};
use audit_read::{
    Material,
    app_mesh::{Resource, Resources},
    input::{Gathered, ecs_definition, read_source},
};
use document::{InputProblem, Position, Route, SourceFile, parse_json};
use serde_json::{Value, json};

/// The report of a run with these files, each with one definition.
fn report(files: &[(&str, String)], config: &str) -> Report {
    let definitions = files.iter().map(|(name, text)| {
        let file = Arc::new(SourceFile::new(*name, text.as_str()));
        let node = parse_json(&file.text, &Route::default()).unwrap();
        ecs_definition(file, &node).0.unwrap()
    });
    let material = Material { definitions: definitions.collect(), ..Material::default() };
    let config = Config::read(SourceFile::new("ecs-mesh.toml", config), Path::new("/run")).unwrap();
    let sorted = ignore::sort(audit(&material), &material, &config, Path::new("/run"));
    let problem =
        InputProblem { file: "broken.json".to_owned(), position: None, reason: "the file is empty".to_owned() };
    let unchecked = InputProblem {
        file: "main.tf".to_owned(),
        position: Some(Position { line: 3, column: 27 }),
        reason: "its containers are not known".to_owned(),
    };
    let gathered = Gathered {
        material,
        problems: vec![problem],
        unchecked: vec![unchecked],
        files_read: files.len() + 1,
        ..Gathered::default()
    };
    Report::new(&gathered, &sorted, Threshold::Error)
}

/// A definition with three defects, one outside of the mesh with hostile names, a correct one, and an ignored finding.
fn mixed() -> Report {
    let mut web = bridged();
    web["containerDefinitions"][1]["command"] = json!(["health-sync"]);
    web["containerDefinitions"][2]["ulimits"][0]["softLimit"] = json!(2_097_152);
    let mut hostile: Value = serde_json::from_str(include_str!("../../src/bases/plain.json")).unwrap();
    hostile["family"] = json!("<script>alert(1)</script>|@x\u{1b}[31m");
    hostile["containerDefinitions"][1]["dependsOn"][0]["containerName"] =
        json!("</td><img src=x onerror=alert(1)>\n::error::");
    let clean = include_str!("../../src/bases/client.json").to_owned();
    let config = "[severity]\nconsul-proxy-open-files = 'warning'\n\
        [[ignore]]\nrule = 'consul-network-mode'\nfamily = 'web'\nreason = 'a lab'\n";
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let files = [("web.json", pretty(&web)), ("odd, 100%.json", pretty(&hostile)), ("client.json", clean)];
    report(&files, config)
}

/// A correct definition, except for its network mode.
fn bridged() -> Value {
    serde_json::from_str(&include_str!("../../src/bases/dataplane.json").replace("awsvpc", "bridge")).unwrap()
}

/// A definition in which a container waits so many times for one that does not exist.
fn waiting(times: usize) -> String {
    let mut plain: Value = serde_json::from_str(include_str!("../../src/bases/plain.json")).unwrap();
    let wait = json!({ "containerName": "gone", "condition": "START" });
    plain["containerDefinitions"][1]["dependsOn"] = vec![wait; times].into();
    plain.to_string()
}

fn rendered(report: &Report, format: Format) -> String {
    report.render(format, Medium::default()).unwrap()
}

/// The list of rules, reduced to those with findings, so that a new rule does not change the snapshot.
fn without_other_rules(sarif: &str) -> String {
    let mut sarif: Value = serde_json::from_str(sarif).unwrap();
    let run = &mut sarif["runs"][0];
    let results = run["results"].as_array_mut().unwrap();
    let found: Vec<Value> = results.iter().map(|result| result["ruleId"].clone()).collect();
    for result in results {
        result["ruleIndex"] = json!("[index]");
    }
    run["tool"]["driver"]["rules"].as_array_mut().unwrap().retain(|rule| found.contains(&rule["id"]));
    serde_json::to_string_pretty(&sarif).unwrap()
}

fn assert_valid(schema: &str, document: &str) {
    // The pattern of languages in SARIF's schema is invalid here because of an unescaped bracket. Our reports do not
    // use it.
    let schema: Value = serde_json::from_str(&schema.replace("{2}]?$", "{2}$")).unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn every_format_has_its_snapshot() {
    let report = mixed();
    for format in Format::ALL {
        let text = match format {
            Format::Sarif => without_other_rules(&rendered(&report, format)),
            format => rendered(&report, format),
        };
        let text = text.replace(env!("CARGO_PKG_VERSION"), "[version]");
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("report_{}", format.as_str()), text);
        });
    }
}

#[test]
fn excerpts_are_cut_to_the_width_of_the_terminal() {
    let web = bridged();
    let report = report(&[("web.json", web.to_string())], "");
    for width in [60, 80, 100] {
        let text = report.render(Format::Text, Medium { width: Some(width), in_colour: false }).unwrap();
        // The lines of the file have numbers.
        let is_of_file =
            |line: &&str| line.split_once('|').is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok());
        let excerpts: Vec<&str> = text.lines().filter(is_of_file).collect();
        assert_eq!(excerpts.len(), report.findings.len());
        for line in excerpts {
            assert!(line.chars().count() <= usize::from(width) && line.contains("bridge"), "{width}: {line}");
        }
    }
}

#[test]
fn paths_for_gitlab_are_relative_to_the_repository() {
    let wrong = include_str!("../../src/bases/dataplane.json").replace("awsvpc", "bridge");
    let issues = rendered(&report(&[("./services/web.json", wrong)], ""), Format::Gitlab);
    assert!(issues.contains("\"path\": \"services/web.json\""), "{issues}");
}

#[test]
fn a_result_points_at_its_rule() {
    let sarif: Value = serde_json::from_str(&rendered(&mixed(), Format::Sarif)).unwrap();
    let run = &sarif["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
}

#[test]
fn a_clean_run_is_one_line() {
    let text =
        rendered(&report(&[("web.json", include_str!("../../src/bases/plain.json").to_owned())], ""), Format::Text);
    assert_eq!(text, "no findings in 1 task definition (2 files, 1 problem, 1 not fully checked)\n");
}

#[test]
fn json_and_sarif_match_their_schemas() {
    for report in [mixed(), report(&[], "")] {
        assert_valid(
            include_str!("../../../../docs/reference/schema/report.schema.json"),
            &rendered(&report, Format::Json),
        );
        assert_valid(include_str!("../schemas/sarif-schema-2.1.0.json"), &rendered(&report, Format::Sarif));
    }
}

/// The fingerprints of the findings of a file. `reword` may change the findings before they are reported.
fn fingerprints(text: &str, reword: impl Fn(&mut Finding)) -> Vec<String> {
    fingerprints_of(text, |sorted| sorted.findings.iter_mut().for_each(reword))
}

/// The fingerprints of the findings of a file that count, after `change`.
fn fingerprints_of(text: &str, change: impl FnOnce(&mut Sorted)) -> Vec<String> {
    let file = Arc::new(SourceFile::new("web.json", text));
    let definition = ecs_definition(file.clone(), &parse_json(&file.text, &Route::default()).unwrap()).0.unwrap();
    let material = Material { definitions: vec![definition], ..Material::default() };
    let mut sorted = ignore::sort(audit(&material), &material, &Config::default(), Path::new("/run"));
    change(&mut sorted);
    let report = Report::new(&Gathered { material, ..Gathered::default() }, &sorted, Threshold::Error);
    report.findings.into_iter().map(|finding| finding.fingerprint).collect()
}

#[test]
fn fingerprints_depend_neither_on_lines_nor_on_messages() {
    let wrong = include_str!("../../src/bases/dataplane.json").replace("awsvpc", "bridge");
    let before = fingerprints(&wrong, |_| {});
    assert_eq!(before.len(), 1);
    assert_eq!(fingerprints(&format!("\n\n{wrong}"), |_| {}), before);
    assert_eq!(fingerprints(&wrong, |finding| finding.message = "said differently".to_owned()), before);
    assert_ne!(fingerprints(&wrong.replace("\"web\"", "\"api\""), |_| {}), before);
}

#[test]
fn findings_of_a_rule_in_one_place_are_numbered() {
    let [one, two] = [1, 2].map(|times| fingerprints(&waiting(times), |finding| finding.message.clear()));
    let distinct: std::collections::BTreeSet<&String> = two.iter().collect();
    assert_eq!((distinct.len(), two.len()), (one.len() + 1, one.len() + 1));
    assert!(one.iter().all(|fingerprint| two.contains(fingerprint)), "{one:?} {two:?}");
}

#[test]
fn ignoring_a_finding_keeps_the_fingerprints_of_the_others() {
    // Given two findings of a rule in one place
    let text = waiting(2);
    let all = fingerprints_of(&text, |_| {});
    // When one is ignored
    for index in 0..all.len() {
        let others = fingerprints_of(&text, |sorted| {
            let finding = sorted.findings.remove(index);
            let exception = Exception { by: IgnoredBy::Configuration, reason: "accepted".to_owned() };
            sorted.ignored.push(Ignored { finding, exception });
        });
        // Then the others keep their fingerprints
        let mut expected = all.clone();
        expected.remove(index);
        assert_eq!(others, expected);
    }
}

#[test]
fn names_are_escaped_in_every_format() {
    let report = mixed();
    let html = rendered(&report, Format::Html);
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    for format in Format::ALL {
        assert!(!rendered(&report, format).contains('\u{1b}'), "{format:?} controls the terminal");
    }
    let markdown = rendered(&report, Format::Markdown);
    assert!(!markdown.contains("<script") && !markdown.contains("@x"), "{markdown}");
    let github = rendered(&report, Format::Github);
    assert!(github.contains("file=odd%2C 100%25.json,line="), "{github}");
    assert_eq!(github.lines().filter(|line| line.starts_with("::")).count(), 6, "{github}");
}

#[test]
fn the_page_has_no_external_resources() {
    let html = rendered(&mixed(), Format::Html);
    for outside in ["http://", "src=\"", "@import", "url(", "<link", "<iframe"] {
        let html = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn reports_contain_no_secrets() {
    // Given secrets beside the defects, on the same lines.
    let mut web: Value = serde_json::from_str(include_str!("../../src/bases/dataplane.json")).unwrap();
    web["containerDefinitions"][0]["environment"] = json!([
        { "name": "DB_PASSWORD", "value": "hunter2-hunter2" },
        { "name": "API_TOKEN", "value": "tök\"en-tok\"en" },
        { "name": "DB_PASS", "value": "canary-1" },
        { "name": "CONSUL_HTTP_AUTH", "value": "canary-2" },
        { "name": "CONSUL_LICENSE", "value": "canary-3" },
        { "name": "DATABASE_URL", "value": "postgres://u:canary-4@db" },
        { "name": "COLOUR", "value": "canary-blue" },
    ]);
    web["containerDefinitions"][0]["dependsOn"][0]["containerName"] = json!("hunter2-hunter2");
    web["containerDefinitions"][0]["command"] =
        json!(["run", "--db", "redis://u:canary-5@cache", "-token", "canary-6"]);
    let texts = [web.to_string(), serde_json::to_string_pretty(&web).unwrap()];
    assert_silent(&texts.map(|text| report(&[("web.json", text)], "")));
}

#[test]
fn reports_contain_no_values_at_unknown_keys() {
    // Given secrets where no rule looks for them, on the line of a finding.
    for keys in [
        r#""environment": [{"name": "DB_PASSWORD", "valeu": "canary-1"}]"#,
        r#""environment": [{"value": "canary-1"}]"#,
        r#""environment": {"DB_PASSWORD": "canary-1"}"#,
        r#""environment": ["DB_PASSWORD=canary-1"]"#,
        r#""env": [{"name": "DB_PASSWORD", "value": "canary-1"}]"#,
        r#""enviroment": [{"name": "DB_PASSWORD", "value": "canary-1"}]"#,
        r#""environmentVariables": {"DB_PASSWORD": "canary-1"}"#,
        r#""secrets": [{"name": "DB_PASSWORD", "value": "canary-1"}]"#,
        r#""logConfiguration": {"logDriver": "splunk", "splunk-token": "canary-1"}"#,
        r#""logConfiguration": {"logDriver": "splunk", "option": {"splunk-token": "canary-1"}}"#,
        r#""logConfiguration": {"logDriver": "splunkk", "options": {"splunk-token": "canary-1"}}"#,
        r#""repositoryCredentials": {"username": "u", "password": "canary-1"}"#,
        r#""args": ["--password=canary-1"]"#,
        r#""labels": {"api_token": "canary-1"}"#,
        r#""dockerLabels": {"api_token": "canary-1"}"#,
        r#""dockerLabels": "api_token=canary-1""#,
        r#""image": "Password-canary-1:""#,
    ] {
        // Then no report has them, even if a finding is about the whole container.
        let text = format!(r#"{{"family": "web", "containerDefinitions": [{{"name": "web", "cmd": [], {keys}}}]}}"#);
        assert_silent(&[report(&[("web.json", text)], "")]);
    }
    for options in ["driverOpt", "driverOpts"] {
        let driver = format!(r#"{{"{options}": {{"o": "username=u,password=canary-1"}}, "scope": "tasks"}}"#);
        let volumes = format!(r#"[{{"name": "data", "dockerVolumeConfiguration": {driver}}}]"#);
        let text = format!(r#"{{"family": "web", "volumes": {volumes}, "containerDefinitions": []}}"#);
        assert_silent(&[report(&[("web.json", text)], "")]);
    }
}

#[test]
fn reports_contain_no_unread_values_of_services_and_resources() {
    let service = |settings: &str| {
        format!(
            "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      \
             ContainerDefinitions: [{{Name: web, Image: 'example/web:1', Memory: 128}}]\n  Service:\n    \
             Type: AWS::ECS::Service\n    Properties:\n      TaskDefinition: !Ref Task\n      \
             ServiceConnectConfiguration: {{Enabled: true, {settings}}}\n"
        )
    };
    let resource = |kind: &str, properties: &str| {
        format!(
            "Resources:\n  It:\n    Type: AWS::AppMesh::{kind}\n    \
             Properties: {{MeshName: shop, VirtualRouterName: orders, {properties}}}\n"
        )
    };
    let headers = "[{Name: Authorization, Match: {Exact: 'Bearer canary-1', Prefix: Bearer}}]";
    let action = "Action: {WeightedTargets: [{VirtualNode: orders, Weight: 1}]}";
    let route = format!("Spec: {{HttpRoute: {{Match: {{Prefix: /, Headers: {headers}}}, {action}}}}}");
    let module = "module \"web\" {\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"0.8.0\"\n  \
                  family = \"web\"\n  container_definitions = [{ name = \"web\", image = \"example/web:1\" }]\n  \
                  consul_server_hosts = \"consul\"\n  consul_bootstrap_token = \"canary-1\"\n}\n";
    let options = "SecretOptions: [{Name: splunk-token, Value: canary-1}]";
    for (name, text) in [
        ("web.yaml", service(&format!("LogConfiguration: {{LogDriver: splunk, {options}}}"))),
        ("web.yaml", service("Services: [{PortNam: web, Token: canary-1}]")),
        ("mesh.yaml", resource("VirtualRouter", "Password: canary-1, Spec: {}")),
        ("mesh.yaml", resource("Route", &route)),
        ("main.tf", module.to_owned()),
    ] {
        assert_silent(&[of_source(name, text)]);
    }
}

/// The report of a file in any format.
fn of_source(name: &str, text: String) -> Report {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new(name, text)), true, &mut material).unwrap();
    let sorted = ignore::sort(audit(&material), &material, &Config::default(), Path::new("/run"));
    let gathered = Gathered { material, files_read: 1, ..Gathered::default() };
    Report::new(&gathered, &sorted, Threshold::Error)
}

#[test]
fn excerpts_of_the_configuration_contain_no_secrets() {
    // Given secrets beside mistakes, on the same lines of the configuration.
    let service = include_str!("../../../../examples/cloudformation/service.yaml");
    for mistaken in [
        r#""consulLogin": {"tokenn": "canary-1", "#,
        r#""consulLogin": {"meta": {"password": "canary-1"}, "datacentre": "x", "#,
        r#""proxi": {"config": {"api_key": "canary-1"}}, "consulLogin": {"#,
    ] {
        let text = service.replace(r#""consulLogin": {"#, mistaken);
        assert_ne!(text, service);
        // Then no report has them, although its findings point there.
        let report = of_source("web.yaml", text);
        assert!(report.findings.iter().any(|finding| finding.rule.id == "consul-config-schema"), "{mistaken}");
        assert_silent(&[report]);
    }
}

#[test]
fn few_of_many_unknown_keys_are_reported() {
    let unknown = |count: usize| {
        let keys: Vec<String> = ('a'..='z').take(count).map(|letter| format!(r#""memory{letter}": 64"#)).collect();
        let container = format!(r#"{{"name": "web", "image": "example/web:1", {}}}"#, keys.join(", "));
        let text = format!(r#"{{"family": "web", "containerDefinitions": [{container}]}}"#);
        let report = report(&[("web.json", text)], "");
        report.findings.iter().filter(|finding| finding.rule.id == "ecs-unknown-key").count()
    };
    assert_eq!([unknown(2), unknown(26)], [2, 20]);
}

#[test]
fn values_that_are_no_likely_secrets_are_shown() {
    let container = r#"{"name": "web", "image": "example/web:", "dockerLabels": {"team": "blue"}}"#;
    let text = format!(r#"{{"family": "web", "containerDefinitions": [{container}]}}"#);
    let rendered = rendered(&report(&[("web.json", text)], ""), Format::Text);
    assert!(rendered.contains("example/web:") && rendered.contains("blue"), "{rendered}");
}

#[test]
fn reports_contain_no_values_that_an_equal_key_replaces() {
    let first = r#""environment": [{"name": "COLOUR", "value": "canary-1"}]"#;
    let container = format!(r#"{{"name": "web", "image": "example/web:1", {first}, "environment": []}}"#);
    let text = format!(r#"{{"family": "web", "containerDefinitions": [{container}]}}"#);
    assert_silent(&[report(&[("web.json", text)], "")]);
}

#[test]
fn reports_contain_no_keys_of_the_agent() {
    for script in [
        "exec consul agent -encrypt=canary+1AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "encrypt = \"canary+1AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\nexec consul agent",
        "acl {\n tokens {\n  agent = \"canary-uuid\"\n }\n}\nexec consul agent -bind x",
        "consul login -token canary-uuid; exec consul agent",
    ] {
        let mut web: Value = serde_json::from_str(include_str!("../../src/bases/client.json")).unwrap();
        let containers = web["containerDefinitions"].as_array_mut().unwrap();
        let client = containers.iter_mut().find(|container| container["name"] == "consul-client").unwrap();
        client["command"] = json!([script]);
        let texts = [web.to_string(), serde_json::to_string_pretty(&web).unwrap()];
        assert_silent(&texts.map(|text| report(&[("web.json", text)], "")));
    }
}

#[test]
fn reports_contain_no_sensitive_values_of_plans() {
    // Given a plan of one line, with sensitive values around the defect.
    let mut web: Value = serde_json::from_str(include_str!("../../src/bases/dataplane.json")).unwrap();
    web["containerDefinitions"][0]["environment"] = json!([
        { "name": "PLAIN", "value": "canary-1" },
        { "name": "DATABASE_URL", "value": "postgres://u:canary-2@db" },
    ]);
    web["containerDefinitions"][0]["dependsOn"][0]["containerName"] = json!("missing");
    let definition = |address: &str| {
        json!({
            "address": address, "mode": "managed", "type": "aws_ecs_task_definition", "name": "web",
            "values": {
                "zone": "canary-3",
                "family": "web",
                "network_mode": "bridge",
                "container_definitions": web["containerDefinitions"].to_string(),
                "zzz": "canary-4",
            },
            "sensitive_values": { "zone": true, "zzz": true },
        })
    };
    let secret = json!({ "address": "x.y", "mode": "managed", "type": "x", "values": { "p": "canary-5" },
        "sensitive_values": { "p": true } });
    let plan = json!({
        "format_version": "1.2", "terraform_version": "1.9.0",
        "planned_values": { "root_module": { "resources": [definition("aws_ecs_task_definition.a"), secret] } },
    });
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("plan.json", plan.to_string())), true, &mut material).unwrap();
    let sorted = ignore::sort(audit(&material), &material, &Config::default(), Path::new("/run"));
    let gathered = Gathered { material, files_read: 1, ..Gathered::default() };
    assert_silent(&[Report::new(&gathered, &sorted, Threshold::Error)]);
}

/// Then no format contains a secret.
fn assert_silent(reports: &[Report]) {
    for report in reports {
        assert!(!report.findings.is_empty());
        for format in Format::ALL {
            let rendered = rendered(report, format);
            for canary in ["hunter2", "en-tok", "canary", "anary-", "uuid"] {
                assert!(!rendered.contains(canary), "{canary} in {format:?}: {rendered}");
            }
        }
    }
}

#[test]
fn a_file_of_one_line_is_cut() {
    let web = bridged();
    let text = rendered(&report(&[("plan.json", web.to_string())], ""), Format::Text);
    assert!(text.lines().all(|line| line.chars().count() < 140), "{text}");
    let column = web.to_string().find("\"bridge\"").unwrap() + 1;
    assert!(text.contains(&format!("plan.json:1:{column}\n")) && text.contains("\"bridge\""), "{text}");
}

#[test]
fn the_end_of_app_mesh_is_said_once() {
    let mut orders: Value = serde_json::from_str(include_str!("../../src/bases/app-mesh.json")).unwrap();
    orders["networkMode"] = json!("bridge");
    let report = report(&[("orders.json", orders.to_string())], "");
    let ids: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id).collect();
    assert!(ids.contains(&"appmesh-network-mode") && ids.contains(&"appmesh-end-of-service"), "{ids:?}");
    let says_it = |texts: [&str; 2]| texts.iter().any(|text| text.contains("ended on 2026-09-30"));
    let saying = report.findings.iter().filter(|finding| says_it([&finding.message, &finding.help]));
    let saying: Vec<&str> = saying.map(|finding| finding.rule.id).collect();
    assert_eq!(saying, ["appmesh-end-of-service"]);
    assert!(report.fails());
}

#[test]
fn the_summary_counts_what_has_findings() {
    let resources = Arc::new(SourceFile::new("mesh.json", include_str!("../../src/bases/app-mesh-resources.json")));
    let summary = |definition: Option<&str>| {
        let node = parse_json(&resources.text, &Route::default()).unwrap();
        let resources = Resources::from_iter(Resource::all_in(&resources, &node));
        let mut material = Material { resources, ..Material::default() };
        if let Some(definition) = definition {
            let file = Arc::new(SourceFile::new("task.json", definition));
            let node = parse_json(&file.text, &Route::default()).unwrap();
            material.definitions.push(ecs_definition(file, &node).0.unwrap());
        }
        let config = Config::read(SourceFile::new("ecs-mesh.toml", ""), Path::new("/run")).unwrap();
        let sorted = ignore::sort(audit(&material), &material, &config, Path::new("/run"));
        Report::new(&Gathered { material, files_read: 2, ..Gathered::default() }, &sorted, Threshold::Error).summary()
    };
    let node = parse_json(&resources.text, &Route::default()).unwrap();
    let scope = format!("(2 files, {} App Mesh resources)", Resource::all_in(&resources, &node).len());
    // A mesh that ended, without and with a task outside of it, and beside a task with findings.
    assert_eq!(summary(None), format!("1 error in 1 App Mesh resource {scope}"));
    let plain = include_str!("../../src/bases/plain.json");
    assert_eq!(summary(Some(plain)), format!("1 error in 1 App Mesh resource {scope}"));
    let bridged = bridged().to_string();
    let both = format!("2 errors in 1 of 1 task definition and 1 App Mesh resource {scope}");
    assert_eq!(summary(Some(&bridged)), both);
    let app_mesh = include_str!("../../src/bases/app-mesh.json");
    assert_eq!(summary(Some(app_mesh)), format!("1 error in 1 of 1 task definition {scope}"));
}

#[test]
fn resources_alone_have_one_finding_per_mesh() {
    let text = include_str!("../../src/bases/app-mesh-resources.json");
    let file = Arc::new(SourceFile::new("mesh.json", text));
    let node = parse_json(&file.text, &Route::default()).unwrap();
    let mut material =
        Material { resources: Resources::from_iter(Resource::all_in(&file, &node)), ..Material::default() };
    let ids = |material: &Material| audit(material).iter().map(|finding| finding.rule.id).collect::<Vec<_>>();
    assert_eq!(ids(&material), ["appmesh-mesh-end-of-service"]);

    let orders = Arc::new(SourceFile::new("orders.json", include_str!("../../src/bases/app-mesh.json")));
    let node = parse_json(&orders.text, &Route::default()).unwrap();
    material.definitions.push(ecs_definition(orders, &node).0.unwrap());
    assert_eq!(ids(&material), ["appmesh-end-of-service"]);
}
