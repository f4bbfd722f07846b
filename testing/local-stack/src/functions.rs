//! The functions' binaries, and the template with them: the checkout's, or an earlier version's.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use super::{in_repository, scratch, tool};

/// The environment variable with a folder of functions as cargo-lambda writes them: `task-events/bootstrap` and its like.
/// `make test-release` tests the optimised functions with it. Without it, they are the binaries next to the running program.
const FUNCTIONS: &str = "FUNCTIONS_DIR";

/// The path of a function's binary by its name in the template, for example `TaskEventsFunction`.
pub fn binary(function: &str) -> String {
    let template = fs::read_to_string(in_repository("template.yaml")).unwrap();
    let (_, binary) = functions(&template).into_iter().find(|(name, _)| name == function).expect("a function's name");
    function_binary(&binary).to_str().expect("a path in UTF-8").to_owned()
}

fn function_binary(binary: &str) -> PathBuf {
    match env::var_os(FUNCTIONS) {
        Some(folder) => bootstrap_in(Path::new(&folder), binary),
        None => built_binary(binary),
    }
}

fn bootstrap_in(folder: &Path, binary: &str) -> PathBuf {
    folder.join(binary).join("bootstrap")
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
    TEMPLATE.get_or_init(|| write_template("template", &in_repository("template.yaml"), function_binary))
}

/// The same of an earlier version: a folder with its `template.yaml`, and its functions as cargo-lambda writes them.
pub(crate) fn earlier_template(version: &Path) -> PathBuf {
    write_template("earlier-template", &version.join("template.yaml"), |binary| bootstrap_in(version, binary))
}

fn write_template(name: &str, template: &Path, path_of: impl Fn(&str) -> PathBuf) -> PathBuf {
    let folder = scratch::directory().join(name);
    let path = folder.join("template.yaml");
    let template = with_code(template, |function, binary| {
        copy_bootstrap(&path_of(binary), &folder.join(function));
        function.to_owned()
    });
    fs::write(&path, template).unwrap();
    path
}

/// The folder with the template and the functions' zips, as `make dist` writes them. Written once per process.
pub fn packaged() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch::directory().join("package");
        let template = with_code(&in_repository("template.yaml"), |_, binary| {
            let zip = format!("{binary}.zip");
            let code = folder.join("code").join(binary);
            copy_bootstrap(&function_binary(binary), &code);
            let mut command = Command::new(tool("venv/bin/python"));
            let command = command.args(["-m", "zipfile", "-c"]).arg(folder.join(&zip)).arg("bootstrap");
            assert!(command.current_dir(&code).status().unwrap().success(), "{zip}");
            zip
        });
        let architecture = "  Architecture:\n    Type: String\n    Default: ";
        let own = format!("{architecture}{ARCHITECTURE}");
        fs::write(folder.join("template.yaml"), template.replace(&format!("{architecture}arm64"), &own)).unwrap();
        folder
    })
}

/// The template's name of this machine's architecture.
pub const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };

fn copy_bootstrap(binary: &Path, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::copy(binary, folder.join("bootstrap")).unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
}

/// The template with the `CodeUri` of each function, made from the names of the function and its binary.
fn with_code(template: &Path, code_uri: impl Fn(&str, &str) -> String) -> String {
    let mut template = fs::read_to_string(template).unwrap();
    for (function, binary) in functions(&template) {
        let code_uri = code_uri(&function, &binary);
        let head = format!("\n  {function}:\n    Type: AWS::Serverless::Function\n");
        let (before, after) =
            template.split_once(&head).unwrap_or_else(|| panic!("{function} is not declared as expected"));
        let (between, after) = after.split_once("    Properties:\n").expect("properties");
        // `CodeUri` is replaced: the binary was copied.
        let after = match after.split_once('\n') {
            Some((first, rest)) if first.trim_start().starts_with("CodeUri: ") => rest,
            _ => after,
        };
        template = format!("{before}{head}{between}    Properties:\n      CodeUri: {code_uri}\n{after}");
    }
    template
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
