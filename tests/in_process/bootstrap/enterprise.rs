//! Consul Enterprise: the partition, its namespaces, and the tenancy of all other objects.

use serde_json::json;

use crate::bootstrap::{bootstrap, controller, errors, fake::Fake, lines, writes};
use test_harness::recorder::{Answer, Recorder};

const PARTITION: (&str, &str) = ("CONSUL_PARTITION", "team");
const CROSS_NAMESPACE_RULES: &str = r#"partition "team" { namespace_prefix "" { service_prefix "" { policy = "read" } node_prefix "" { policy = "read" } } }"#;

/// A Consul without the partition; once it exists, it has namespaces.
fn fake() -> Fake {
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let acls = json!({ "PolicyDefaults": [{ "ID": "p-1", "Name": "user" }] });
    fake.put("namespace/going", json!({ "Name": "going", "DeletedAt": "2024-01-01T00:00:00Z" }));
    fake.put("namespace/shop", json!({ "Name": "shop", "Meta": { "by": "user" }, "ACLs": acls }));
    fake
}

#[tokio::test]
async fn namespaces_are_set_up_in_secrets_manager_mode() {
    let fake = fake();
    let consul = fake.start().await;
    let controller = controller(&consul.url, "own", &[PARTITION, ("TOKEN_MODE", "secrets-manager")]).await;
    let report = bootstrap(&controller).await;
    assert_eq!(errors(&report), [""; 0]);
    assert_eq!(report.created, ["partition team", "ACL policy cross-namespace-read"]);
    // Namespaces of other creators stay as they are
    assert_eq!(report.updated, ["namespace default"]);
    let default = json!({ "PolicyDefaults": [{ "Name": "cross-namespace-read" }] });
    let policy = json!({
        "Name": "cross-namespace-read",
        "Description": "Allow service and node reads across namespaces within the partition",
        "Rules": CROSS_NAMESPACE_RULES,
    });
    assert_eq!(
        writes(&consul),
        [
            ("PUT /v1/partition".to_owned(), json!({ "Name": "team" })),
            ("PUT /v1/acl/policy?partition=team&ns=default".to_owned(), policy),
            ("PUT /v1/namespace/default?partition=team".to_owned(), json!({ "Name": "default", "ACLs": default })),
        ]
    );

    consul.forget();
    let report = bootstrap(&controller).await;
    assert_eq!(report.unchanged.len(), 3, "{report:?}");
    assert_eq!(
        lines(&consul),
        [
            "GET /v1/partition/team",
            "GET /v1/acl/policy/name/cross-namespace-read?partition=team&ns=default",
            "GET /v1/namespace/default?partition=team",
        ]
    );
}

#[tokio::test]
async fn logins_are_in_the_default_namespace() {
    let fake = fake();
    let consul = fake.start().await;
    let report = bootstrap(&controller(&consul.url, "own", &[PARTITION]).await).await;
    assert_eq!(errors(&report), [""; 0]);
    let written = writes(&consul);
    let place = |prefix: &str| {
        let mut places: Vec<&str> = written
            .iter()
            .filter(|(line, _)| line.starts_with(prefix))
            .filter_map(|(l, _)| l.split('?').nth(1))
            .collect();
        places.dedup();
        places
    };
    assert_eq!(place("PUT /v1/acl/role"), ["partition=team&ns=default"]);
    assert_eq!(place("PUT /v1/acl/auth-method"), ["partition=team&ns=default"]);
    assert_eq!(place("PUT /v1/acl/binding-rule"), ["partition=team&ns=default"]);
    assert_eq!(place("PUT /v1/catalog/register"), ["partition=team"]);
    // All partitions share one anonymous token
    assert_eq!(place("PUT /v1/acl/token"), ["partition=default&ns=default"]);
    let rules = |policy: &str| fake.get(&format!("acl/policy/{policy}"))["Rules"].as_str().unwrap().to_owned();
    let read_all =
        r#"namespace_prefix "" { node_prefix "" { policy = "read" } service_prefix "" { policy = "read" } }"#;
    assert_eq!(rules("anonymous-token-policy"), format!("partition_prefix \"\" {{ {read_all} }}"));
    assert_eq!(rules("consul-ecs-api-gateway-policy"), format!("mesh = \"read\"\n{read_all}"));
    assert_eq!(
        rules("consul-ecs-client-policy"),
        r#"node_prefix "" { policy = "write" } namespace_prefix "" { service_prefix "" { policy = "read" } }"#
    );
    assert_eq!(
        fake.get("acl/auth-method/iam-ecs-service-token")["NamespaceRules"],
        json!([{
            "Selector": r#"entity_tags["consul.hashicorp.com.namespace"] != """#,
            "BindNamespace": "${entity_tags.consul.hashicorp.com.namespace}",
        }])
    );
}

#[tokio::test]
async fn community_edition_rejects_a_partition() {
    let upstream = Fake::new().start().await;
    let consul = Recorder::before(&upstream.url, |seen, _| match seen.uri.as_str() {
        uri if uri.starts_with("/v1/partition") => Answer::status(404, ""),
        _ => Answer::Forward,
    })
    .await;
    let report = bootstrap(&controller(&consul.url, "own", &[PARTITION]).await).await;
    assert_eq!(
        errors(&report),
        ["partition team: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise"]
    );
}
