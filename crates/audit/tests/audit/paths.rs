//! Which files the auditor reads: files, directories, globs and standard input.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::{example::Base, folder::Folder};
use audit_read::input::{Gathered, gather};
use document::SourceFile;

fn gathered(arguments: &[String]) -> Gathered {
    gather(arguments, &mut std::io::empty())
}

/// The files of the definitions, without the directory.
fn files(folder: &Folder, gathered: &Gathered) -> Vec<String> {
    let root = format!("{}/", folder.path(""));
    gathered.material.definitions.iter().map(|definition| definition.file.name.replace(&root, "")).collect()
}

fn problems(gathered: &Gathered) -> Vec<String> {
    gathered.problems.iter().map(ToString::to_string).collect()
}

fn tree() -> Folder {
    let definition = Base::Plain.json().as_bytes();
    Folder::with(&[
        ("b.json", definition),
        ("a/web.yaml", include_bytes!("../audit_inputs/web.yaml")),
        ("a/web.template", include_bytes!("../audit_inputs/web.template")),
        ("a/plan.tfplan.json", include_bytes!("../audit_inputs/state.json")),
        ("a/definition.txt", definition),
        ("a/UPPER.JSON", definition),
        (".hidden/a.json", definition),
        ("ignored/a.json", definition),
        ("a/b/ignored.json", definition),
        (".gitignore", b"ignored/\nignored.json\n"),
        ("package.json", b"{\"name\": \"web\"}"),
        ("k8s/pod.yaml", b"apiVersion: v1\nkind: Pod\n"),
        ("k8s/empty.yaml", b"# values\n"),
        ("stack.yml", b"Resources: {Topic: {Type: 'AWS::SNS::Topic'}}"),
    ])
}

#[test]
fn directories_are_read_without_ignored_files() {
    let folder = tree();
    let found = gathered(&[folder.path("")]);
    let expected = ["a/UPPER.JSON", "a/plan.tfplan.json", "a/web.template", "a/web.yaml", "b.json"];
    assert_eq!(files(&folder, &found), expected);
    assert_eq!(problems(&found), Vec::<String>::new());
}

#[test]
fn a_named_directory_is_read_even_if_ignored() {
    let folder = tree();
    assert_eq!(files(&folder, &gathered(&[folder.path("ignored")])), ["ignored/a.json"]);
    assert_eq!(files(&folder, &gathered(&[folder.path(".hidden/")])), [".hidden/a.json"]);
}

#[test]
fn a_glob_matches_files_and_directories() {
    let folder = tree();
    for (glob, expected) in [
        ("*.json", vec!["b.json"]),
        ("**/*.json", vec!["a/plan.tfplan.json", "b.json"]),
        ("a/web.{yaml,template}", vec!["a/web.template", "a/web.yaml"]),
        ("[a]", vec!["a/UPPER.JSON", "a/plan.tfplan.json", "a/web.template", "a/web.yaml"]),
        ("?/web.y*ml", vec!["a/web.yaml"]),
    ] {
        let found = gathered(&[folder.path(glob)]);
        assert_eq!(files(&folder, &found), expected, "{glob}");
        assert_eq!(problems(&found), Vec::<String>::new(), "{glob}");
    }
}

#[test]
fn missing_and_unreadable_files_are_one_line() {
    let folder = tree();
    for (argument, expected) in [
        ("nothing.json", "no such file or directory"),
        ("x/*.json", "no file matches"),
        ("a/*.txt", "no file matches"),
        ("a/[.json", "no such file, and not a glob"),
        ("package.json", "not an ECS task definition"),
        ("b.json/c", "cannot be read: "),
    ] {
        let found = gathered(&[folder.path(argument), folder.path("b.json")]);
        let lines = problems(&found);
        assert_eq!(lines.len(), 1, "{argument}: {lines:?}");
        assert!(lines[0].starts_with(&format!("{}: {expected}", folder.path(argument))), "{lines:?}");
        assert_eq!(files(&folder, &found), ["b.json"]);
    }
}

#[test]
fn a_broken_file_is_a_problem_with_position() {
    let folder = Folder::with(&[
        ("a.json", b"{\"containerDefinitions\": }"),
        ("b.yaml", b"ContainerDefinitions: [\n"),
        ("c.json", b"\xFF containerDefinitions"),
        ("d.json", b"\xFF\xFE\"\0m\0e\0s\0h\0N\0a\0m\0e\0\"\0"),
        // The file contains nothing of a known format: a template of another tool.
        ("chart.yaml", b"name: {{ .Values.name }}\n"),
    ]);
    let found = gathered(&[folder.path("")]);
    let lines = problems(&found);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with(&format!("{}:1:26: not JSON", folder.path("a.json"))), "{lines:?}");
    assert!(lines[1].contains(": not YAML") && lines[2].contains("not UTF-8"), "{lines:?}");
    assert!(lines[3].contains("UTF-16"), "{lines:?}");
}

#[test]
fn files_of_other_programs_are_passed_over() {
    let large = vec![b' '; 33 * 1024 * 1024];
    let folder = Folder::with(&[
        ("latin.json", b"{\"name\": \"caf\xE9\"}".as_slice()),
        ("utf16.json", b"\xFF\xFE{\0}\0"),
        ("archive.template", b"PK\x03\x04"),
        ("large.json", &large),
        ("tsconfig.json", b"{\"compilerOptions\": {},}"),
        ("compose.yaml", b"services:\n  web:\n    image: web\n    depends_on: [db]\n"),
        (".github/workflows/ci.yaml", b"on: push\njobs: {}\n"),
        ("workflow.yaml", b"jobs:\n  deploy:\n    steps:\n    - run: jq .containerDefinitions[0] task.json\n"),
        ("chart/mesh.yaml", b"apiVersion: appmesh.k8s.aws/v1beta2\nspec:\n  meshName: {{ .Values.mesh }}\n"),
        ("chart/two.yaml", b"{{ if .x }}\n---\napiVersion: v1\nmeshName: {{ .mesh }}\n{{ end }}\n"),
        ("task.json", Base::Plain.json().as_bytes()),
    ]);
    let found = gathered(&[folder.path("")]);
    assert_eq!((files(&folder, &found), problems(&found)), (vec!["task.json".to_owned()], vec![]));
    assert!(!found.material.resources.is_partial);
    // A file that is named must be readable.
    for name in ["latin.json", "utf16.json", "archive.template", "large.json", "tsconfig.json", "chart/mesh.yaml"] {
        assert_eq!(problems(&gathered(&[folder.path(name)])).len(), 1, "{name}");
    }
}

#[test]
fn of_a_cloud_assembly_only_templates_are_read() {
    let template = include_bytes!("../audit_inputs/web.template").as_slice();
    let tree = br#"{"version": "tree-0.1", "tree": {"attributes": {"aws:cdk:cloudformation:type": "AWS::ECS::TaskDefinition"}}}"#;
    let folder = Folder::with(&[
        ("cdk.json", b"{\"app\": \"npx ts-node bin/shop.ts\"}".as_slice()),
        ("cdk.out/cdk.out", b"{\"version\":\"36.0.0\"}"),
        ("cdk.out/manifest.json", b"{\"version\": \"36.0.0\", \"artifacts\": {}}"),
        ("cdk.out/tree.json", tree),
        ("cdk.out/Shop.assets.json", b"{\"version\": \"36.0.0\", \"files\": {\"a\": \"AWS::ECS::TaskDefinition\"}}"),
        ("cdk.out/Shop.template.json", template),
        ("cdk.out/ShopNested12345678.nested.template.json", template),
        ("cdk.out/asset.0f1e/task.json", Base::Plain.json().as_bytes()),
        ("cdk.out/asset.0f1e.json", Base::Plain.json().as_bytes()),
        ("cdk.out/assembly-Prod/cdk.out", b"{\"version\":\"36.0.0\"}"),
        ("cdk.out/assembly-Prod/ProdShop.template.json", template),
        ("cdk.out/assembly-Prod/asset.0f1e/task.json", Base::Plain.json().as_bytes()),
    ]);
    let templates = [
        "cdk.out/Shop.template.json",
        "cdk.out/ShopNested12345678.nested.template.json",
        "cdk.out/assembly-Prod/ProdShop.template.json",
    ];
    for path in ["", "cdk.out", "cdk.out/**"] {
        let found = gathered(&[folder.path(path)]);
        assert_eq!(
            (files(&folder, &found), problems(&found)),
            (templates.map(str::to_owned).to_vec(), vec![]),
            "{path}"
        );
    }
    // What is named is read.
    assert_eq!(files(&folder, &gathered(&[folder.path("cdk.out/asset.0f1e")])), ["cdk.out/asset.0f1e/task.json"]);
}

#[test]
fn a_large_file_of_another_format_is_not_parsed() {
    let large = format!("{{\"a\": \"{}\", oops", "x".repeat(100_000));
    let folder = Folder::with(&[("large.json", large.as_bytes())]);
    assert_eq!(problems(&gathered(&[folder.path("")])), Vec::<String>::new());
    assert_eq!(problems(&gathered(&[folder.path("large.json")])).len(), 1);
}

#[test]
fn the_same_file_is_read_once() {
    let folder = tree();
    let found =
        gathered(&[folder.path(""), folder.path("a/../b.json"), folder.path("*.json"), folder.path("package.json")]);
    assert_eq!(found.material.definitions.len(), 5);
    assert!(problems(&found)[0].contains("package.json: not an ECS task definition"), "{:?}", problems(&found));
    assert_eq!(found.problems.len(), 1);
}

#[test]
fn a_dash_is_standard_input() {
    let read = |arguments: &[&str], mut input: &[u8]| {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        gather(&arguments, &mut input)
    };
    let found = read(&["-", "-"], Base::Plain.json().as_bytes());
    assert_eq!(found.material.definitions[0].file.name, "<stdin>");
    assert_eq!((found.material.definitions.len(), found.files_read), (1, 1));
    assert_eq!(read(&[], Base::Plain.json().as_bytes()).files_read, 0);
    assert_eq!(
        problems(&read(&["-"], b"{\"a\": ")),
        ["<stdin>:1:7: not JSON: expected value after colon in object property"]
    );
}

#[cfg(unix)]
#[test]
fn links_to_files_are_read_without_cycles() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with(&[("a/b.json", Base::Plain.json().as_bytes())]);
    symlink(folder.path("a"), folder.path("a/loop")).unwrap();
    symlink(folder.path("a/b.json"), folder.path("a/link.json")).unwrap();
    symlink(folder.path("a/self"), folder.path("a/self")).unwrap();
    symlink(folder.path("a/gone"), folder.path("a/broken.json")).unwrap();
    let found = gathered(&[folder.path("")]);
    assert_eq!(found.material.definitions.len(), 1);
    assert_eq!(problems(&found), Vec::<String>::new());
    assert_eq!(problems(&gathered(&[folder.path("a/self")])).len(), 1);
}

#[test]
#[cfg(unix)]
fn a_path_of_the_configuration_may_lead_through_links() {
    let folder = Folder::with(&[("stacks/web.json", b"{}"), ("stacks/old/api.json", b"{}")]);
    std::os::unix::fs::symlink(folder.path("stacks"), folder.path("link")).unwrap();
    for (pattern, name, is_excluded) in [
        ("link", "stacks/web.json", true),
        ("link/old", "stacks/old/api.json", true),
        ("link/old", "stacks/web.json", false),
        ("stacks/*.json", "link/web.json", true),
        ("stacks/*.json", "link/old/api.json", false),
        ("stacks", "link/old/api.json", true),
    ] {
        let text = format!("exclude = [{pattern:?}]\n");
        let root = std::path::PathBuf::from(folder.path(""));
        let config = audit::ignore::Config::read(SourceFile::new("ecs-mesh.toml", text), &root).unwrap();
        assert_eq!(config.excludes(name, &root), is_excluded, "{pattern} {name}");
    }
}
