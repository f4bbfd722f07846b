//! Every call with three credentials: none, one that does not exist, and one without permissions. Simulated are the controller's
//! own token, with all permissions, and one that does not exist.

use super::{Row, Serve};
use crate::dialect::Answer;

const NO_TOKEN: &str = "the controller sends a token with every request";
const NO_PERMISSION: &str = "permissions are not simulated: the controller's token has all that it needs";
const NOT_CALLED: &str = "the simulated controller does not make this call";

/// The answer to most calls with a token that does not exist.
const UNKNOWN: Result<Serve, &str> = Ok(|_| Err(Answer::unknown_credential()));
const UNKNOWN_DELETES_TOKEN: Result<Serve, &str> =
    Ok(|world| Err(world.scenario.dialect.unknown_credential_deletes_token()));
const UNKNOWN_READS_ITSELF: Result<Serve, &str> =
    Ok(|world| Err(world.scenario.dialect.unknown_credential_reads_itself()));

/// The calls, each with how it is served with a token that does not exist.
const CALLS: [(&str, Result<Serve, &str>); 24] = [
    ("read a token", UNKNOWN),
    ("read a token that is not there", UNKNOWN),
    ("list tokens", UNKNOWN),
    ("create a token", UNKNOWN),
    ("update a token", UNKNOWN),
    ("delete a token", UNKNOWN_DELETES_TOKEN),
    ("delete a token that is not there", UNKNOWN_DELETES_TOKEN),
    ("own token", UNKNOWN_READS_ITSELF),
    ("list policies", Err(NOT_CALLED)),
    ("read a policy by name", UNKNOWN),
    ("list auth methods", Err(NOT_CALLED)),
    ("read an auth method", Err(NOT_CALLED)),
    ("list binding rules", Err(NOT_CALLED)),
    ("services of a node", UNKNOWN),
    ("list nodes", Err(NOT_CALLED)),
    ("health of a service", Err(NOT_CALLED)),
    ("checks of a node", UNKNOWN),
    ("register", UNKNOWN),
    ("deregister", UNKNOWN),
    ("transaction", UNKNOWN),
    ("members", UNKNOWN),
    ("agent self", Err(NOT_CALLED)),
    ("force-leave", UNKNOWN),
    ("log out", Err(NOT_CALLED)),
];

pub(super) fn rows() -> Vec<Row> {
    let with = |credential: &'static str, reason: Option<&'static str>| {
        CALLS.map(|(call, serve)| {
            let serve = reason.map_or(serve, Err);
            Row { case: format!("{credential}: {call}"), serve }
        })
    };
    let (none, unknown) = (with("no token", Some(NO_TOKEN)), with("a token that is not there", None));
    let powerless = with("a token that may do nothing of it", Some(NO_PERMISSION)).into_iter();
    // The recorded token is needed until the end, and does not log out.
    let powerless = powerless.filter(|row| !row.case.ends_with(": log out"));
    none.into_iter().chain(unknown).chain(powerless).collect()
}
