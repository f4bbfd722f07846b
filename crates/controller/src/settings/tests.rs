use std::{collections::BTreeMap, time::Duration};

use mesh::settings::{Mode, TokenMode};

use super::*;

const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

fn environment(changes: &[(&str, &str)]) -> Result<Settings, InvalidField> {
    let mut variables = BTreeMap::from([
        ("CONSUL_HTTP_ADDR", "https://consul.example:8501"),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-token"),
        ("ECS_CLUSTER_ARNS", CLUSTER),
        ("QUEUE_URL", "https://sqs.example/queue"),
    ]);
    variables.extend(changes.iter().copied());
    Settings::read(|name| variables.get(name).map(|value| (*value).to_owned()))
}

#[test]
fn required_settings_alone_get_defaults() {
    let settings = environment(&[]).unwrap();
    assert_eq!(settings.scope.mode, Mode::Act);
    assert_eq!(settings.scope.token_mode, TokenMode::Auto);
    assert_eq!(settings.scope.grace.delay(), Duration::from_secs(300));
    assert_eq!(settings.scope.default_tenancy, Tenancy::Community);
    assert_eq!(settings.scope.bootstrap.extent, BootstrapExtent::Dataplane);
    assert_eq!(settings.scope.bootstrap.iam_role_path.to_string(), "/consul-ecs/");
    assert!(matches!(settings.consul_credential, CredentialSetting::Secret(_)));
}

#[test]
fn empty_value_is_unset() {
    let settings = environment(&[("CONSUL_PARTITION", ""), ("TOKEN_MODE", " "), ("CONSUL_HTTP_TOKEN", "")]).unwrap();
    assert_eq!(settings.scope.default_tenancy, Tenancy::Community);
}

#[test]
fn error_names_the_variable() {
    for (name, value) in [
        ("CONSUL_HTTP_ADDR", "consul:8500"),
        ("CONSUL_HTTP_ADDR", ""),
        ("CONSUL_HTTP_ADDR", "ecs://infra/consul"),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", ""),
        ("ECS_CLUSTER_ARNS", "prod"),
        ("ECS_CLUSTER_ARNS", ""),
        (
            "ECS_CLUSTER_ARNS",
            "arn:aws:ecs:us-east-1:123456789012:cluster/a,arn:aws:ecs:eu-west-1:123456789012:cluster/b",
        ),
        ("QUEUE_URL", ""),
        ("QUEUE_URL", "my-queue"),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", "arn:aws:s3:::bucket"),
        ("CONSUL_CACERT_SECRET_ARN", "a secret"),
        ("CONSUL_TLS_SERVER_NAME", "server dc1"),
        ("CLIENT_TOKEN_SECRET_NAME", "a b"),
        ("SECRET_KMS_KEY_ID", "my key"),
        ("MODE", "watch"),
        ("TOKEN_MODE", "magic"),
        ("REVOCATION_GRACE_SECONDS", "3001"),
        ("REVOCATION_GRACE_SECONDS", "-1"),
        ("REVOCATION_GRACE_SECONDS", "soon"),
        ("TIME_BOUNDS", "ecs-lag=x"),
        ("TIME_BOUNDS", "shown=60"),
        ("SECRET_NAME_PREFIX", "a b"),
        ("CONSUL_PARTITION", "a/b"),
        ("BOOTSTRAP", "some"),
        ("IAM_ROLE_PATH", "consul-ecs"),
        ("IAM_ROLE_PATH", "/consul-ecs"),
        ("IAM_ROLE_PATH", "/a b/"),
        ("IAM_ROLE_PATH", "/*/"),
        ("CLUSTER_PARTITIONS", "nobody=team"),
        ("CLUSTER_PARTITIONS", "test-*=team"),
        ("CLUSTER_PARTITIONS", "prod"),
        ("CLUSTER_PARTITIONS", "prod=a/b"),
        ("UNUSED_TOKEN_HOURS", "0"),
        ("UNUSED_TOKEN_HOURS", "long"),
        ("MAX_DELETE_PERCENT", "101"),
        ("REPAIR", "true"),
        ("RECONCILE_RATE", "5 minutes"),
        ("RECONCILE_RATE", "rate(0 minutes)"),
        ("RECONCILE_RATE", "rate(5 moons)"),
        ("RECONCILE_RATE", "rate(3 days)"),
        ("RECONCILE_RATE", "rate(49 hours)"),
    ] {
        let error = environment(&[(name, value)]).unwrap_err();
        assert_eq!(error.field(), name, "{name}={value}: {error}");
    }
}

#[test]
fn who_says_how_to_verify_consul_is_not_let_off_with_plain_http() {
    let ca = ("CONSUL_CACERT_SECRET_ARN", "consul-ca");
    let name = ("CONSUL_TLS_SERVER_NAME", "server.dc1.consul");
    for address in ["http://a:8500", "https://a:8501,http://b:8500"] {
        for setting in [ca, name] {
            let error = environment(&[("CONSUL_HTTP_ADDR", address), setting]).unwrap_err();
            assert_eq!(error.field(), "CONSUL_HTTP_ADDR", "{address} with {}", setting.0);
        }
        assert!(environment(&[("CONSUL_HTTP_ADDR", address)]).is_ok(), "{address}");
    }
    for address in ["https://a:8501, https://b:8501", "ecs://infra/consul:8501?scheme=https"] {
        assert!(environment(&[("CONSUL_HTTP_ADDR", address), ca, name]).is_ok(), "{address}");
    }
}

#[test]
fn servers_in_tasks_are_verified() {
    let ca = ("CONSUL_CACERT_SECRET_ARN", "consul-ca");
    let name = ("CONSUL_TLS_SERVER_NAME", "server.dc1.consul");
    let refused = |address: &str, settings: &[(&str, &str)]| {
        let all = [&[("CONSUL_HTTP_ADDR", address)], settings].concat();
        environment(&all).unwrap_err().field().to_owned()
    };
    let tls = "ecs://infra/consul:8501?scheme=https";
    for address in ["ecs://infra/consul:8500", "ecs://infra/consul:8500?scheme=http"] {
        assert_eq!(refused(address, &[ca, name]), "CONSUL_HTTP_ADDR");
    }
    assert_eq!(refused(tls, &[name]), ca.0);
    assert_eq!(refused(tls, &[ca]), name.0);
    assert!(environment(&[("CONSUL_HTTP_ADDR", tls), ca, name]).is_ok());
}

#[test]
fn operator_is_required_for_client_agents_and_partitions() {
    let needs_operator = |changes: &[(&str, &str)]| environment(changes).unwrap().scope.needs_operator();
    assert!(!needs_operator(&[]) && !needs_operator(&[("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none")]));
    for setting in [
        ("BOOTSTRAP", "full"),
        ("TOKEN_MODE", "secrets-manager"),
        ("CONSUL_PARTITION", "team"),
        ("CLUSTER_PARTITIONS", "prod=team"),
    ] {
        assert!(needs_operator(&[setting]), "{setting:?}");
    }
}

#[test]
fn rate_of_the_sweeps_is_a_time() {
    let interval = |rate: &str| environment(&[("RECONCILE_RATE", rate)]).unwrap().scope.sweep_interval.as_secs();
    let intervals = ["", "rate(1 minute)", "rate(20 minutes)", "rate(1 hour)", "rate(2 days)"].map(interval);
    assert_eq!(intervals, [300, 60, 1_200, 3_600, 172_800]);
}

#[test]
fn token_in_the_environment_is_redacted() {
    let both = environment(&[("CONSUL_HTTP_TOKEN", "canary-77")]).unwrap_err();
    assert!(!both.to_string().contains("canary-77"), "{both}");
    let alone = environment(&[("CONSUL_HTTP_TOKEN", "canary-77"), ("CONSUL_HTTP_TOKEN_SECRET_ARN", "")]).unwrap();
    assert!(!format!("{alone:?}").contains("canary-77"));
}

#[test]
fn cluster_may_have_its_own_partition() {
    let other = "arn:aws:ecs:us-east-1:123456789012:cluster/test";
    let settings = environment(&[
        ("ECS_CLUSTER_ARNS", &format!("{CLUSTER},{other}")),
        ("CONSUL_PARTITION", "home"),
        ("CLUSTER_PARTITIONS", "test=team"),
    ])
    .unwrap();
    let partition = |cluster: &str| {
        let tenancy = settings.scope.tenancy_of(&cluster.parse().unwrap()).clone();
        tenancy.partition().unwrap().to_string()
    };
    assert_eq!((partition(CLUSTER).as_str(), partition(other).as_str()), ("home", "team"));
}

/// Partitions of the clusters whose names begin with `shop`, and the deployment's own.
const PARTITIONS: [(&str, &str); 4] = [
    ("ECS_CLUSTER_ARNS", "shop-*,test"),
    ("ECS_CLUSTER_ARN_PREFIX", "arn:aws:ecs:us-east-1:123456789012:cluster/"),
    ("CONSUL_PARTITION", "home"),
    ("CLUSTER_PARTITIONS", "shop-1=till,shop-*=store,shop-1=stock"),
];

#[test]
fn cluster_may_have_several_partitions() {
    let scope = environment(&PARTITIONS).unwrap().scope;
    let partitions = |name: &str| {
        let cluster = format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap();
        let name = |tenancy: &Tenancy| tenancy.partition().unwrap().to_string();
        let mut all: Vec<String> = scope.tenancies_of(&cluster).into_iter().map(name).collect();
        all.sort();
        (name(scope.tenancy_of(&cluster)), all.join(","))
    };
    assert_eq!(partitions("shop-1"), ("till".to_owned(), "stock,store,till".to_owned()));
    assert_eq!(partitions("shop-2"), ("store".to_owned(), "store".to_owned()));
    assert_eq!(partitions("test"), ("home".to_owned(), "home".to_owned()));
}

#[test]
fn each_tenancy_has_the_clusters_that_it_is_set_up_for() {
    let scope = environment(&PARTITIONS).unwrap().scope;
    let text = |patterns: Vec<ClusterPattern>| patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let tenancies: BTreeMap<String, String> = scope
        .tenancies()
        .into_iter()
        .map(|(t, patterns)| (t.partition().unwrap().to_string(), text(patterns)))
        .collect();
    let expected = [("home", "test"), ("stock", "shop-1"), ("store", "shop-*"), ("till", "shop-1")];
    assert_eq!(tenancies, expected.map(|(partition, clusters)| (partition.to_owned(), clusters.to_owned())).into());
}

#[test]
fn client_token_of_several_partitions_has_no_arn() {
    let arn = ("CLIENT_TOKEN_SECRET_NAME", "arn:aws:secretsmanager:us-east-1:123456789012:secret:agents-AbCdEf");
    assert!(environment(&[arn]).is_ok(), "one partition");
    let [clusters, prefix, home, partitions] = PARTITIONS;
    let error = environment(&[clusters, prefix, home, partitions, arn]).unwrap_err();
    assert_eq!(error.field(), arn.0);
}

#[test]
fn names_and_patterns_of_clusters_are_read() {
    let prefix = ("ECS_CLUSTER_ARN_PREFIX", "arn:aws:ecs:us-east-1:123456789012:cluster/");
    for clusters in ["prod", "pro*", "*", "test, prod"] {
        let settings = environment(&[prefix, ("ECS_CLUSTER_ARNS", clusters)]).unwrap();
        assert!(settings.scope.clusters.contains(&CLUSTER.parse().unwrap()), "{clusters}");
    }
}

#[test]
fn bootstrap_settings_are_read() {
    let chosen = |changes: &[(&str, &str)]| environment(changes).unwrap().scope.bootstrap;
    assert_eq!(chosen(&[("BOOTSTRAP", "dataplane")]).extent, BootstrapExtent::Dataplane);
    assert_eq!(chosen(&[("BOOTSTRAP", "none")]).extent, BootstrapExtent::None);
    assert_eq!(chosen(&[("IAM_ROLE_PATH", "/team/mesh/")]).iam_role_path.to_string(), "/team/mesh/");
}
