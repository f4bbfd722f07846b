//! Who a task is, by its definition and its tags.

use mesh::{
    cluster_selection::ClusterSelection,
    consul_ecs::{Configuration, GatewayKind, MESH_TAG, NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG, names},
    definition::{ContainerDefinition, TaskDefinition},
    identity::MeshIdentity,
    names::InvalidField,
    secret_name::SecretNames,
    secret_reference::SecretReference,
    settings::{TokenMode, TokenSettings},
    tags::Tags,
    tenancy::Tenancy,
};
use mesh_examples::{cluster, definition_arn};
use proptest::prelude::*;

fn definition(tags: &[(&str, &str)], config_json: Option<&str>) -> TaskDefinition {
    TaskDefinition {
        tags: tags.iter().copied().collect(),
        config: config_json.map(Configuration::from),
        ..mesh_examples::definition(definition_arn("Web-Family:3"))
    }
}

fn client_agent() -> ContainerDefinition {
    ContainerDefinition { name: names::CLIENT.to_owned(), ..ContainerDefinition::default() }
}

#[test]
fn proxy_is_lost_with_its_container_except_beside_a_client_agent() {
    let mut definition = definition(&[], None);
    let stopped = ["consul-dataplane".to_owned()];
    assert!(!definition.losses(&stopped).proxy, "another program's container, which AWS has added");
    let proxy = ContainerDefinition { name: names::DATAPLANE.to_owned(), ..ContainerDefinition::default() };
    definition.containers = vec![proxy.clone()];
    assert!(definition.losses(&stopped).proxy && !definition.losses(&["app".to_owned()]).proxy);
    definition.containers = vec![proxy, client_agent()];
    assert!(!definition.losses(&stopped).proxy);
}

#[test]
fn client_agent_is_recognised_by_its_container() {
    let mut definition = definition(&[], None);
    assert!(!definition.runs_client_agent());
    definition.containers = vec![client_agent()];
    assert!(definition.runs_client_agent());
}

fn identify(
    definition: &TaskDefinition,
    task_tags: &Tags,
    default_tenancy: &Tenancy,
) -> Result<Option<MeshIdentity>, InvalidField> {
    let clusters = ClusterSelection::parse(cluster("prod").as_str(), None).unwrap();
    let names = SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters);
    definition.identify(task_tags, default_tenancy, TokenSettings { mode: TokenMode::Auto, names: &names })
}

fn name_of(definition: &TaskDefinition, task_tags: &[(&str, &str)]) -> String {
    let identity = identify(definition, &task_tags.iter().copied().collect(), &Tenancy::Community);
    identity.unwrap().unwrap().service.name.to_string()
}

#[test]
fn name_comes_from_tag_then_configuration_then_family() {
    let config = Some(r#"{"service":{"name":"from-config"}}"#);
    let tagged = definition(&[(MESH_TAG, "true"), (SERVICE_NAME_TAG, "from-definition")], config);
    let untagged = definition(&[(MESH_TAG, "true")], config);
    let bare = definition(&[(MESH_TAG, "true")], None);
    assert_eq!(name_of(&tagged, &[(SERVICE_NAME_TAG, "from-task")]), "from-task");
    assert_eq!(name_of(&tagged, &[]), "from-definition");
    assert_eq!(name_of(&untagged, &[]), "from-config");
    assert_eq!(name_of(&bare, &[]), "web-family");
}

#[test]
fn name_of_a_sidecar_proxy_is_no_service_s() {
    let named = definition(&[(MESH_TAG, "true"), (SERVICE_NAME_TAG, "web-sidecar-proxy")], None);
    let refused = identify(&named, &Tags::default(), &Tenancy::Community).unwrap_err();
    assert!(refused.to_string().contains("web-sidecar-proxy"), "{refused}");
}

#[test]
fn only_the_value_true_is_in_the_mesh() {
    for tags in [&[][..], &[(MESH_TAG, "false")], &[(MESH_TAG, "True")], &[(MESH_TAG, "")]] {
        assert_eq!(identify(&definition(tags, None), &Tags::default(), &Tenancy::Community), Ok(None));
    }
    let opted_out = Tags::from_iter([(MESH_TAG, "false")]);
    assert_eq!(identify(&definition(&[(MESH_TAG, "true")], None), &opted_out, &Tenancy::Community), Ok(None));
}

#[test]
fn untagged_definition_is_in_the_mesh_if_it_reads_a_token() {
    let reads = |secret: &str, tags: &[(&str, &str)]| TaskDefinition {
        secrets: [SecretReference::parse(secret).unwrap()].into(),
        ..definition(tags, None)
    };
    let configured = TaskDefinition {
        config: Some(r#"{"service":{"name":"from-config"}}"#.into()),
        ..reads("mesh-from-config", &[])
    };
    assert_eq!(name_of(&configured, &[(MESH_TAG, "true"), (SERVICE_NAME_TAG, "late")]), "from-config");
    let untagged = reads("mesh-Web-Family", &[]);
    assert_eq!(name_of(&untagged, &[]), "web-family");
    assert_eq!(name_of(&untagged, &[(MESH_TAG, "true"), (SERVICE_NAME_TAG, "late")]), "web-family");
    let is_member = |d: &TaskDefinition| identify(d, &Tags::default(), &Tenancy::Community).unwrap().is_some();
    assert!(!is_member(&reads("orders-db", &[])), "a secret of another owner");
    assert!(!is_member(&reads("mesh-Web-Family", &[(MESH_TAG, "false")])), "opted out");
}

#[test]
fn a_gateway_is_recognised_by_its_configuration() {
    let gateway = definition(&[(MESH_TAG, "true")], Some(r#"{"gateway":{"kind":"api-gateway","name":"edge"}}"#));
    let identity = identify(&gateway, &Tags::default(), &Tenancy::Community).unwrap().unwrap();
    assert_eq!(identity.gateway, Some(GatewayKind::ApiGateway));
    assert_eq!(identity.service.name.as_str(), "edge");
}

#[test]
fn enterprise_tags_override_the_default_tenancy() {
    let default = Tenancy::default_namespace_of("team".parse().unwrap());
    let plain = definition(&[(MESH_TAG, "true")], None);
    let tagged = definition(&[(MESH_TAG, "true"), (PARTITION_TAG, "p"), (NAMESPACE_TAG, "n")], None);
    let tenancy = |d: &TaskDefinition| identify(d, &Tags::default(), &default).unwrap().unwrap().service.tenancy;
    assert_eq!(tenancy(&plain), default);
    assert_eq!(tenancy(&tagged).partition().unwrap().as_str(), "p");
}

#[test]
fn error_names_the_invalid_tag() {
    let bad_name = definition(&[(MESH_TAG, "true"), (SERVICE_NAME_TAG, "Web")], None);
    let one_tag = definition(&[(MESH_TAG, "true"), (PARTITION_TAG, "p")], None);
    let field = |d: &TaskDefinition| identify(d, &Tags::default(), &Tenancy::Community).unwrap_err().field().to_owned();
    assert_eq!(field(&bad_name), SERVICE_NAME_TAG);
    assert_eq!(field(&one_tag), NAMESPACE_TAG);
}

proptest! {
    #[test]
    fn identity_never_panics(mesh in "true|false", name in "\\PC{0,300}", config in "\\PC{0,60}") {
        let definition = definition(&[(MESH_TAG, &mesh), (SERVICE_NAME_TAG, &name)], Some(&config));
        let _ = identify(&definition, &Tags::default(), &Tenancy::Community);
    }
}
