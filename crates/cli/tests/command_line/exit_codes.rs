//! Exit codes of a check, and what changes them.

use crate::workspace::{CLEAN, Workspace, bridged, errors, out};

#[test]
fn a_run_without_input_looks_like_no_success_in_any_format() {
    let workspace = Workspace::new("nothing", &[]);
    for (format, verdict) in [
        ("markdown", "❌"),
        ("html", "class=\"verdict bad\""),
        ("sarif", "\"executionSuccessful\": false"),
        ("json", "no task definition found"),
        ("junit", "errors=\"1\""),
        ("github", "::error "),
        ("gitlab", "blocker"),
    ] {
        let output = workspace.run(&["check", "--output", format]);
        assert_eq!(output.status.code(), Some(3), "{format}");
        assert!(out(&output).contains(verdict), "{format}: {}", out(&output));
    }
}

#[test]
fn a_run_without_rules_is_an_error() {
    let workspace = Workspace::new("no-rules", &[("web.json", &bridged())]);
    workspace.assert_refused(&["check", "--select", "consul", "--ignore", "consul"], "no rule applies");
}

#[test]
fn findings_do_not_fail_the_run_on_request() {
    let workspace = Workspace::new("exit-zero", &[("web.json", &bridged()), ("broken.json", "{")]);
    let output = workspace.run(&["check", "--exit-zero", "web.json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("1 error in 1 of 1 task definition"), "{}", out(&output));
    assert_eq!(workspace.run(&["check", "--exit-zero", "broken.json"]).status.code(), Some(2), "not a finding");
    assert_eq!(workspace.run(&["check", "--exit-zero", "--fail-on", "info", "web.json"]).status.code(), Some(2));
    let junit = out(&workspace.run(&["check", "--exit-zero", "--output", "junit", "web.json"]));
    assert!(junit.contains("failures=\"1\""), "the report is the same: {junit}");
}

#[test]
fn sarif_is_uploaded_before_anything_fails() {
    let config = "fail-on = 'warning'\n";
    let workspace =
        Workspace::new("exit-sarif", &[("web.json", &bridged()), ("broken.json", "{"), ("ecs-mesh.toml", config)]);
    for (arguments, code) in [
        (&["web.json"][..], 0),
        (&["web.json", "--output-file", "ecs-mesh.sarif"], 0),
        (&["web.json", "--fail-on", "error"], 1),
        (&["web.json", "--fail-on", "never"], 0),
        (&["broken.json"], 2),
    ] {
        let output = workspace.run(&[&["check", "--output", "sarif"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
    }
    assert_eq!(workspace.run(&["check", "--output", "json", "web.json"]).status.code(), Some(1), "only SARIF");
}

#[test]
fn a_check_of_nothing_has_its_own_exit_code() {
    let workspace = Workspace::new("exit-nothing", &[("notes.yaml", "a: 1\n")]);
    for arguments in [&["check"][..], &["check", "--exit-zero"], &["check", "--quiet"], &["check", "--output", "sarif"]]
    {
        let output = workspace.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(errors(&output).starts_with("error: .: no task definition found"), "{}", errors(&output));
    }
    assert_eq!(workspace.run(&["check", "notes.yaml"]).status.code(), Some(2), "a file that is named must be one");
}

/// A folder with a correct definition and a file that cannot be read.
#[test]
fn a_file_that_cannot_be_read_is_no_success_in_any_notation() {
    const TASK: &str = "resource \"aws_ecs_task_definition\" \"web\" {}\n";
    let latin = |text: &str| [text.as_bytes(), b"# \xe9\n"].concat();
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let json = r#"{"family": "web", "containerDefinitions": []}"#;
    let reads = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = file(\"${path.module}/web.tpl\")\n}\n";
    let no_list = [b"[".as_slice(), b"\xff]"].concat();
    for (name, files) in [
        ("terraform", vec![("main.tf", latin(TASK))]),
        ("opentofu", vec![("main.tofu", latin(TASK))]),
        ("utf-16", vec![("main.tf", utf_16(TASK))]),
        (
            "module",
            vec![("main.tf", b"module \"web\" {\n  source = \"./web\"\n}\n".to_vec()), ("web/main.tf", latin(TASK))],
        ),
        ("function", vec![("main.tf", reads.into()), ("web.tpl", no_list)]),
        ("json", vec![("task.json", utf_16(json))]),
        ("yaml", vec![("task.yaml", latin("containerDefinitions: []\n"))]),
        (
            "template",
            vec![("task.template", latin("AWSTemplateFormatVersion: '2010-09-09' # AWS::ECS::TaskDefinition\n"))],
        ),
    ] {
        let workspace = Workspace::new(&format!("unreadable-{name}"), &[("web.json", CLEAN)]);
        for (file, bytes) in files {
            let path = workspace.0.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        for command in ["check", "fix", "inventory"] {
            let output = workspace.run(&[command, "."]);
            assert_eq!(output.status.code(), Some(2), "{name} {command}: {}", errors(&output));
        }
    }
    // Other directories and programs are none of its business.
    let workspace = Workspace::new("unreadable-other", &[("web.json", CLEAN)]);
    std::fs::create_dir_all(workspace.0.join("other/main.tf")).unwrap();
    std::fs::write(workspace.0.join("other/net.tf"), latin("resource \"aws_vpc\" \"main\" {}\n")).unwrap();
    assert_eq!(workspace.run(&["check", "."]).status.code(), Some(0));
}

/// As a module that is not read.
#[test]
fn definitions_with_unknown_containers_are_no_success() {
    let unknown = "variable \"all\" {}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family                = \"web\"\n  container_definitions = jsonencode(var.all)\n}\n";
    let template = "Resources:\n  Web:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      ContainerDefinitions: !GetAtt Made.Containers\n";
    let workspace =
        Workspace::new("exit-unknown", &[("main.tf", unknown), ("web.yaml", template), ("web.json", CLEAN)]);
    for (file, reason) in [
        ("main.tf", "the content of the Terraform sources"),
        ("web.yaml", "the containers are known only at deployment"),
    ] {
        let output = workspace.run(&["check", file]);
        assert_eq!(output.status.code(), Some(3), "{file}: {}", errors(&output));
        assert!(
            errors(&output).contains(&format!("no task definition could be checked: {reason}")),
            "{}",
            errors(&output)
        );
    }
    assert_eq!(workspace.run(&["check", "main.tf", "web.json"]).status.code(), Some(0), "another one is checked");
}

#[test]
fn a_cdk_project_without_output_is_told_to_synthesise() {
    let workspace = Workspace::new("exit-cdk", &[("cdk.json", "{ \"app\": \"npx ts-node app.ts\" }")]);
    let output = workspace.run(&["check"]);
    assert_eq!(output.status.code(), Some(3));
    let said = "error: .: no task definition found: this AWS CDK project has no cdk.out. Run `cdk synth`, then check \
                cdk.out\n";
    assert_eq!(errors(&output), said);
}

#[test]
fn a_quiet_check_prints_findings_and_errors_only() {
    let in_vain = CLEAN.replace("\"networkMode\"", "// ecs-mesh: ignore[consul-network-mode]\n  \"networkMode\"");
    let workspace = Workspace::new("quiet", &[("good.json", &in_vain), ("web.json", &bridged()), ("broken.json", "{")]);
    let clean = workspace.run(&["check", "--quiet", "good.json"]);
    assert_eq!((out(&clean), errors(&clean)), (String::new(), String::new()));
    let found = workspace.run(&["check", "-q", "--output", "concise", "web.json", "broken.json"]);
    assert_eq!(out(&found), "web.json:3:18: error consul-network-mode web: the network mode is bridge\n");
    assert!(errors(&found).starts_with("error: broken.json:1:"), "{}", errors(&found));
}

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_command_has_a_page_with_its_exit_codes() {
    let workspace = Workspace::new("exit-table", &[]);
    let help = out(&workspace.run(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let page = |name: &str| std::fs::read_to_string(format!("{REPOSITORY}/docs/reference/commands/{name}.md")).unwrap();
    let overview = page("README");
    for command in commands.iter().filter(|command| !command.is_empty()) {
        assert!(overview.contains(&format!("| [`{command}`]({command}.md) |")), "{command}");
        assert!(page(command).contains("\n## Exit codes\n\n| code | meaning |\n"), "{command}");
    }
    for arguments in [["explain", "nope"], ["graph", "nope"], ["rules", "zzzz"], ["completions", "nope"]] {
        assert_eq!(workspace.run(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_pages_name_every_exit_code_and_option_of_check() {
    let page = |name: &str| std::fs::read_to_string(format!("{REPOSITORY}/docs/{name}.md")).unwrap();
    let names =
        ["reference/commands/check", "reference/commands/README", "reference/configuration", "how-to/check-in-ci"];
    let pages = names.map(page).concat();
    for code in 0..=3 {
        assert!(pages.contains(&format!("\n| {code} | ")), "{code}");
    }
    let workspace = Workspace::new("exit-pages", &[]);
    let help = out(&workspace.run(&["check", "--help"]));
    let options = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let options = options.filter_map(|line| line.split_once("--")?.1.split([' ', '[', '=']).next());
    let mut count = 0;
    for option in options {
        assert!(pages.contains(&format!("--{option}")), "--{option}");
        count += 1;
    }
    assert!(count > 15, "{help}");
}
