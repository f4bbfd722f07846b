use mesh::{cluster_selection::ClusterSelection, scope::IamRolePath};

use super::*;

const PRINCIPALS: &str = "arn:aws-cn:iam::123456789012:role/consul-ecs/*";

fn cluster(name: &str) -> ClusterArn {
    format!("arn:aws-cn:ecs:cn-north-1:123456789012:cluster/{name}").parse().unwrap()
}

fn target(extent: BootstrapExtent, token_mode: TokenMode, tenancy: &Tenancy) -> BootstrapTarget<'_> {
    BootstrapTarget { extent, principals: PRINCIPALS, token_mode, tenancy, is_primary: true }
}

fn labels(extent: BootstrapExtent, mode: TokenMode, tenancy: &Tenancy, is_primary: bool) -> Vec<String> {
    let desired = BootstrapTarget { is_primary, ..target(extent, mode, tenancy) };
    super::desired(&desired).iter().map(Object::to_string).collect()
}

fn enterprise() -> Tenancy {
    Tenancy::default_namespace_of("team".parse().unwrap())
}

#[test]
fn objects_come_after_their_references() {
    let tenancy = enterprise();
    let objects = super::desired(&target(BootstrapExtent::Full, TokenMode::AuthMethod, &tenancy));
    let mut references = 0;
    for (index, object) in objects.iter().enumerate() {
        for (other_index, other) in objects.iter().enumerate() {
            if object.refers_to(other) {
                assert!(other_index < index, "{object} comes before {other}");
                references += 1;
            }
        }
    }
    // 3 roles, 5 binding rules, the default namespace, and the anonymous token
    assert_eq!(references, 10);
}

#[test]
fn extent_selects_objects_of_client_agents() {
    let full = labels(BootstrapExtent::Full, TokenMode::AuthMethod, &Tenancy::Community, true);
    let dataplane = labels(BootstrapExtent::Dataplane, TokenMode::AuthMethod, &Tenancy::Community, true);
    let only_full: Vec<&String> = full.iter().filter(|label| !dataplane.contains(label)).collect();
    assert_eq!(
        only_full,
        [
            "ACL policy consul-ecs-client-policy",
            "ACL role consul-ecs-client-role",
            "auth method iam-ecs-client-token",
            "binding rule of auth method iam-ecs-client-token for role consul-ecs-client-role",
        ]
    );
    assert_eq!(labels(BootstrapExtent::None, TokenMode::AuthMethod, &enterprise(), true), [""; 0]);
}

#[test]
fn mode_secrets_manager_requires_only_namespaces() {
    assert_eq!(labels(BootstrapExtent::Full, TokenMode::SecretsManager, &Tenancy::Community, true), [""; 0]);
    assert_eq!(
        labels(BootstrapExtent::Dataplane, TokenMode::SecretsManager, &enterprise(), true),
        ["ACL policy cross-namespace-read", "namespace default"]
    );
}

#[test]
fn anonymous_token_is_set_up_in_the_primary_datacenter() {
    let primary = labels(BootstrapExtent::Full, TokenMode::AuthMethod, &Tenancy::Community, true);
    let secondary = labels(BootstrapExtent::Full, TokenMode::AuthMethod, &Tenancy::Community, false);
    let only_primary: Vec<&String> = primary.iter().filter(|label| !secondary.contains(label)).collect();
    assert_eq!(only_primary, ["ACL policy anonymous-token-policy", "the anonymous ACL token"]);
}

#[test]
fn role_arns_are_in_the_clusters_account() {
    let clusters = ClusterSelection::parse(cluster("a").as_str(), None).unwrap();
    assert_eq!(IamRolePath::default().principals(&clusters), PRINCIPALS);
    let root: IamRolePath = "/".parse().unwrap();
    assert_eq!(root.principals(&clusters), "arn:aws-cn:iam::123456789012:role/*");
}

#[test]
fn a_path_that_would_admit_other_roles_is_refused() {
    for path in ["", "consul-ecs", "/consul-ecs", "consul-ecs/", "/*/", "/a b/", "/ä/"] {
        assert!(path.parse::<IamRolePath>().is_err(), "{path}");
    }
}

#[test]
fn only_the_default_partition_has_rules_for_others() {
    let rules = |partition: &str| {
        let tenancy = Tenancy::default_namespace_of(partition.parse().unwrap());
        let policies = gateway_policies(&tenancy);
        policies.iter().find(|p| p.name == "consul-ecs-mesh-gateway-policy").unwrap().text("Rules").unwrap().to_owned()
    };
    assert_eq!(rules("team"), "mesh = \"write\"\npeering = \"read\"");
    assert!(rules("default").ends_with("\npartition_prefix \"\" { peering = \"read\" }"));
}
