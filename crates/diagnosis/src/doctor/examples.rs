//! The commands of a person, and a stack.

use aws::installation::DeployedStack;

use super::Commands;

pub(super) fn commands() -> Commands {
    Commands { stack: "mesh".to_owned(), region: "us-east-1".to_owned(), profile: None }
}

pub(super) fn stack(name: &str, parameters: &[(&str, &str)]) -> DeployedStack {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    DeployedStack {
        name: name.to_owned(),
        status: "CREATE_COMPLETE".to_owned(),
        reason: None,
        parameters: parameters.collect(),
    }
}
