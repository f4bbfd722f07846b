//! The real programs, which four variables name.

use std::{
    env,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use local_stack::scratch;

/// The variables, each with the argument that prints the version. `local_stack` reads the first one itself.
const VARIABLES: [(&str, &str); 4] = [
    ("CONSUL_BIN", "version"),
    ("CONSUL_DATAPLANE_BIN", "-version"),
    ("CONSUL_ECS_BIN", "version"),
    ("ENVOY_BIN", "--version"),
];

pub(crate) struct Programs {
    pub(crate) consul_ecs: PathBuf,
    pub(crate) dataplane: PathBuf,
    /// `PATH` with a program `envoy`: Consul Dataplane starts the first one that it finds there.
    pub(crate) path: String,
    named: Vec<(PathBuf, &'static str)>,
}

impl Programs {
    /// `Err` says which variables do not name a program.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let named = named(|variable| env::var_os(variable).map(PathBuf::from))?;
        let envoy = scratch::directory().join("envoy-bin");
        std::fs::create_dir_all(&envoy).unwrap();
        symlink(&named[3], envoy.join("envoy")).unwrap();
        Ok(Self {
            dataplane: named[1].clone(),
            consul_ecs: named[2].clone(),
            path: format!("{}:{}", envoy.display(), env::var("PATH").unwrap_or_default()),
            named: named.into_iter().zip(VARIABLES.map(|(_, argument)| argument)).collect(),
        })
    }

    /// The date, and the first line of each program's version.
    pub(crate) fn versions(&self) -> String {
        let versions = self.named.iter().map(|(program, argument)| first_line(program, argument));
        format!("{}: {}", jiff::Timestamp::now().strftime("%Y-%m-%d"), versions.collect::<Vec<_>>().join("; "))
    }
}

fn first_line(program: &Path, argument: &str) -> String {
    let output =
        Command::new(program).arg(argument).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    // consul-ecs prints its version to standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no version").to_owned()
}

/// The paths that the variables have, if all name a file.
fn named(value: impl Fn(&str) -> Option<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (variable, _) in VARIABLES {
        match value(variable) {
            Some(path) if path.is_file() => found.push(path.canonicalize().expect("a path")),
            Some(path) => missing.push(format!("{variable} ({} is no file)", path.display())),
            None => missing.push(variable.to_owned()),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(format!("set {} to real programs", missing.join(", "))) }
}

#[test]
fn every_program_that_is_missing_is_named() {
    // given Consul, and a path that leads nowhere
    let value = |variable: &str| match variable {
        "CONSUL_BIN" => Some(PathBuf::from("/bin/sh")),
        "ENVOY_BIN" => Some(PathBuf::from("/nowhere/envoy")),
        _ => None,
    };

    // then the other three are named
    let missing = "set CONSUL_DATAPLANE_BIN, CONSUL_ECS_BIN, ENVOY_BIN (/nowhere/envoy is no file) to real programs";
    assert_eq!(named(value), Err(missing.to_owned()));

    // and with all four, nothing is missing
    assert_eq!(named(|_| Some(PathBuf::from("/bin/sh"))).map(|found| found.len()), Ok(4));
}
