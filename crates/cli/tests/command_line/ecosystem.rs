//! `scripts/ecosystem.py`: what a change of the rules means for real repositories.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::workspace::{CLEAN, Workspace, bridged, out};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/ecosystem.py");

#[test]
fn two_builds_are_compared_in_each_checkout() {
    // Given two checkouts, one with a mistake, and a build that finds nothing.
    let blind = "#!/bin/sh\nprintf '{\"findings\": [], \"problems\": [], \"unchecked\": []}'\n";
    let workspace = Workspace::new("ecosystem", &[("blind", blind)]);
    fs::set_permissions(workspace.0.join("blind"), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, text) in [("shop/web.json", bridged()), ("office/web.json", CLEAN.to_owned())] {
        let path = workspace.0.join("checkouts").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let own = env!("CARGO_BIN_EXE_ecs-mesh");
    let compare = |old: &str, new: &str| {
        let arguments = [SCRIPT, old, new, "checkouts"];
        let output = Command::new("python3").args(arguments).current_dir(&workspace.0).output().unwrap();
        (output.status.code(), out(&output))
    };
    // Then what the other build finds is new, and two equal builds have no difference.
    let (code, shown) = compare("./blind", own);
    assert_eq!(code, Some(1), "{shown}");
    let finding = "+ web.json:3 error consul-network-mode web: the network mode is bridge";
    assert!(shown.starts_with(&format!("shop\n{finding}\n\n2 checkouts: 0 gone, 1 new; ")), "{shown}");
    assert!(compare(own, "./blind").1.contains("\n- web.json:3 error consul-network-mode"));
    let (code, shown) = compare(own, own);
    assert_eq!((code, shown.starts_with("2 checkouts: 0 gone, 0 new; ")), (Some(0), true), "{shown}");
}
