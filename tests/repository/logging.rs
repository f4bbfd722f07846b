//! Every crate that runs in a function logs at the deployment's level.

use std::collections::BTreeSet;

use lambda::logging::OWN;
use test_harness::sources::sources;

/// The crates of the command line, which does not log, and the clients' common ground: the client that sends a request logs it.
const WITHOUT_LOG: [&str; 3] = ["cli", "diagnosis", "http-client"];

#[test]
fn every_crate_of_the_functions_follows_the_level() {
    let sources = sources();
    let folders = sources.iter().filter_map(|path| path.strip_prefix("crates/")?.split('/').next());
    let mut crates: BTreeSet<String> =
        folders.filter(|name| !WITHOUT_LOG.contains(name)).map(|name| name.replace('-', "_")).collect();
    crates.insert("ecs_mesh_controller".to_owned());
    assert_eq!(crates, OWN.map(str::to_owned).into());
}
