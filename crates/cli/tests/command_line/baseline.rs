//! `ecs-mesh check --add-ignore`: afterwards, a check finds nothing.

use std::fs;

use crate::workspace::{CLEAN, Workspace, bridged, errors, out, two_mistakes};

const TEMPLATE: &str = "\
Resources:
  Web:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: web
      ContainerDefinitions:
        - Name: web
          Image: example/web:1
          DependsOn:
            - { ContainerName: nobody, Condition: START }
";

#[test]
fn entries_have_the_line_ends_of_the_file() {
    let config = "fail-on = 'info'\r\n[severity]\r\nconsul-health-sync-needless = 'off'\r\n";
    let workspace = Workspace::new("line-ends", &[("a.json", &two_mistakes()), ("ecs-mesh.toml", config)]);
    assert_eq!(workspace.run(&["check", "--add-ignore"]).status.code(), Some(0));
    let written = workspace.read("ecs-mesh.toml");
    assert!(written.starts_with(config) && written.len() > config.len(), "{written}");
    assert_eq!(written.matches('\n').count(), written.matches("\r\n").count(), "{written:?}");
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0));
}

#[test]
fn afterwards_a_check_finds_nothing() {
    // Given findings in YAML, in JSON with comments, in plain JSON, and a configuration.
    let commented = format!("// the lab's\n{}", bridged());
    let config = "fail-on = 'info'\n[severity]\nconsul-health-sync-needless = 'off'";
    let workspace = Workspace::new(
        "baseline",
        &[
            ("a.yaml", TEMPLATE),
            ("b.json", &commented),
            ("c [1].json", &two_mistakes()),
            ("d.json", CLEAN),
            ("ecs-mesh.toml", config),
        ],
    );
    assert_eq!(workspace.run(&["check"]).status.code(), Some(1));
    // When an exception is written for each of them.
    let output = workspace.run(&["check", "--add-ignore=the lab has no mesh"]);
    // Then each file says so, and nothing is found.
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()));
    assert_eq!(
        errors(&output),
        "ecs-mesh.toml: ignored 2 findings by entries\na.yaml: ignored 1 finding by comments\n\
         b.json: ignored 1 finding by comments\n"
    );
    let yaml = workspace.read("a.yaml");
    let comment = "            # ecs-mesh: ignore[ecs-dependency-unknown] the lab has no mesh\n";
    assert_eq!(yaml, TEMPLATE.replace("            - {", &format!("{comment}            - {{")));
    let json = workspace.read("b.json");
    assert!(
        json.contains("  // ecs-mesh: ignore[consul-network-mode] the lab has no mesh\n  \"networkMode\""),
        "{json}"
    );
    assert_eq!(workspace.read("c [1].json"), two_mistakes(), "plain JSON stays plain");
    let again = workspace.run(&["check"]);
    assert_eq!((again.status.code(), errors(&again)), (Some(0), String::new()), "{}", out(&again));
    assert!(out(&again).contains("4 findings ignored"), "{}", out(&again));
    // And a second time, there is nothing to write.
    let second = workspace.run(&["check", "--add-ignore"]);
    assert_eq!((second.status.code(), errors(&second)), (Some(0), String::new()));
}

#[test]
fn a_terraform_source_gets_comments_and_a_text_of_several_lines_one_above_it() {
    let source = "resource \"aws_ecs_task_definition\" \"web\" {\r\n  family       = \"web\"\r\n  tags         = { \"consul.hashicorp.com/mesh\" = \"true\" }\r\n  container_definitions = <<-EOT\r\n    [{ \"name\": \"web\", \"image\": \"web\", \"dependsOn\":\r\n      [{ \"containerName\": \"nobody\", \"condition\": \"START\" }] }]\r\n  EOT\r\n}\r\n";
    let workspace = Workspace::new("baseline-terraform", &[("main.tf", source), ("ecs-mesh.toml", "")]);
    assert_eq!(workspace.run(&["check"]).status.code(), Some(1));
    assert_eq!(workspace.run(&["check", "--add-ignore=a lab"]).status.code(), Some(0));
    let written = workspace.read("main.tf");
    let comment = "  # ecs-mesh: ignore[consul-mesh-tag-alone] a lab\r\n";
    let above = "  # ecs-mesh: ignore[ecs-dependency-unknown] a lab\r\n";
    let expected = source.replace("  tags", &format!("{comment}  tags"));
    assert_eq!(written, expected.replace("  container_definitions", &format!("{above}  container_definitions")));
    assert_eq!(workspace.read("ecs-mesh.toml"), "");
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0));
}

#[test]
fn the_configuration_is_created_where_there_is_none() {
    let workspace = Workspace::new("baseline-new", &[("web.json", &bridged())]);
    // A configuration further up would be the nearest one.
    assert_eq!(workspace.run(&["check", "--add-ignore", "--config", "none.toml"]).status.code(), Some(2));
    fs::write(workspace.0.join("ecs-mesh.toml"), "").unwrap();
    assert_eq!(workspace.run(&["check", "--add-ignore"]).status.code(), Some(0));
    assert_eq!(
        workspace.read("ecs-mesh.toml"),
        "[[ignore]]\nrule = \"consul-network-mode\"\npath = \"web.json\"\nfamily = \"web\"\n\
         reason = \"accepted when ecs-mesh was introduced\"\n"
    );
}

#[test]
fn a_path_below_the_configuration_is_relative_to_it() {
    let workspace = Workspace::new("baseline-below", &[("ecs-mesh.toml", "")]);
    fs::create_dir_all(workspace.0.join("services/web")).unwrap();
    fs::write(workspace.0.join("services/web/task.json"), bridged()).unwrap();
    let below = Workspace(workspace.0.join("services"));
    assert_eq!(below.run(&["check", "--add-ignore"]).status.code(), Some(0));
    let config = workspace.read("ecs-mesh.toml");
    assert!(config.contains("path = \"services/web/task.json\""), "{config}");
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0));
}

#[test]
fn nothing_is_written_if_the_configuration_cannot_be_extended() {
    let config = "ignore = [{ rule = 'consul-volumes', reason = 'a lab' }]\n";
    let commented = format!("// the lab's\n{}", bridged());
    let workspace =
        Workspace::new("baseline-inline", &[("a.json", &commented), ("b.json", &bridged()), ("ecs-mesh.toml", config)]);
    workspace.assert_refused(&["check", "--add-ignore"], "ecs-mesh.toml:");
    assert_eq!(workspace.read("a.json"), commented);
    assert_eq!(workspace.read("ecs-mesh.toml"), config);
}

#[test]
fn a_file_whose_name_is_not_utf_8_gets_no_exception() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = Workspace::new("baseline-name", &[("web.json", &bridged()), ("ecs-mesh.toml", "")]);
    let orders = bridged().replace("\"family\": \"web\"", "\"family\": \"orders\"");
    fs::write(workspace.0.join(std::ffi::OsStr::from_bytes(b"bad\xff.json")), orders).unwrap();
    workspace.assert_refused(&["check", "--add-ignore"], "its name is not UTF-8");
    let config = workspace.read("ecs-mesh.toml");
    assert!(config.matches("[[ignore]]").count() == config.matches("path = \"web.json\"").count(), "{config}");
}

#[test]
fn entries_about_files_that_were_not_read_are_not_called_unused() {
    let workspace =
        Workspace::new("baseline-part", &[("web.json", &bridged()), ("clean.json", CLEAN), ("ecs-mesh.toml", "")]);
    assert_eq!(workspace.run(&["check", "--add-ignore"]).status.code(), Some(0));
    assert_eq!(errors(&workspace.run(&["check", "clean.json"])), "");
    fs::write(workspace.0.join("web.json"), CLEAN).unwrap();
    assert!(errors(&workspace.run(&["check"])).contains("this entry ignores no finding"));
}

#[test]
fn only_selected_rules_are_accepted_and_a_reason_is_one_line() {
    let workspace = Workspace::new("baseline-select", &[("web.json", &two_mistakes()), ("ecs-mesh.toml", "")]);
    assert_eq!(workspace.run(&["check", "--add-ignore", "--select", "ecs"]).status.code(), Some(0));
    let left = out(&workspace.run(&["check", "--output", "concise", "--quiet"]));
    assert!(left.contains("consul-network-mode") && left.lines().count() == 1, "{left}");
    assert_eq!(workspace.run(&["check", "--add-ignore=a\nb"]).status.code(), Some(2));
    assert_eq!(workspace.run(&["check", "--add-ignore= "]).status.code(), Some(2));
}

/// A service may be in another file than its definition. Its findings, exceptions and secrets belong to its own file.
#[test]
fn a_finding_in_the_file_of_a_service_is_ignored_there_and_shows_no_secret() {
    let task = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([\n    { name = \"web\", image = \"example/web:1\" },\n  ])\n}\n";
    let service = "resource \"aws_ecs_service\" \"web\" {\n  task_definition = aws_ecs_task_definition.web.arn\n  load_balancer {\n    container_name = \"nginx\" # postgres://u:hunter2hunter2@h/db\n  }\n}\n";
    let workspace = Workspace::new("baseline-service", &[("task.tf", task), ("service.tf", service)]);
    let found = out(&workspace.run(&["check"]));
    assert!(found.contains("service.tf:4") && found.contains("container_name"), "{found}");
    assert!(found.ends_with("1 error in 1 of 1 task definition (2 files)\n"), "{found}");
    assert!(!found.contains("hunter2"), "{found}");
    assert_eq!(workspace.run(&["check", "--add-ignore=a lab"]).status.code(), Some(0));
    assert!(workspace.read("service.tf").contains("ecs-mesh: ignore[ecs-load-balancer-target] a lab"));
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0));
}
