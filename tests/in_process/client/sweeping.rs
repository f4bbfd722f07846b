//! Exact requests that only sweeps make, and the parsing of their answers.

use consul::{
    AgentReads as _, AgentWrites as _, CatalogReads as _, ConsulError, Grant, NewToken, TokenReads as _,
    TokenWrites as _,
};
use mesh::{
    catalog::{AgentStatus, Member},
    tenancy::{Tenancy, TenancyName},
    token::TokenPair,
};
use secrecy::SecretString;
use serde_json::json;

use crate::client::{ACCESSOR, CLUSTER, TASK, accessor, against, enterprise};
use test_harness::recorder::Answer;

const NODE_IN_PATH: &str = "arn:aws:ecs:us-east-1:123456789012:cluster%2Fprod";

fn node_answer() -> String {
    json!({
        "Node": { "Node": CLUSTER, "Meta": { "synthetic-node": "true" } },
        "Services": [
            { "ID": "web-1", "Service": "web", "ModifyIndex": 7, "Namespace": "store",
              "Meta": { "task-id": TASK, "task-arn": format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{TASK}") } },
            { "ID": "by-hand", "Service": "by-hand", "ModifyIndex": 8, "Meta": null },
        ],
    })
    .to_string()
}

#[tokio::test]
async fn a_node_is_read_across_namespaces() {
    let (server, consul) = against(|_, _| Answer::ok(node_answer())).await;
    let node = consul.node(CLUSTER, &enterprise()).await.unwrap().expect("a node");
    assert!(node.is_synthetic);
    let [other] = &node.others[..] else { panic!("{:?}", node.others) };
    assert_eq!((other.id.as_str(), &other.tenancy), ("by-hand", &enterprise()));
    let instance = &node.instances[0];
    assert_eq!((instance.id.as_str(), instance.modify_index), ("web-1", 7));
    assert_eq!(
        instance.tenancy.namespace().unwrap().as_str(),
        "store",
        "the namespace of the service, not that of the request"
    );
    assert_eq!(instance.task_arn.as_ref().unwrap().id().as_str(), TASK);
    consul.node(CLUSTER, &Tenancy::Community).await.unwrap();
    assert_eq!(server.lines()[1], format!("GET /v1/catalog/node-services/{NODE_IN_PATH}?consistent="));
}

#[tokio::test]
async fn partitions_being_deleted_are_not_listed() {
    let answer = json!([
        { "Name": "default", "Description": "Builtin Default Partition", "CreateIndex": 6, "ModifyIndex": 6 },
        { "Name": "team", "CreateIndex": 55, "ModifyIndex": 55 },
        { "Name": "leaving", "DeletedAt": "2021-12-14T23:00:00Z", "CreateIndex": 56, "ModifyIndex": 100 },
    ]);
    let (server, consul) = against(move |_, _| Answer::ok(answer.to_string())).await;
    let partitions = consul.partitions().await.unwrap();
    let names: Vec<&str> = partitions.iter().map(TenancyName::as_str).collect();
    assert_eq!((names, server.lines()), (vec!["default", "team"], vec!["GET /v1/partitions".to_owned()]));
}

#[tokio::test]
async fn a_listed_token_has_its_creation_time() {
    // The format of Consul 1.8, in any time zone
    for (said, read) in [
        (json!("2026-11-21T14:43:28.328271478Z"), Some("2026-11-21T14:43:28.328271478Z")),
        (json!("2026-11-21T15:43:28.5+01:00"), Some("2026-11-21T14:43:28.5Z")),
        (json!("0001-01-01T00:00:00Z"), Some("0001-01-01T00:00:00Z")),
        (json!("yesterday"), None),
        (json!(null), None),
    ] {
        let answer = json!([{ "AccessorID": ACCESSOR, "Description": "d", "CreateTime": said }]).to_string();
        let (_server, consul) = against(move |_, _| Answer::ok(answer.clone())).await;
        let tokens = consul.tokens(&Tenancy::Community, &|_| true).await.unwrap().unwrap();
        assert_eq!(tokens[0].created_at, read.map(|at| at.parse().unwrap()));
    }
}

#[tokio::test]
async fn an_unknown_node_is_none() {
    for answer in ["null", r#"{"Node":null,"Services":null}"#] {
        let (_server, consul) = against(move |_, _| Answer::ok(answer)).await;
        assert_eq!(consul.node(CLUSTER, &Tenancy::Community).await.unwrap(), None);
    }
}

#[tokio::test]
async fn only_a_failed_agent_is_dead() {
    let answer = json!([
        { "Name": "alive", "Status": 1 }, { "Name": "leaving", "Status": 2 }, { "Name": "left", "Status": 3 },
        { "Name": "failed", "Status": 4 }, { "Name": "strange", "Status": 9 },
    ]);
    let (server, consul) = against(move |_, _| Answer::ok(answer.to_string())).await;
    let members = consul.members(&enterprise()).await.unwrap();
    let statuses: Vec<AgentStatus> = members.into_iter().map(|Member { status, .. }| status).collect();
    assert_eq!(
        statuses,
        [AgentStatus::Alive, AgentStatus::Left, AgentStatus::Left, AgentStatus::Failed, AgentStatus::Alive]
    );
    assert_eq!(server.lines(), ["GET /v1/agent/members?partition=team"]);
}

#[tokio::test]
async fn pruning_an_unknown_agent_succeeds() {
    let (server, consul) = against(|_, before| match before {
        0 => Answer::ok(""),
        _ => Answer::status(500, "agent: No node found with name 'ip-10-0-1-12'"),
    })
    .await;
    consul.force_leave("ip-10-0-1-12", &Tenancy::Community).await.unwrap();
    consul.force_leave("ip-10-0-1-12", &Tenancy::Community).await.unwrap();
    assert_eq!(server.lines(), ["PUT /v1/agent/force-leave/ip-10-0-1-12?prune="; 2]);
}

#[tokio::test]
async fn instances_are_found_on_any_node() {
    let answer = json!([{
        "Node": "ip-10-0-1-12", "ServiceID": "web-1", "ServiceName": "web", "ModifyIndex": 7,
        "ServiceMeta": { "task-id": TASK },
    }]);
    let (server, consul) = against(move |_, _| Answer::ok(answer.to_string())).await;
    let service = "web".parse().unwrap();
    let found = consul.instances_of(&service, &Tenancy::Community, &[TASK.parse().unwrap()]).await.unwrap();
    assert_eq!((found[0].node.as_str(), found[0].task_arn.as_ref()), ("ip-10-0-1-12", None));
    let filter = format!("filter=ServiceMeta%5B%22task-id%22%5D+%3D%3D+%22{TASK}%22");
    assert_eq!(server.lines(), [format!("GET /v1/catalog/service/web?{filter}&consistent=")]);
}

#[tokio::test]
async fn a_description_update_keeps_the_rest() {
    let (server, consul) = against(|_, before| match before {
        1 => Answer::status(404, ""),
        _ => Answer::ok("{}"),
    })
    .await;
    let token = NewToken {
        pair: TokenPair { accessor: accessor(), secret: SecretString::from("s3cret") },
        description: "used".into(),
        grant: Grant::AsBefore(serde_json::Map::from_iter([("Local".to_owned(), json!(true))])),
        tenancy: enterprise(),
    };
    consul.update_token(&token).await.unwrap();
    assert_eq!(server.lines(), [format!("PUT /v1/acl/token/{ACCESSOR}?partition=team&ns=shop")]);
    let expected = json!({ "AccessorID": ACCESSOR, "SecretID": "s3cret", "Description": "used", "Local": true });
    assert_eq!(server.requests()[0].json(), expected);
    let gone = consul.update_token(&token).await.unwrap_err();
    assert!(matches!(gone, ConsulError::NotFound { .. }), "{gone}");
}

#[tokio::test]
async fn only_the_controller_s_policy_is_deleted() {
    let delete_if_described_as = async |description: &'static str| {
        let (server, consul) =
            against(move |_, _| Answer::ok(json!({ "ID": "p1", "Description": description }).to_string())).await;
        let policy = controller::bootstrap::client_agent_policy(&Tenancy::Community, "mesh-consul-client-policy");
        let deleted = consul.delete_policy(&policy).await.unwrap();
        (deleted, server.lines())
    };
    let read = "GET /v1/acl/policy/name/mesh-consul-client-policy".to_owned();
    assert_eq!(delete_if_described_as("by hand").await, (false, vec![read.clone()]));
    let ours = delete_if_described_as("Policy of Consul client agents on ECS").await;
    assert_eq!(ours, (true, vec![read, "DELETE /v1/acl/policy/p1".to_owned()]));
}

/// Consul 1.21 answers the deletion of a policy that does not exist with 404, Consul 1.8.7 with 200.
#[tokio::test]
async fn a_policy_that_is_gone_meanwhile_is_deleted() {
    let (server, consul) = against(|seen, _| match seen.method.as_str() {
        "DELETE" => Answer::status(404, "Cannot find policy to delete"),
        _ => Answer::ok(json!({ "ID": "p1", "Description": "Policy of Consul client agents on ECS" }).to_string()),
    })
    .await;
    let policy = controller::bootstrap::client_agent_policy(&Tenancy::Community, "mesh-consul-client-policy");
    assert!(consul.delete_policy(&policy).await.unwrap());
    assert_eq!(
        server.lines(),
        [
            "GET /v1/acl/policy/name/mesh-consul-client-policy",
            "DELETE /v1/acl/policy/p1",
            // The own token is valid, so that 404 is about the policy.
            "GET /v1/acl/token/self",
        ]
    );
}
