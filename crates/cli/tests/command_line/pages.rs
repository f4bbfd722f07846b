//! The pages about the rules are generated from the rules. `UPDATE_DOCS=1` writes them.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn write_pages(directory: &Path) {
    let status = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["rules", "--output", "markdown", "--output-dir"])
        .arg(directory)
        .status()
        .unwrap();
    assert!(status.success());
}

fn pages(directory: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&file).unwrap()))
        .collect()
}

#[test]
fn the_pages_match_the_rules() {
    let published = Path::new(REPOSITORY).join("docs/reference/rules");
    if env::var_os("UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(&published);
        write_pages(&published);
    }
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules");
    let _ = fs::remove_dir_all(&fresh);
    write_pages(&fresh);

    let (published, fresh) = (pages(&published), pages(&fresh));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    let how = "stale: run make pages";
    assert_eq!(names(&published), names(&fresh), "{how}");
    for (name, page) in fresh {
        assert_eq!(published[&name], page, "docs/reference/rules/{name} is {how}");
    }
}

#[test]
fn the_published_schema_is_current() {
    let printed = Command::new(env!("CARGO_BIN_EXE_ecs-mesh")).args(["config", "schema"]).output().unwrap();
    let schema = Path::new(REPOSITORY).join("docs/reference/schema/config.schema.json");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&schema, &printed.stdout).unwrap();
    }
    let (published, printed) = (fs::read_to_string(schema).unwrap(), String::from_utf8(printed.stdout).unwrap());
    assert!(published == printed, "docs/reference/schema/config.schema.json is stale: run make pages");
}

#[test]
fn the_published_timeline_is_current() {
    let root = Path::new(REPOSITORY);
    let drawn = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["graph", "--output", "svg"])
        .arg(root.join("crates/audit/src/bases/dataplane.json"))
        .output()
        .unwrap();
    let picture = root.join("docs/images/timeline.svg");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&picture, &drawn.stdout).unwrap();
    }
    let (published, drawn) = (fs::read_to_string(picture).unwrap(), String::from_utf8(drawn.stdout).unwrap());
    assert!(published == drawn, "docs/images/timeline.svg is stale: run make pages");
}
