//! `ecs-mesh config`: the configuration of a check, and its schema.

use std::fs;

use crate::workspace::{CLEAN, Workspace, bridged, errors, out};

const CONFIG: &str = "\
fail-on = 'warning'

[severity]
consul-network-mode = 'info'
appmesh = 'off'

[[ignore]]
rule = 'consul-volumes'
path = 'lab/**'
reason = 'a \"lab\"'
";

#[test]
fn each_value_says_where_it_comes_from() {
    let workspace = Workspace::new("config-show", &[("ecs-mesh.toml", CONFIG)]);
    let shown = out(&workspace.run(&["config", "show"]));
    for line in [
        "# configuration file: ecs-mesh.toml",
        "fail-on = \"warning\"  # ecs-mesh.toml:1:11",
        "consul-network-mode = \"info\"  # ecs-mesh.toml:4:1",
        "appmesh = \"off\"  # ecs-mesh.toml:5:1",
        "[[ignore]]  # ecs-mesh.toml:7:1",
        "reason = \"a \\\"lab\\\"\"",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let given = out(&workspace.run(&["config", "show", "--fail-on", "info", "--only", "consul-volumes,ecs-host-port"]));
    assert!(given.contains("# --select consul-volumes,ecs-host-port\n# 2 of "), "{given}");
    assert!(given.contains("fail-on = \"info\"  # --fail-on\n"), "{given}");
}

#[test]
fn what_is_shown_is_a_configuration_with_the_same_effect() {
    let workspace = Workspace::new("config-again", &[("ecs-mesh.toml", CONFIG)]);
    let shown = out(&workspace.run(&["config", "show"]));
    fs::write(workspace.0.join("again.toml"), &shown).unwrap();
    let again = out(&workspace.run(&["config", "show", "--config", "again.toml"]));
    let values = |text: &str| text.lines().map(|line| line.split('#').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(values(&again), values(&shown));
}

#[test]
fn without_a_file_there_are_the_defaults() {
    let workspace = Workspace::new("config-none", &[("empty.toml", "")]);
    let shown = out(&workspace.run(&["config", "show", "--config", "empty.toml"]));
    assert!(shown.ends_with("\nfail-on = \"error\"  # default\n"), "{shown}");
    let invalid = Workspace::new("config-invalid", &[("ecs-mesh.toml", "fial-on = 'error'\n")]);
    let output = invalid.run(&["config", "show"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("ecs-mesh.toml:1:1: unknown field `fial-on`"), "{}", errors(&output));
}

#[test]
fn a_file_that_names_the_schema_is_read() {
    let config = format!("#:schema ./ecs-mesh.schema.json\n{CONFIG}");
    let files = [("ecs-mesh.toml", config.as_str()), ("web.json", &bridged()), ("clean.json", CLEAN)];
    let workspace = Workspace::new("config-schema", &files);
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0));
}

#[test]
fn excluded_files_are_not_read_unless_they_are_named() {
    // Given files with mistakes below the configuration, and a check in a directory below it.
    let config = "exclude = ['lab', '**/*.draft.json']\n";
    let files = [("web.json", CLEAN), ("ecs-mesh.toml", config), ("api.draft.json", &bridged())];
    let workspace = Workspace::new("config-exclude", &files);
    for name in ["lab/web.json", "apps/lab/web.json", "apps/web.draft.json"] {
        let path = workspace.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bridged()).unwrap();
    }
    let found = |arguments: &[&str]| {
        let output = out(&workspace.run(&[&["check", "--quiet", "--output", "concise"], arguments].concat()));
        output.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect::<Vec<_>>()
    };
    // Then a pattern without wildcards is a directory next to the configuration, and a named file is read.
    assert_eq!(found(&[]), ["apps/lab/web.json"]);
    assert_eq!(found(&["lab"]), [""; 0]);
    assert_eq!(found(&["lab/web.json", "api.draft.json"]), ["api.draft.json", "lab/web.json"]);
    // And the inventory has the same files.
    let inventory = out(&workspace.run(&["inventory", ".", "--output", "json"]));
    assert_eq!(inventory.matches("web.json").count(), 2, "web.json and apps/lab/web.json: {inventory}");
    let shown = out(&workspace.run(&["config", "show"]));
    assert!(shown.contains("\nexclude = [\"lab\", \"**/*.draft.json\"]  # ecs-mesh.toml:1:11\n"), "{shown}");
}
