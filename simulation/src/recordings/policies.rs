//! ACL policies, roles, auth methods and binding rules.

use serde_json::json;

use super::{Row, not_served, served};

const OTHER_CALLS: &str = "the simulated controller reads policies by name, and writes valid rules";
const BOOTSTRAP: &str = "only the bootstrap makes this call, and it is not simulated";
const LOGIN: &str = "tasks log in, and the controller does not see the answer";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = not_served(OTHER_CALLS, &["read a policy that is not there"]);
    rows.extend([
        served("read a policy by a name that is not there", |world| world.policy("absent").map(|()| json!({}))),
        served("create a policy", |world| world.create_policy("p1").map(|()| json!({ "Name": "p1" }))),
        served("create it again", |world| {
            world.create_policy("p1").unwrap();
            world.create_policy("p1").map(|()| json!({ "Name": "p1" }))
        }),
    ]);
    rows.extend(not_served(OTHER_CALLS, &["create one whose rules are wrong"]));
    rows.extend([
        served("read it by name", |world| {
            world.create_policy("p1").unwrap();
            world.policy("p1").map(|()| json!({ "Name": "p1" }))
        }),
        served("delete a policy", |world| {
            world.create_policy("p1").unwrap();
            world.delete_policy("p1").map(|()| json!(true))
        }),
        served("delete a policy that is gone", |world| world.delete_policy("p1").map(|()| json!(true))),
    ]);
    rows.extend(not_served(BOOTSTRAP, &OBJECTS_OF_THE_BOOTSTRAP));
    rows.extend(not_served(LOGIN, &["log in with nonsense", "log in with a method that is not there"]));
    rows
}

const OBJECTS_OF_THE_BOOTSTRAP: [&str; 20] = [
    "read a role by a name that is not there",
    "create a role",
    "create the role again",
    "update a role that is not there",
    "read an auth method that is not there",
    "delete an auth method that is not there",
    "create an aws-iam auth method",
    "create it again",
    "read the aws-iam auth method",
    "update it",
    "one with a wildcard but without entity details",
    "one of a type that is not known",
    "list auth methods",
    "a rule of a method that is not there",
    "create a binding rule",
    "create one with a wrong selector",
    "create one with a variable that is not there",
    "one for a role, with a selector",
    "list binding rules of a method",
    "list binding rules of a method that is not there",
];
