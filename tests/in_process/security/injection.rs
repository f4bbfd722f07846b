//! Names from outside change no request: neither its path, filter or policy, nor a secret's name.

use std::sync::Arc;

use async_trait::async_trait;
use consul::{
    AgentWrites as _, CatalogReads as _, ConsulUrls, CredentialError, CredentialSource, HttpConsul, RetryPolicy,
    TlsSettings, TokenOwner,
};
use mesh::{
    cluster_selection::ClusterSelection,
    consul_ecs::{MESH_TAG, NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG},
    definition::TaskDefinition,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    tags::Tags,
    tenancy::Tenancy,
};
use mesh_examples::{cluster, definition, definition_arn};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::environment::Environment;
use local_stack::world::World;
use test_harness::recorder::{Answer, Recorder};

/// Names with a special meaning in HCL, a filter, a URL, JSON, a binding rule, a log line, or HTML.
const HOSTILE: [&str; 16] = [
    "web\" { policy = \"write\" } service_prefix \"",
    "web\"\nkey_prefix \"\" { policy = \"write\" }",
    "web\" or ServiceID != \"",
    "../../acl/token/self",
    "web/../acl",
    "..",
    "web%2F..%2Facl",
    "web?ns=*",
    "web&partition=default",
    "web#",
    "${entity_tags.consul.hashicorp.com.service-name}",
    "web\",\"SecretID\":\"x",
    "web\r\nX-Consul-Token: x",
    "web\u{0}",
    "web\u{1b}[31m",
    "<script>alert(1)</script>",
];

fn identified(tags: &[(&str, &str)], config: Option<&str>) -> Result<String, String> {
    let definition = TaskDefinition {
        tags: tags.iter().copied().chain([(MESH_TAG, "true")]).collect(),
        config: config.map(Into::into),
        ..definition(definition_arn("Web:7"))
    };
    let home = ClusterSelection::parse(cluster("prod").as_str(), None).unwrap();
    let names = SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &home);
    let rules = TokenSettings { mode: TokenMode::Auto, names: &names };
    let identity =
        definition.identify(&Tags::default(), &Tenancy::Community, rules).map_err(|error| error.to_string())?;
    Ok(identity.map_or_else(String::new, |identity| identity.service.name.to_string()))
}

#[test]
fn hostile_names_are_refused_everywhere() {
    assert_eq!(identified(&[], None).as_deref(), Ok("web"));
    for name in HOSTILE {
        let refusals = [
            identified(&[(SERVICE_NAME_TAG, name)], None),
            identified(&[(PARTITION_TAG, name), (NAMESPACE_TAG, "n")], None),
            identified(&[(PARTITION_TAG, "p"), (NAMESPACE_TAG, name)], None),
            identified(&[], Some(&json!({ "service": { "name": name } }).to_string())),
            identified(&[], Some(&json!({ "gateway": { "kind": "mesh-gateway", "name": name } }).to_string())),
        ];
        for refused in refusals {
            let line = refused.expect_err(name);
            // On one line, without control characters
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

#[tokio::test]
async fn a_hostile_tag_changes_no_request() {
    let world = World::without_deployment("hostile-tags").await;
    let environment = Environment::start(&world, "auto").await;
    for name in HOSTILE.iter().filter(|name| !name.chars().any(char::is_control)) {
        let tags = json!([{ "key": MESH_TAG, "value": "true" }, { "key": SERVICE_NAME_TAG, "value": name }]);
        let task = world.run(&world.definition("hostile-tags-app", &tags, None).await).await;
        let event = world.event(&task).await;
        environment.aws.forget();
        let report = environment.handle(&[event]).await;
        assert_eq!((report.failures.len(), report.faults.len()), (0, 1), "{name}");
        assert!(report.faults[0].error.to_string().starts_with(SERVICE_NAME_TAG), "{report:?}");
        assert_eq!(environment.aws.operations(), ["DescribeTaskDefinition"], "{name}");
    }
    assert!(environment.consul.requests().is_empty(), "{:?}", environment.consul.lines());
}

#[tokio::test]
async fn hostile_registrations_widen_no_change() {
    let world = World::without_deployment("hostile-catalog").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    // Given another owner's service, and one with the stopping task's mark whose ID would widen a filter to all services
    let check = |service: &str| json!({ "CheckID": format!("{service}-c"), "Name": "c", "Status": "passing", "ServiceID": service });
    let stranger = json!({ "ID": "hostile-catalog-stranger", "Service": "hostile-catalog-stranger" });
    world.register_raw(&json!({ "Service": stranger, "Checks": [check("hostile-catalog-stranger")] })).await;
    let id = "x\" or ServiceID != \"";
    let hostile =
        json!({ "ID": id, "Service": "hostile-catalog-x", "Meta": { "task-id": local_stack::world::task_id(&task) } });
    world.register_raw(&json!({ "Service": hostile, "Checks": [check(id)] })).await;
    let environment = Environment::start(&world, "auth-method").await;
    // When the task is told to stop, and stops
    for (last, version) in [("RUNNING", 901), ("STOPPED", 902)] {
        let event = world.event_as(&task, last, "STOPPED", version).await;
        let report = environment.handle(&[event]).await;
        assert!(report.failures.is_empty(), "{report:?}");
        // Then the check of the other owner's service still passes
        let checks = world.consul.get(&format!("/v1/health/node/{}", world.cluster().replace('/', "%2F"))).await;
        let of_stranger = |check: &&Value| check["ServiceID"] == "hostile-catalog-stranger";
        let of_stranger: Vec<&Value> = checks.as_array().unwrap().iter().filter(of_stranger).collect();
        assert_eq!(of_stranger.len(), 1, "{checks}");
        assert_eq!(of_stranger[0]["Status"], "passing", "{checks}");
    }
    // And all services with the task's mark are deregistered, and the other owner's service is not
    assert_eq!(world.service_ids().await, ["hostile-catalog-stranger"]);
}

struct NoSecret;

#[async_trait]
impl CredentialSource for NoSecret {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from("token"))
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

#[tokio::test]
async fn a_node_name_is_one_path_segment() {
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let urls: ConsulUrls = server.url.parse().unwrap();
    let tls = TlsSettings::default();
    let consul = HttpConsul::new(Arc::new(urls), &tls, Arc::new(NoSecret), RetryPolicy::for_events()).unwrap();
    for name in HOSTILE.iter().filter(|name| **name != "..") {
        consul.node_checks(name, &Tenancy::Community).await.unwrap();
        consul.force_leave(name, &Tenancy::Community).await.unwrap();
    }
    for (line, path) in server.lines().iter().zip(["GET /v1/health/node/", "PUT /v1/agent/force-leave/"].iter().cycle())
    {
        let rest = line.strip_prefix(path).unwrap_or_else(|| panic!("{line}"));
        let name = rest.split('?').next().unwrap();
        assert!(!name.contains(['/', '#', ' ', '"']), "{line}");
        assert!(!rest.trim_end_matches("?prune=").trim_end_matches("?consistent=").contains('?'), "{line}");
    }
}
