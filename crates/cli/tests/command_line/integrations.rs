//! The GitHub Action, the hook of pre-commit, and what `docs/how-to/check-in-ci.md` shows.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::workspace::{CLEAN, Workspace, bridged, errors, out};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path)).unwrap()
}

fn yaml(text: &str) -> Value {
    yaml_serde::from_str(text).unwrap()
}

/// Runs a program in a workspace, with this `ecs-mesh` on the `PATH`.
fn run(workspace: &Workspace, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let here = Path::new(env!("CARGO_BIN_EXE_ecs-mesh")).parent().unwrap().to_owned();
    let path = env::join_paths([here].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workspace.0).env("PATH", path).stdin(Stdio::null());
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Runs the action's check, and returns its output, its outputs, and the summary of the job.
fn action(workspace: &Workspace, inputs: &[(&str, &str)]) -> (Output, String, String) {
    let files = ["output", "summary"].map(|name| workspace.0.join(name).display().to_string());
    let [outputs, summary] = files.each_ref().map(String::as_str);
    let temporary = workspace.0.display().to_string();
    let runner = [("RUNNER_TEMP", temporary.as_str()), ("GITHUB_OUTPUT", outputs), ("GITHUB_STEP_SUMMARY", summary)];
    let script = Path::new(REPOSITORY).join("integrations/github/check.sh");
    // The runner creates both files before the step.
    for file in [outputs, summary] {
        fs::write(file, "").unwrap();
    }
    let output = run(workspace, script.to_str().unwrap(), &[], &[&runner, inputs].concat());
    (output, fs::read_to_string(outputs).unwrap(), fs::read_to_string(summary).unwrap())
}

#[test]
fn the_action_annotates_summarises_and_leaves_sarif() {
    // Given a job whose paths are a glob and a file.
    let workspace = Workspace::new("action", &[("web.json", &bridged()), ("good.yaml", CLEAN)]);
    let (output, outputs, summary) = action(&workspace, &[("ECS_MESH_PATHS", "w*.json\ngood.yaml\n")]);
    // Then the step fails, after all reports have been written.
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(out(&output).starts_with("::error file=web.json,line=3,"), "{}", out(&output));
    assert!(summary.starts_with("## ❌ ecs-mesh: 1 error in 1 of 2 task definitions"), "{summary}");
    let sarif = outputs.lines().find_map(|line| line.strip_prefix("sarif=")).unwrap();
    let sarif: Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "consul-network-mode");
    assert!(outputs.contains("exit-code=1\n"), "{outputs}");
}

#[test]
fn the_action_passes_its_inputs_on() {
    for (inputs, code) in [
        (&[("ECS_MESH_FAIL_ON", "never")][..], 0),
        (&[("ECS_MESH_FAIL_ON", "info")], 1),
        (&[("ECS_MESH_ARGUMENTS", "--ignore consul")], 0),
        (&[("ECS_MESH_ARGUMENTS", "--select nonsense")], 2),
        (&[("ECS_MESH_PATHS", "notes.yaml")], 2),
        (&[("ECS_MESH_PATHS", "empty")], 3),
    ] {
        let workspace = Workspace::new("action-inputs", &[("web.json", &bridged()), ("notes.yaml", "a: 1\n")]);
        fs::create_dir(workspace.0.join("empty")).unwrap();
        let (output, outputs, _) = action(&workspace, inputs);
        assert_eq!(output.status.code(), Some(code), "{inputs:?}: {}{}", out(&output), errors(&output));
        assert!(outputs.contains(&format!("exit-code={code}\n")), "{inputs:?}: {outputs}");
        if let Some(sarif) = outputs.lines().find_map(|line| line.strip_prefix("sarif=")) {
            assert!(Path::new(sarif).is_file(), "{inputs:?}: {sarif}");
        }
    }
}

#[test]
fn the_action_refuses_arguments_that_cannot_work() {
    let workspace = Workspace::new("action-arguments", &[("web.json", CLEAN)]);
    let with_fail_on = ["--fail-on=info", "--exit-zero"];
    let others = ["--output json", "-ojson", "--output-file r.txt", "--statistics", "--add-ignore=why"];
    for arguments in others.iter().chain(&["--help", "-h", "-- web.json"]).chain(&with_fail_on) {
        let (output, outputs, summary) =
            action(&workspace, &[("ECS_MESH_ARGUMENTS", arguments), ("ECS_MESH_FAIL_ON", "error")]);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let name = arguments.split([' ', '=']).next().unwrap().trim_end_matches("json");
        let refused = format!("::error title=ecs-mesh::the input arguments of the action cannot have {name}");
        assert!(out(&output).starts_with(&refused), "{arguments}: {}", out(&output));
        assert_eq!((outputs.as_str(), summary.as_str()), ("exit-code=2\n", ""), "{arguments}");
    }
    for arguments in with_fail_on {
        let (output, ..) = action(&workspace, &[("ECS_MESH_ARGUMENTS", arguments)]);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", out(&output));
    }
}

#[test]
fn the_actions_description_names_the_refused_arguments() {
    let action = yaml(&read("action.yml"));
    let description = action["inputs"]["arguments"]["description"].as_str().unwrap();
    let script = read("integrations/github/check.sh");
    let cases = script.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split([' ', ')']).next());
    let named: Vec<String> = cases.filter(|name| !name.is_empty()).map(|name| format!("--{name}")).collect();
    assert!(named.len() >= 5, "{named:?}");
    for name in named {
        assert!(description.contains(&name), "{name}");
        assert!(read("docs/how-to/check-in-ci.md").contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn paths_of_the_action_may_have_blanks() {
    let workspace = Workspace::new("action-blanks", &[("our web.json", &bridged()), ("web.json", CLEAN)]);
    for (paths, code) in [("our web.json\nweb.json", 1), ("our web.json\n", 1), ("web.json ./web.json", 0)] {
        let (output, ..) = action(&workspace, &[("ECS_MESH_PATHS", paths)]);
        assert_eq!(output.status.code(), Some(code), "{paths:?}: {}{}", out(&output), errors(&output));
    }
}

#[test]
fn the_action_installs_only_what_is_missing() {
    let workspace = Workspace::new("action-install", &[]);
    let script = Path::new(REPOSITORY).join("integrations/github/install.sh");
    let output = run(&workspace, script.to_str().unwrap(), &[], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(out(&output).trim_end().ends_with("/ecs-mesh"), "it names the one that is installed: {}", out(&output));
}

/// Runs the action's installation in a job without ecs-mesh, with a `cargo` that only prints where the rules' pages are.
fn install(workspace: &Workspace, step: &[(&str, &str)]) -> Output {
    let temporary = workspace.0.display().to_string();
    let python = env::split_paths(&env::var_os("PATH").unwrap()).find(|directory| directory.join("python3").is_file());
    let path = [workspace.0.clone(), python.unwrap(), "/usr/bin".into(), "/bin".into()];
    let cargo = workspace.0.join("cargo");
    fs::write(&cargo, "#!/bin/sh\nprintenv ECS_MESH_DOCS\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(Path::new(REPOSITORY).join("integrations/github/install.sh"))
        .env_remove("ECS_MESH_DOCS")
        .env("PATH", env::join_paths(path).unwrap())
        .envs([("RUNNER_TEMP", temporary.as_str()), ("GITHUB_PATH", &format!("{temporary}/path"))])
        .envs([("GITHUB_SERVER_URL", "https://github.com"), ("GITHUB_REPOSITORY", "team/shop"), ("GITHUB_SHA", "0a1b")])
        .envs([("ACTION_REPOSITORY", ""), ("ACTION_REF", "")])
        .envs(step.iter().copied())
        .output()
        .unwrap()
}

/// A mirror of the releases whose checksum of the wheel is `checksum`, or the right one.
fn mirror(workspace: &Workspace, checksum: Option<&str>) -> String {
    let release = workspace.0.join(format!("mirror/v{VERSION}"));
    fs::create_dir_all(&release).unwrap();
    // Of glibc and of musl.
    let arch = env::consts::ARCH;
    let wheel = format!("ecs_mesh-{VERSION}-py3-none-manylinux_2_17_{arch}.musllinux_1_2_{arch}.whl");
    let script = "import sys, zipfile\n\
                  with zipfile.ZipFile(sys.argv[1], 'w') as wheel: wheel.writestr(sys.argv[2], '#!/bin/sh\\necho released')";
    let inside = format!("ecs_mesh-{VERSION}.data/scripts/ecs-mesh");
    let made = run(workspace, "python3", &["-c", script, release.join(&wheel).to_str().unwrap(), &inside], &[]);
    assert!(made.status.success(), "{}", errors(&made));
    let sum = run(workspace, "sha256sum", &[release.join(&wheel).to_str().unwrap()], &[]);
    let sum = out(&sum).split(' ').next().unwrap().to_owned();
    let others = format!("{sum}  ecs_mesh-{VERSION}-py3-none-win_amd64.whl\n{sum}  ecs-mesh-{VERSION}.tar.gz\n");
    fs::write(release.join("SHA256SUMS"), format!("{others}{}  {wheel}\n", checksum.unwrap_or(&sum))).unwrap();
    format!("file://{}", workspace.0.join("mirror").display())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));

#[test]
fn the_action_takes_the_command_of_its_release() {
    // Given a release with the wheel of this machine, and the action at its tag.
    let workspace = Workspace::new("action-released", &[]);
    let mirror = mirror(&workspace, None);
    let step = [("ACTION_REPOSITORY", "owner/mesh"), ("ACTION_REF", TAG), ("ECS_MESH_RELEASES", &mirror)];
    let output = install(&workspace, &step);
    // Then nothing is compiled, and the later steps have the command.
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()), "{}", errors(&output));
    let path = fs::read_to_string(workspace.0.join("path")).unwrap();
    let command = Command::new(Path::new(path.trim_end()).join("ecs-mesh")).output().unwrap();
    assert_eq!(out(&command), "released\n");
}

#[test]
fn the_action_refuses_a_wheel_with_another_checksum() {
    let workspace = Workspace::new("action-checksum", &[]);
    let mirror = mirror(&workspace, Some("0a1b"));
    let step = [("ACTION_REPOSITORY", "owner/mesh"), ("ACTION_REF", TAG), ("ECS_MESH_RELEASES", &mirror)];
    let output = install(&workspace, &step);
    assert!(errors(&output).contains("expected 0a1b"), "{}", errors(&output));
    assert_eq!((output.status.success(), out(&output)), (false, String::new()), "it does not compile instead");
    assert!(!workspace.0.join("ecs-mesh/bin/ecs-mesh").exists());
}

#[test]
fn a_repository_has_its_releases_at_its_host() {
    let cases = [
        ("https://github.com/owner/mesh", "https://github.com/owner/mesh/releases/download"),
        ("https://github.com/owner/mesh.git/", "https://github.com/owner/mesh/releases/download"),
        ("https://me@example.com:8443/owner/mesh.git", "https://example.com:8443/owner/mesh/releases/download"),
        ("git@github.com:owner/mesh.git", "https://github.com/owner/mesh/releases/download"),
        ("ssh://git@example.com:2222/owner/mesh.git", "https://example.com/owner/mesh/releases/download"),
        ("/srv/git/mesh.git", "None"),
        ("../mesh", "None"),
        ("C:\\git\\mesh", "None"),
        ("file:///srv/git/mesh.git", "None"),
    ];
    let script = "import sys; sys.path.insert(0, sys.argv[1]); import released\n\
                  for repository in sys.argv[2:]: print(released.releases(repository))";
    let backend = format!("{REPOSITORY}/integrations/python");
    let program = ["-B", "-c", script, backend.as_str()];
    let workspace = Workspace::new("releases", &[]);
    let arguments = [&program[..], &cases.map(|(remote, _)| remote)].concat();
    let output = run(&workspace, "python3", &arguments, &[("ECS_MESH_RELEASES", "")]);
    let found = out(&output);
    assert_eq!(found.lines().collect::<Vec<_>>(), cases.map(|(_, address)| address), "{}", errors(&output));
}

/// The address of the rules' pages with which the action builds `ecs-mesh`.
fn address_of_the_pages(step: &[(&str, &str)]) -> String {
    let workspace = Workspace::new("action-build", &[]);
    // No release at this address.
    let mirror = format!("file://{}", workspace.0.display());
    let output = install(&workspace, &[&[("ECS_MESH_RELEASES", mirror.as_str())], step].concat());
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    out(&output)
}

#[test]
fn the_action_builds_links_to_its_own_version() {
    for (step, address) in [
        (
            &[("ACTION_REPOSITORY", "owner/mesh"), ("ACTION_REF", TAG)][..],
            concat!("https://github.com/owner/mesh/blob/v", env!("CARGO_PKG_VERSION"), "/docs/reference/rules\n"),
        ),
        // A workflow of the action's own repository uses it as `./`.
        (
            &[("ACTION_REPOSITORY", ""), ("ACTION_REF", "")],
            "https://github.com/team/shop/blob/0a1b/docs/reference/rules\n",
        ),
        (&[("ECS_MESH_DOCS", "https://docs.example.com")], "https://docs.example.com\n"),
    ] {
        assert_eq!(address_of_the_pages(step), address, "{step:?}");
    }
    let install = &yaml(&read("action.yml"))["runs"]["steps"][0]["env"];
    assert_eq!(install["ACTION_REPOSITORY"], "${{ github.action_repository }}");
    assert_eq!(install["ACTION_REF"], "${{ github.action_ref }}");
}

#[test]
fn the_action_declares_what_its_scripts_use() {
    let action = yaml(&read("action.yml"));
    let steps = action["runs"]["steps"].as_array().unwrap();
    let script = read("integrations/github/check.sh");
    let check = steps.iter().find(|step| step["id"] == "check").unwrap();
    let inputs = action["inputs"].as_object().unwrap();
    assert_eq!(check["env"].as_object().unwrap().len(), inputs.len());
    for (variable, value) in check["env"].as_object().unwrap() {
        assert!(script.contains(variable.as_str()), "{variable}");
        let input = value.as_str().unwrap().trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        assert!(inputs.contains_key(input), "{input}");
        assert_eq!(*variable, format!("ECS_MESH_{}", input.to_uppercase().replace('-', "_")));
    }
    for name in action["outputs"].as_object().unwrap().keys() {
        assert!(script.contains(&format!("echo \"{name}=")), "{name}");
    }
    for step in steps {
        let path = step["run"].as_str().unwrap().trim_matches('"').replace("$GITHUB_ACTION_PATH", REPOSITORY);
        assert!(Path::new(&path).is_file(), "{path}");
    }
}

#[test]
fn the_hook_checks_the_repository() {
    let hooks = yaml(&read(".pre-commit-hooks.yaml"));
    let hook = &hooks[0];
    assert_eq!((&hook["id"], &hook["pass_filenames"]), (&"ecs-mesh".into(), &false.into()));
    let entry: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
    for (file, code) in [(bridged(), 1), (CLEAN.to_owned(), 0)] {
        let workspace = Workspace::new("hook", &[("web.json", &file)]);
        let output = run(&workspace, entry[0], &[&entry[1..], &["--fail-on", "warning"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
    }
}

#[test]
fn the_hook_runs_for_every_file_that_changes_findings() {
    let hooks = yaml(&read(".pre-commit-hooks.yaml"));
    let files = hooks[0]["files"].as_str().unwrap();
    let changed = ["web.json", "a/web.yaml", "web.yml", "web.template", "main.tf", "main.tofu", "prod.tfvars"];
    let changed = [&changed[..], &["web.json.tftpl", "web.tpl", "ecs-mesh.toml", "a/ecs-mesh.toml"]].concat();
    // pre-commit searches with Python's re: https://pre-commit.com/#regular-expressions
    let script = "import re, sys\nprint(*(name for name in sys.argv[2:] if re.search(sys.argv[1], name)))";
    let names = [&changed[..], &["README.md", "Cargo.toml", "tf", "web.tf.md"]].concat();
    let workspace = Workspace::new("hook-files", &[]);
    let output = run(&workspace, "python3", &[&["-c", script, files], &names[..]].concat(), &[]);
    assert_eq!(out(&output).trim_end(), changed.join(" "), "{}", errors(&output));
}

/// The YAML of the page about pipelines that contains `word`.
fn documented(word: &str) -> Value {
    let page = read("docs/how-to/check-in-ci.md");
    let mut blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    yaml(blocks.find(|block| block.contains(word)).unwrap())
}

#[test]
fn the_documented_job_of_gitlab_leaves_its_report() {
    let job = &documented("codequality")["ecs-mesh"];
    let workspace = Workspace::new("gitlab-job", &[("web.json", &bridged())]);
    let check = job["script"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(check.starts_with("ecs-mesh check "), "{check}");
    let output = run(&workspace, "bash", &["-ec", check], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let report = fs::read_to_string(workspace.0.join(job["artifacts"]["reports"]["codequality"].as_str().unwrap()));
    let report: Value = serde_json::from_str(&report.unwrap()).unwrap();
    assert_eq!(report[0]["location"]["path"], "web.json");
    assert_eq!(job["artifacts"]["when"], "always", "a job with findings fails");
}

#[test]
fn the_documented_job_next_to_a_mesh_fails_if_consul_cannot_be_read() {
    let documented = documented("CONSUL_CHECK_TOKEN");
    let job = &documented["jobs"]["check"];
    let [paths, arguments] = ["paths", "arguments"].map(|input| job["steps"][1]["with"][input].as_str().unwrap());
    assert!(job["env"]["CONSUL_HTTP_ADDR"].is_string() && job["timeout-minutes"].is_number(), "{job:#}");
    let workspace = Workspace::new("action-mesh", &[("services/web.json", CLEAN)]);
    let given = [("ECS_MESH_PATHS", paths), ("ECS_MESH_ARGUMENTS", arguments), ("CONSUL_HTTP_ADDR", "127.0.0.1:1")];
    let (output, ..) = action(&workspace, &given);
    assert_eq!(output.status.code(), Some(2), "{}{}", out(&output), errors(&output));
    assert!(out(&output).contains("Consul could not be read at CONSUL_HTTP_ADDR"), "{}", out(&output));
}

#[test]
fn the_documented_inputs_are_those_of_the_action() {
    let action = yaml(&read("action.yml"));
    let documented = documented("ubuntu-latest");
    let step = &documented["jobs"]["check"]["steps"][1];
    for input in step["with"].as_object().unwrap().keys() {
        assert!(action["inputs"].get(input).is_some(), "{input}");
    }
    let page = read("docs/how-to/check-in-ci.md");
    for input in action["inputs"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("| `{input}` |")), "{input}");
    }
    assert!(
        page.contains(&format!("      - id: {}\n", yaml(&read(".pre-commit-hooks.yaml"))[0]["id"].as_str().unwrap()))
    );
}
