//! `ecs-mesh fix` and `inject` as their users run them.

use std::{fs, io::Write, process::Stdio};

use serde_json::Value;

use crate::workspace::{CLEAN, Workspace, bridged, errors, out};

#[test]
fn a_fix_is_written_only_on_request() {
    let workspace = Workspace::new("fix", &[("web.json", &bridged())]);
    let shown = workspace.run(&["fix"]);
    assert_eq!(shown.status.code(), Some(1));
    let diff = out(&shown);
    assert!(diff.contains("-  \"networkMode\": \"bridge\",\n+  \"networkMode\": \"awsvpc\",\n"), "{diff}");
    assert_eq!(workspace.read("web.json"), bridged(), "nothing is written yet");

    let written = workspace.run(&["fix", "--write"]);
    assert_eq!(written.status.code(), Some(0));
    assert!(errors(&written).contains("web.json: fixed consul-network-mode"), "{}", errors(&written));
    assert_eq!(workspace.read("web.json"), CLEAN);
    let again = workspace.run(&["fix", "--write"]);
    assert_eq!((again.status.code(), out(&again), errors(&again)), (Some(0), String::new(), String::new()));
}

/// The definition of a Terraform source is fixed in its file, with the values that the other files declare.
#[test]
fn a_terraform_source_is_fixed_with_the_values_of_its_directory() {
    let main = "resource \"aws_ecs_task_definition\" \"web\" {\n  family       = var.family\n  network_mode = \"bridge\" # for now\n  tags         = { \"consul.hashicorp.com/mesh\" = \"true\" }\n  container_definitions = jsonencode([\n    { name = \"consul-dataplane\", image = \"hashicorp/consul-dataplane:1.6.5\" },\n  ])\n}\n";
    let variables = "variable \"family\" {\n  default = \"web\"\n}\n";
    let workspace = Workspace::new("fix-terraform", &[("main.tf", main), ("variables.tf", variables)]);
    let written = workspace.run(&["fix", "--write", "--select", "consul-network-mode"]);
    assert_eq!(written.status.code(), Some(0), "{}", errors(&written));
    assert!(errors(&written).contains("main.tf: fixed consul-network-mode"), "{}", errors(&written));
    assert_eq!(workspace.read("main.tf"), main.replace("bridge", "awsvpc"));
    let refused = workspace.run(&["inject", "main.tf", "--consul-hosts", "consul.example.internal"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors(&refused).contains("web is in a Terraform source"), "{}", errors(&refused));
}

#[test]
fn a_terraform_source_is_fixed_with_the_modules_that_it_calls() {
    // Given a definition whose family is an output of a module beside it.
    let main = "module \"names\" {\n  source = \"../names\"\n}\n\nresource \"aws_ecs_task_definition\" \"web\" {\n  family                = module.names.family\n  network_mode          = \"bridge\"\n  tags                  = { \"consul.hashicorp.com/mesh\" = \"true\" }\n  container_definitions = jsonencode([\n    { name = \"consul-dataplane\", image = \"hashicorp/consul-dataplane:1.6.5\" },\n  ])\n}\n";
    let workspace = Workspace::new("fix-modules", &[]);
    for (name, text) in [("app/main.tf", main), ("names/main.tf", "output \"family\" {\n  value = \"web\"\n}\n")] {
        let path = workspace.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    // Then it is fixed if both directories are read, and if its own is.
    for input in [".", "./.", "app"] {
        fs::write(workspace.0.join("app/main.tf"), main).unwrap();
        let written = workspace.run(&["fix", "--write", "--select", "consul-network-mode", input]);
        assert_eq!(written.status.code(), Some(0), "{input}: {}", errors(&written));
        assert_eq!(workspace.read("app/main.tf"), main.replace("bridge", "awsvpc"));
    }
}

/// A local value may have other uses, so that it is not edited.
#[test]
fn findings_without_a_fix_are_counted() {
    let main = "locals {\n  mode = \"bridge\"\n}\n\nresource \"aws_ecs_task_definition\" \"web\" {\n  family                = \"web\"\n  network_mode          = local.mode\n  tags                  = { \"consul.hashicorp.com/mesh\" = \"true\" }\n  container_definitions = jsonencode([\n    { name = \"consul-dataplane\", image = \"hashicorp/consul-dataplane:1.6.5\" },\n  ])\n}\n";
    let workspace = Workspace::new("fix-by-hand", &[("main.tf", main)]);
    let shown = workspace.run(&["fix", "--select", "consul-network-mode"]);
    let said = "info: 1 finding has no fix: `ecs-mesh check` shows what to do\n";
    assert_eq!((shown.status.code(), out(&shown), errors(&shown)), (Some(0), String::new(), said.to_owned()));
}

/// A Terraform source is read with its directory: one file after the other, each would read all of them again.
#[test]
fn all_files_of_a_directory_are_fixed_together() {
    let main = |name: &str| {
        format!(
            "resource \"aws_ecs_task_definition\" \"{name}\" {{\n  family                = \"{name}\"\n  network_mode          = \"bridge\"\n  tags                  = {{ \"consul.hashicorp.com/mesh\" = \"true\" }}\n  container_definitions = jsonencode([\n    {{ name = \"consul-dataplane\", image = \"hashicorp/consul-dataplane:1.6.5\" }},\n  ])\n}}\n"
        )
    };
    let workspace = Workspace::new("fix-many", &[]);
    let names: Vec<String> = (0..100).map(|number| format!("web-{number:03}")).collect();
    for name in &names {
        fs::write(workspace.0.join(format!("{name}.tf")), main(name)).unwrap();
    }
    let written = workspace.run(&["fix", "--write", "--select", "consul-network-mode"]);
    assert_eq!(written.status.code(), Some(0), "{}", errors(&written));
    for name in &names {
        assert_eq!(workspace.read(&format!("{name}.tf")), main(name).replace("bridge", "awsvpc"));
        assert!(errors(&written).contains(&format!("{name}.tf: fixed consul-network-mode\n")), "{name}");
    }
}

/// A definition is called by its address if it shares its family, whichever files of its module are named.
#[test]
fn a_file_of_a_module_is_checked_as_with_the_others() {
    let main = |name: &str, mode: &str| {
        format!(
            "resource \"aws_ecs_task_definition\" \"{name}\" {{\n  family                = \"web\"\n  network_mode          = \"{mode}\"\n  tags                  = {{ \"consul.hashicorp.com/mesh\" = \"true\" }}\n  container_definitions = jsonencode([\n    {{ name = \"consul-dataplane\", image = \"hashicorp/consul-dataplane:1.6.5\" }},\n  ])\n}}\n"
        )
    };
    // Given two definitions of one family in the files of a module.
    let files = [("blue.tf", &*main("blue", "bridge")), ("green.tf", &*main("green", "awsvpc"))];
    let workspace = Workspace::new("fix-family", &files);
    // When one file is checked, then its findings are the same as with the others.
    let of = |path: &str| {
        let checked = workspace.run(&["check", path, "--output", "json", "--select", "consul-network-mode"]);
        serde_json::from_str::<Value>(&out(&checked)).unwrap()["findings"].clone()
    };
    assert_eq!(of("blue.tf"), of("."));
    // And it can be fixed.
    let written = workspace.run(&["fix", "--write", "--select", "consul-network-mode"]);
    assert_eq!(
        (written.status.code(), workspace.read("blue.tf")),
        (Some(0), main("blue", "awsvpc")),
        "{}",
        errors(&written)
    );
}

#[test]
fn a_fix_names_what_else_must_change() {
    let workspace = Workspace::new("fix-else", &[("web.json", &bridged())]);
    let also = "info: web.json:3: with awsvpc, ECS services and RunTask need a networkConfiguration with subnets\n";
    for arguments in [&["fix"][..], &["fix", "--write"]] {
        let said = errors(&workspace.run(arguments));
        assert!(said.contains(also), "{said}");
    }
}

#[test]
fn a_fix_skips_what_is_ignored() {
    let config = "[[ignore]]\nrule = \"consul-network-mode\"\nreason = \"a lab\"\n";
    let workspace = Workspace::new("fix-ignored", &[("web.json", &bridged()), ("ecs-mesh.toml", config)]);
    assert_eq!(workspace.run(&["fix", "--write", "web.json"]).status.code(), Some(0));
    assert_eq!(workspace.read("web.json"), bridged());

    let workspace = Workspace::new("fix-other", &[("web.json", &bridged())]);
    assert_eq!(workspace.run(&["fix", "--write", "--select", "consul-proxy-open-files"]).status.code(), Some(0));
    assert_eq!(workspace.read("web.json"), bridged());
    assert_eq!(workspace.run(&["fix", "--select", "consul-netwrk-mode"]).status.code(), Some(2));
    assert_eq!(workspace.run(&["fix", "--select", "ecs"]).status.code(), Some(0), "nothing to fix");
    assert_eq!(workspace.run(&["fix", "--select", "consul"]).status.code(), Some(1), "a group of rules");
    assert_eq!(workspace.run(&["fix", "--ignore", "consul-network-mode"]).status.code(), Some(0), "nothing to fix");
}

#[test]
fn a_file_whose_comments_have_errors_is_not_fixed() {
    let text = format!("// ecs-mesh: ignore[consul-netwrk-mode] keep\n{}", bridged());
    let workspace = Workspace::new("fix-comment", &[("web.json", &text)]);
    for arguments in [&["fix"][..], &["fix", "--write"]] {
        let output = workspace.run(arguments);
        assert_eq!((output.status.code(), out(&output)), (Some(2), String::new()));
        assert!(
            errors(&output).contains("web.json:1:1: there is no rule \"consul-netwrk-mode\""),
            "{}",
            errors(&output)
        );
        assert_eq!(workspace.read("web.json"), text);
    }
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let workspace = Workspace::new("fix-stdin", &[]);
    let mut child =
        workspace.command(&["fix", "--write", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bridged().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), out(&output)), (Some(0), CLEAN.to_owned()));
}

#[test]
fn unchanged_standard_input_is_passed_through() {
    let workspace = Workspace::new("fix-clean-stdin", &[]);
    let mut child =
        workspace.command(&["fix", "--write", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(CLEAN.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), out(&output)), (Some(0), CLEAN.to_owned()));
}

#[test]
fn writing_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let workspace = Workspace::new("fix-link", &[("web.json", &bridged())]);
    fs::set_permissions(workspace.0.join("web.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("web.json", workspace.0.join("link.json")).unwrap();
    assert_eq!(workspace.run(&["fix", "--write", "link.json"]).status.code(), Some(0));
    assert!(fs::symlink_metadata(workspace.0.join("link.json")).unwrap().is_symlink());
    assert_eq!(workspace.read("web.json"), CLEAN);
    assert_eq!(fs::metadata(workspace.0.join("web.json")).unwrap().permissions().mode() & 0o777, 0o600);
}

const PLAIN: &str = r#"{
  "family": "orders",
  "executionRoleArn": "arn:aws:iam::123456789012:role/orders-execution",
  "taskRoleArn": "arn:aws:iam::123456789012:role/consul-ecs/orders",
  "containerDefinitions": [
    { "name": "orders", "image": "example/orders:2", "portMappings": [{ "containerPort": 9090 }] }
  ]
}
"#;

#[test]
fn an_injected_definition_passes_the_check() {
    let workspace = Workspace::new("inject", &[("plain.json", PLAIN)]);
    // Without it, the token goes to the servers in clear text.
    let certificate = ["--ca-secret", "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-AbCdEf"];
    let inject = ["inject", "plain.json", "--consul-hosts", "consul.example.internal"];
    let output = workspace.run(&[&inject[..], &certificate].concat());
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let expected = [
        "info: with awsvpc, ECS services and RunTask need a networkConfiguration with subnets",
        "info: the mesh's containers get no logConfiguration",
    ];
    assert_eq!(said.lines().count(), expected.len(), "{said}");
    assert!(said.lines().zip(expected).all(|(line, expected)| line.starts_with(expected)), "{said}");
    fs::write(workspace.0.join("mesh.json"), out(&output)).unwrap();
    let checked = workspace.run(&["check", "--fail-on", "warning", "mesh.json"]);
    assert_eq!(checked.status.code(), Some(0), "{}", out(&checked));
    assert_eq!(workspace.read("plain.json"), PLAIN, "printed, not written");
}

#[test]
fn missing_injection_options_are_named() {
    let workspace = Workspace::new("inject-lacks", &[("plain.json", PLAIN), ("mesh.json", CLEAN)]);
    let inject = |file: &str, more: &[&str]| {
        let arguments = ["inject", file, "--consul-hosts", "consul.example.internal"];
        let output = workspace.run(&[&arguments, more].concat());
        assert_eq!(output.status.code(), Some(2));
        errors(&output)
    };
    assert!(inject("mesh.json", &[]).contains("already in a mesh"));
    assert!(inject("plain.json", &["--consul-version", "7.7"]).contains("(supported: 2.0, 1.22"));
    assert!(inject("plain.json", &["--consul-version", "1.16.2"]).contains("support Consul 1.16 (supported: 2.0"));
    assert!(inject("plain.json", &["--consul-version", "new"]).contains("such as 2.0 or 1.21.4"));
    for image in ["consul-ecs:0.5.2", "consul-ecs:0.7.3"] {
        let refused = inject("plain.json", &["--consul-ecs-image", image]);
        let expected =
            format!("{image} does not have the containers that inject adds. Pass an image of consul-ecs 0.8");
        assert!(refused.contains(&expected), "{refused}");
    }
    assert!(inject("plain.json", &["--upstream", "stock"]).contains("name:port"));
    assert!(inject("plain.json", &["--family", "web"]).contains("no such task definition"));
}

#[test]
fn app_mesh_is_replaced_and_what_is_removed_is_listed() {
    let app_mesh = include_str!("../../../audit/src/bases/app-mesh.json");
    let workspace = Workspace::new("inject-app-mesh", &[("orders.json", app_mesh)]);
    let output = workspace.run(&["inject", "orders.json", "--consul-hosts", "consul.example.internal", "--no-acls"]);
    let (said, text) = (errors(&output), out(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    for removed in ["proxyConfiguration", "the container envoy", "the dependency of orders on envoy"] {
        assert!(said.contains(&format!("info: removed {removed}\n")), "{removed}: {said}");
    }
    assert!(!text.contains("APPMESH") && !text.contains("\"envoy\""), "{text}");
    assert!(text.contains("xray-daemon") && text.contains("consul-dataplane"), "{text}");
}

#[test]
fn hosts_that_no_lookup_finds_are_refused_with_what_to_write() {
    let workspace = Workspace::new("inject-hosts", &[("plain.json", PLAIN)]);
    for (hosts, advice) in [
        ("https://consul.example.internal:8501", "write consul.example.internal"),
        ("consul.example.internal:8501", "write consul.example.internal"),
        ("provider=aws tag_key=consul", "write exec=discover -q addrs provider=aws tag_key=consul"),
    ] {
        workspace.assert_refused(&["inject", "plain.json", "--no-acls", "--consul-hosts", hosts], advice);
    }
    for hosts in ["exec=discover -q addrs provider=aws tag_key=consul tag_value=server", "10.0.0.1", "2001:db8::1"] {
        let output = workspace.run(&["inject", "plain.json", "--no-acls", "--consul-hosts", hosts]);
        assert_eq!(output.status.code(), Some(0), "{hosts}");
    }
}

#[test]
fn an_injection_says_what_concerns_the_definition() {
    let routed = PLAIN.replace(
        "\"image\": \"example/orders:2\",",
        "\"image\": \"example/orders:2\", \"logConfiguration\": { \"logDriver\": \"awsfirelens\" },",
    );
    let workspace = Workspace::new("inject-says", &[("plain.json", PLAIN), ("routed.json", &routed)]);
    let said = |file: &str, more: &[&str]| {
        let arguments = ["inject", file, "--consul-hosts", "consul.example.internal"];
        errors(&workspace.run(&[&arguments, more].concat()))
    };
    assert!(!said("plain.json", &[]).contains("awsfirelens"));
    assert!(said("routed.json", &[]).contains("awsfirelens is not copied"));
    let clear = "in clear text";
    assert!(said("plain.json", &[]).contains(clear));
    assert!(
        !said("plain.json", &["--no-acls"]).contains(clear)
            && !said("plain.json", &["--ca-secret", "arn:aws:secretsmanager:us-east-1:123456789012:secret:ca-AbCdEf"])
                .contains(clear)
    );
    let network = "with awsvpc, ECS services and RunTask need a networkConfiguration with subnets";
    assert!(said("plain.json", &[]).contains(network));
}
