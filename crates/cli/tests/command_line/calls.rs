//! Findings in Terraform modules name the calls. One mistake that appears through several calls is one finding.

use serde_json::{Value, json};

use crate::workspace::{Workspace, errors, out};

/// A module with a container that waits for `var.on`.
const TASK: &str = r#"variable "on" { default = "db" }
variable "name" {}
resource "aws_ecs_task_definition" "this" {
  family = var.name
  container_definitions = jsonencode([
    { name = "app", image = "example/app:1", dependsOn = [{ containerName = var.on, condition = "START" }] },
    { name = "log", image = "example/log:1" },
  ])
}
"#;

/// A call of the module, in four lines.
fn call(name: &str, arguments: &str) -> String {
    format!("module \"{name}\" {{\n  source = \"../modules/task\"\n  {arguments}\n}}\n")
}

/// A root module `prod` and the module that it calls.
fn workspace(name: &str, main: &str) -> Workspace {
    Workspace::new(name, &[("prod/main.tf", main), ("modules/task/main.tf", TASK)])
}

fn check(workspace: &Workspace, format: &str) -> String {
    let output = workspace.run(&["check", "--output", format]);
    assert_eq!(errors(&output), "");
    out(&output)
}

fn report(workspace: &Workspace) -> Value {
    serde_json::from_str(&check(workspace, "json")).unwrap()
}

/// The calls that the only finding names: module, file and line.
fn calls(report: &Value) -> Vec<String> {
    let [finding] = report["findings"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
    assert_eq!(
        (&finding["rule"], &finding["file"]),
        (&json!("ecs-dependency-unknown"), &json!("modules/task/main.tf"))
    );
    let calls = finding["calls"].as_array().unwrap();
    let text = |call: &Value| {
        let [module, file] = ["module", "file"].map(|key| call[key].as_str().unwrap());
        format!("{module} {file}:{}", call["start"]["line"])
    };
    calls.iter().map(text).collect()
}

#[test]
fn a_mistake_in_a_module_that_is_called_twice_is_one_finding() {
    // Given a module with a mistake, and two calls of it.
    let main = call("web", "name = \"web\"") + &call("api", "name = \"api\"");
    let workspace = workspace("calls-twice", &main);
    // Then the mistake is one finding, with both calls and both definitions.
    let report = report(&workspace);
    assert_eq!(calls(&report), ["module.web prod/main.tf:1", "module.api prod/main.tf:5"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["definition"], &finding["alsoIn"]), (&json!("web"), &json!(["api"])));
    let summary = &report["summary"];
    assert_eq!((&summary["errors"], &summary["definitionsWithFindings"]), (&json!(1), &json!(2)));
    let text = check(&workspace, "text");
    assert!(text.contains("= in: web (and 1 more), container app\n"), "{text}");
    assert!(text.contains("= called as: module.web in prod/main.tf:1, module.api in prod/main.tf:5\n"), "{text}");
    assert!(text.ends_with("1 error in 2 of 2 task definitions (2 files)\n"), "{text}");
}

#[test]
fn a_mistake_of_one_call_s_arguments_names_that_call() {
    // Given two calls, one of them with a wrong argument.
    let main = call("web", "name = \"web\"\n  on = \"log\"") + &call("api", "name = \"api\"");
    let workspace = workspace("calls-one", &main);
    // Then the finding names that call.
    assert_eq!(calls(&report(&workspace)), ["module.api prod/main.tf:6"]);
    let text = check(&workspace, "text");
    assert!(text.contains("= in: api, container app\n"), "{text}");
    assert!(text.contains("= called as: module.api in prod/main.tf:6\n"), "{text}");
}

#[test]
fn root_modules_that_share_a_module_share_its_findings() {
    // Given two root modules that call one module, in the same way.
    let main = call("web", "name = \"web\"");
    let files = [("prod/main.tf", &*main), ("staging/main.tf", &main), ("modules/task/main.tf", TASK)];
    let report = report(&Workspace::new("calls-roots", &files));
    // Then its mistake is one finding, and each call has its root module's file.
    assert_eq!(calls(&report), ["module.web prod/main.tf:1", "module.web staging/main.tf:1"]);
    assert_eq!(report["findings"][0].get("alsoIn"), None);
}

#[test]
fn a_nested_call_has_the_place_of_the_root_s_call() {
    // Given a call with two instances of a module that calls another one.
    let service = "variable \"name\" {}\nmodule \"task\" {\n  source = \"../task\"\n  name = var.name\n}\n";
    let main = "\nmodule \"region\" {\n  source   = \"../modules/service\"\n  for_each = toset([\"eu\", \"us\"])\n  name = \"web\"\n}\n";
    let files = [("prod/main.tf", main), ("modules/service/main.tf", service), ("modules/task/main.tf", TASK)];
    // Then the finding has the address of each instance.
    let found = calls(&report(&Workspace::new("calls-nested", &files)));
    let expected = ["eu", "us"].map(|key| format!("module.region[{key:?}].module.task prod/main.tf:2"));
    assert_eq!(found, expected);
}

#[test]
fn instances_of_one_block_share_its_findings() {
    // Given a resource with two instances, in a root module.
    let task = TASK.replace("family = var.name", "for_each = toset([\"eu\", \"us\"])\n  family = \"web-${each.key}\"");
    let workspace = Workspace::new("calls-instances", &[("main.tf", &task.replace("variable \"name\" {}\n", ""))]);
    // Then its mistake is one finding without a call.
    let report = report(&workspace);
    let [finding] = report["findings"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
    assert_eq!((&finding["definition"], &finding["alsoIn"]), (&json!("web-eu"), &json!(["web-us"])));
    assert_eq!(finding.get("calls"), None);
}

/// A plan in which the module is called once for each region, and once more by another name.
fn plan() -> String {
    let containers = json!([{
        "name": "app", "image": "example/app:1",
        "dependsOn": [{ "containerName": "db", "condition": "START" }, { "containerName": "db", "condition": "HEALTHY" }],
    }]);
    let modules = ["module.region[\"eu\"]", "module.region[\"us\"]", "module.lab"].map(|module| {
        json!({ "address": module, "resources": [{
            "address": format!("{module}.aws_ecs_task_definition.this"), "mode": "managed",
            "type": "aws_ecs_task_definition", "name": "this",
            "values": { "family": "web", "container_definitions": containers.to_string() },
        }] })
    });
    let call = json!({ "source": "../modules/task", "module": {} });
    let plan = json!({
        "format_version": "1.2", "terraform_version": "1.9.8",
        "planned_values": { "root_module": { "child_modules": modules } },
        "configuration": { "root_module": { "module_calls": { "region": call, "lab": call } } },
    });
    serde_json::to_string_pretty(&plan).unwrap()
}

#[test]
fn the_calls_of_a_module_in_a_plan_share_its_findings() {
    // Given a plan in which three calls of a module have the same two mistakes.
    let workspace = Workspace::new("calls-plan", &[("plan.json", &plan())]);
    let report = report(&workspace);
    // Then each mistake is one finding, with the three calls.
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{report:#}");
    for finding in findings {
        let modules: Vec<&Value> = finding["calls"].as_array().unwrap().iter().map(|call| &call["module"]).collect();
        assert_eq!(modules, ["module.region[\"eu\"]", "module.region[\"us\"]", "module.lab"]);
    }
    // But calls of different modules have findings of their own.
    let other = plan().replacen("../modules/task", "../modules/other", 1);
    let other = Workspace::new("calls-plan-other", &[("plan.json", &other)]);
    let report: Value = serde_json::from_str(&check(&other, "json")).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 4, "{report:#}");
}

#[test]
fn instances_of_one_block_in_a_plan_share_its_findings() {
    let containers = json!([{
        "name": "app", "image": "example/app:1", "dependsOn": [{ "containerName": "db", "condition": "START" }],
    }]);
    let family = |address: &str| address.replace(['[', '"', ']'], "-");
    let found = |name: &str, addresses: &[&str]| {
        let resources = addresses.iter().map(|address| {
            let values = json!({ "family": family(address), "container_definitions": containers.to_string() });
            json!({
                "address": format!("aws_ecs_task_definition.{address}"), "mode": "managed",
                "type": "aws_ecs_task_definition", "values": values,
            })
        });
        let plan = json!({
            "format_version": "1.2", "terraform_version": "1.9.8",
            "planned_values": { "root_module": { "resources": resources.collect::<Vec<_>>() } },
        });
        let workspace = Workspace::new(name, &[("plan.json", &serde_json::to_string_pretty(&plan).unwrap())]);
        let found = report(&workspace)["findings"].as_array().unwrap().clone();
        // Exceptions count the findings as the report does.
        let counted = errors(&workspace.run(&["check", "--add-ignore=a lab"]));
        assert!(counted.contains(&format!("ecs-mesh.toml: ignored {} finding", found.len())), "{counted}");
        found
    };
    // Given two instances of a block of the root module, and a block with the same mistake.
    let both = found("calls-plan-instances", &["web[\"eu\"]", "web[\"us\"]", "api"]);
    // Then the instances have one finding, and the other block has its own.
    let [web, api] = both.as_slice() else { panic!("{both:#?}") };
    assert_eq!((&web["definition"], &web["alsoIn"]), (&json!(family("web[\"eu\"]")), &json!([family("web[\"us\"]")])));
    assert_eq!((&api["definition"], api.get("alsoIn"), web.get("calls")), (&json!("api"), None, None));
    // And the finding has the fingerprint of its first instance.
    let one = found("calls-plan-instance", &["web[\"eu\"]"]);
    assert_eq!(web["fingerprint"], one[0]["fingerprint"]);
}

#[test]
fn a_finding_keeps_its_fingerprint_when_calls_are_added_or_removed() {
    let fingerprint = |name: &str, main: &str| report(&workspace(name, main))["findings"][0]["fingerprint"].clone();
    let [web, api] = ["web", "api"].map(|name| call(name, &format!("name = \"{name}\"")));
    let one = fingerprint("calls-print-one", &web);
    assert_eq!(fingerprint("calls-print-behind", &format!("{web}{api}")), one);
    assert_eq!(fingerprint("calls-print-before", &format!("{api}{web}")), one);
}

#[test]
fn an_exception_for_one_call_leaves_the_others() {
    // Given three calls with one mistake, and an exception for the family of the first.
    let main = ["web", "api", "job"].map(|name| call(name, &format!("name = \"{name}\""))).concat();
    let config = "[[ignore]]\nrule = \"ecs-dependency-unknown\"\nfamily = \"web\"\nreason = \"a lab\"\n";
    let files = [("prod/main.tf", &*main), ("modules/task/main.tf", TASK), ("ecs-mesh.toml", config)];
    let left = report(&Workspace::new("calls-ignored", &files));
    // Then the finding has the calls of the other two.
    assert_eq!(calls(&left), ["module.api prod/main.tf:5", "module.job prod/main.tf:9"]);
    let ignored = &left["ignored"];
    assert_eq!((ignored.as_array().unwrap().len(), &ignored[0]["calls"][0]["module"]), (1, &json!("module.web")));
    // And a comment at the mistake is about all of them.
    let commented = format!("# ecs-mesh: ignore[ecs-dependency-unknown] a lab\n{TASK}");
    let files = [("prod/main.tf", &*main), ("modules/task/main.tf", &commented)];
    let none = report(&Workspace::new("calls-commented", &files));
    let summary = &none["summary"];
    assert_eq!((&summary["errors"], &summary["ignored"]), (&json!(0), &json!(1)));
}

#[test]
fn every_format_has_the_finding_once_and_names_the_call() {
    let main = ["web", "api", "job"].map(|name| call(name, &format!("name = \"{name}\""))).concat();
    let workspace = workspace("calls-formats", &main);
    for format in ["text", "concise", "github", "gitlab", "markdown", "html", "junit"] {
        let text = check(&workspace, format);
        let calls = "module.web in prod/main.tf:1, module.api in prod/main.tf:5 (and 1 more)";
        let text = text.replace("\\_", "_");
        assert_eq!(text.matches(calls).count(), 1, "{format}: {text}");
    }
    let sarif: Value = serde_json::from_str(&check(&workspace, "sarif")).unwrap();
    let [result] = sarif["runs"][0]["results"].as_array().unwrap().as_slice() else { panic!("{sarif:#}") };
    let related = result["relatedLocations"].as_array().unwrap();
    let texts: Vec<&Value> = related.iter().map(|location| &location["message"]["text"]).collect();
    assert_eq!(texts, ["called as module.web", "called as module.api", "called as module.job"]);
    let place = &related[1]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&json!("prod/main.tf"), &json!(5)));
}
