//! The functions' binaries, as cargo has built them next to the running program, and the template with them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use super::{in_repository, scratch};

/// The binary of a function by its name in the template, for example `TaskEventsFunction`.
pub fn binary(function: &str) -> PathBuf {
    let template = fs::read_to_string(in_repository("template.yaml")).unwrap();
    let (_, binary) = functions(&template).into_iter().find(|(name, _)| name == function).expect("a function's name");
    built_binary(&binary)
}

/// The limits of a function in the template.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Its `Timeout`.
    pub time: Duration,
    /// Its `MemorySize`, in MiB.
    pub memory_mib: u64,
}

/// The limits of a function by its name in the template, for example `TaskEventsFunction`.
pub fn limits(function: &str) -> Limits {
    let template = fs::read_to_string(in_repository("template.yaml")).unwrap();
    let (_, resource) = template.split_once(&format!("\n  {function}:\n")).expect("a function's name");
    let number = |key: &str| -> u64 {
        let value = resource.lines().find_map(|line| line.trim_start().strip_prefix(key)).expect("a limit");
        value.trim().parse().expect("a number")
    };
    Limits { time: Duration::from_secs(number("Timeout:")), memory_mib: number("MemorySize:") }
}

/// The template with the built binaries as its functions, as `sam build` writes it. Written once per process.
pub(crate) fn built_template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let folder = scratch::directory().join("template");
        let mut template = fs::read_to_string(in_repository("template.yaml")).unwrap();
        for (function, binary) in functions(&template) {
            let bootstrap = folder.join(&function).join("bootstrap");
            fs::create_dir_all(bootstrap.parent().unwrap()).unwrap();
            fs::copy(built_binary(&binary), &bootstrap).unwrap();
            let head = format!("\n  {function}:\n    Type: AWS::Serverless::Function\n");
            let (before, after) =
                template.split_once(&head).unwrap_or_else(|| panic!("{function} is not declared as expected"));
            let (between, after) = after.split_once("    Properties:\n").expect("properties");
            // `CodeUri` is replaced: the binary was copied.
            let after = match after.split_once('\n') {
                Some((first, rest)) if first.trim_start().starts_with("CodeUri: ") => rest,
                _ => after,
            };
            template = format!("{before}{head}{between}    Properties:\n      CodeUri: {function}\n{after}");
        }
        let path = folder.join("template.yaml");
        fs::write(&path, template).unwrap();
        path
    })
}

/// The functions of a template, each with the name of its binary.
fn functions(template: &str) -> Vec<(String, String)> {
    let mut resource = "";
    let mut found = Vec::new();
    for line in template.lines() {
        if let Some(name) =
            line.strip_prefix("  ").and_then(|line| line.strip_suffix(':')).filter(|name| !name.starts_with(' '))
        {
            resource = name;
        }
        if let Some(binary) = line.trim_start().strip_prefix("Binary: ") {
            found.push((resource.to_owned(), binary.to_owned()));
        }
    }
    found
}

/// The path of a binary in the build directory of the running program. Cargo builds a package's binaries for its tests, and `make`
/// builds those of the functions for the demo.
pub fn built_binary(binary: &str) -> PathBuf {
    let program = env::current_exe().unwrap();
    // Tests are in a subfolder.
    let folders = program.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(binary)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("{binary} is not built next to {}: run `make test` or `make demo`, which build it", program.display())
    })
}
