use super::*;
use crate::{
    examples::{cluster, login_token, task_id},
    token::ServiceGrant,
};

fn token(service: &str) -> ListedToken {
    let services = vec![ServiceGrant { service: service.to_owned(), datacenters: Vec::new() }];
    ListedToken {
        auth_method: Some("iam".to_owned()),
        grants: Grants { services, ..Grants::default() },
        ..login_token(1, cluster("prod").as_str(), 1)
    }
}

fn facts() -> TokenFacts {
    TokenFacts { datacenter: "dc1".to_owned(), roles: BTreeMap::new() }
}

/// The verdict on task 1 of cluster prod, which claims to be `payments`.
fn by_token(tokens: &[ListedToken], facts: &TokenFacts) -> Result<(), TokenGap> {
    by_token_in(tokens, facts, &Tenancy::Community, false)
}

fn by_token_in(tokens: &[ListedToken], facts: &TokenFacts, tenancy: &Tenancy, is_ours: bool) -> Result<(), TokenGap> {
    let (cluster, task) = (cluster("prod"), task_id(1));
    Claim { cluster: &cluster, task: &task, service: "payments", tenancy }.proven_by_token(tokens, facts, is_ours)
}

#[test]
fn login_token_proves_the_service_that_it_grants() {
    assert_eq!(by_token(&[token("payments")], &facts()), Ok(()));
    assert_eq!(by_token(&[], &facts()), Err(TokenGap::NoToken));
    assert_eq!(by_token(&[token("team-a")], &facts()), Err(TokenGap::OtherService("team-a".to_owned())));
    assert_eq!(by_token(&[token("team-a"), token("payments")], &facts()), Ok(()), "one of two suffices");
}

#[test]
fn description_alone_proves_nothing() {
    let by_hand = ListedToken { auth_method: None, ..token("payments") };
    let of_another_task =
        ListedToken { description: login_token(1, cluster("prod").as_str(), 2).description, ..token("payments") };
    let of_another_cluster =
        ListedToken { description: login_token(1, cluster("blue").as_str(), 1).description, ..token("payments") };
    for unfit in [by_hand, of_another_task, of_another_cluster] {
        assert_eq!(by_token(&[unfit], &facts()), Err(TokenGap::NoToken));
    }
}

#[test]
fn grant_counts_in_its_own_datacenter_partition_and_namespace() {
    let mut elsewhere = token("payments");
    elsewhere.grants.services[0].datacenters = vec!["dc2".to_owned()];
    assert!(by_token(&[elsewhere], &facts()).is_err());
    let team = Tenancy::default_namespace_of("team".parse().unwrap());
    let gap = by_token_in(&[token("payments")], &facts(), &team, true).unwrap_err();
    assert!(
        gap.to_string().starts_with("its login token grants this name in partition default, namespace default"),
        "{gap}"
    );
    assert_eq!(
        by_token_in(&[ListedToken { tenancy: team.clone(), ..token("payments") }], &facts(), &team, false),
        Ok(())
    );
}

#[test]
fn global_token_counts_only_for_a_task_of_this_consul() {
    let global = ListedToken { is_local: false, ..token("payments") };
    assert_eq!(by_token(std::slice::from_ref(&global), &facts()), Err(TokenGap::OtherDatacenter));
    assert_eq!(by_token_in(&[global], &facts(), &Tenancy::Community, true), Ok(()));
}

#[test]
fn role_proves_by_its_identities_and_not_by_its_policies() {
    let mut linked = token("unused");
    linked.grants = Grants { roles: vec!["r".to_owned()], ..Grants::default() };
    let with =
        |grants: Grants| TokenFacts { roles: [((Tenancy::Community, "r".to_owned()), grants)].into(), ..facts() };
    assert_eq!(by_token(std::slice::from_ref(&linked), &with(token("payments").grants)), Ok(()));
    let hcl = Grants { policies: vec!["all-services".to_owned()], ..Grants::default() };
    let gap = by_token(&[linked], &with(hcl)).unwrap_err();
    assert!(matches!(&gap, TokenGap::OnlyPolicies { policies, .. } if policies == "all-services, r"), "{gap}");
    assert!(gap.to_string().contains("${entity_tags.consul.hashicorp.com.service-name}"), "{gap}");
}

const ROLE: &str = "arn:aws:iam::123456789012:role/consul-ecs/payments";

/// What of a login is changed in an example.
struct Login {
    config: LoginConfig,
    method: AuthMethod,
    role: &'static str,
    iam: Option<IamRole>,
    tenancy: Tenancy,
    created: Timestamp,
}

fn login_of_payments() -> Login {
    let tagged = format!("${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}}");
    Login {
        config: LoginConfig { method: "iam".to_owned(), datacenter: None, hosts: Some("Consul.internal".to_owned()) },
        method: AuthMethod {
            kind: "aws-iam".to_owned(),
            has_entity_details: true,
            entity_tags: vec![SERVICE_NAME_ENTITY_TAG.to_owned(), NAMESPACE_ENTITY_TAG.to_owned()],
            principals: vec!["arn:aws:iam::123456789012:role/consul-ecs/*".to_owned()],
            namespace_rules: Vec::new(),
            binding_rules: vec![BindingRule {
                bind_type: "service".to_owned(),
                bind_name: tagged,
                selector: String::new(),
            }],
        },
        role: ROLE,
        iam: Some(IamRole {
            arn: ROLE.parse().unwrap(),
            created_at: Timestamp::from_second(1_000).unwrap(),
            tags: [(SERVICE_NAME_ENTITY_TAG.to_owned(), "payments".to_owned())].into(),
        }),
        tenancy: Tenancy::Community,
        created: Timestamp::from_second(2_000).unwrap(),
    }
}

fn by_role(change: impl FnOnce(&mut Login)) -> Result<(), RoleGap> {
    let mut login = login_of_payments();
    change(&mut login);
    let (cluster, task, hosts) = (cluster("prod"), task_id(1), BTreeSet::from(["consul.internal".to_owned()]));
    let claim = Claim { cluster: &cluster, task: &task, service: "payments", tenancy: &login.tenancy };
    let role = login.role.parse().ok();
    claim.proven_by_role(&RoleFacts {
        login: Some(&login.config),
        consul_hosts: &hosts,
        datacenter: "dc1",
        method: Some(&login.method),
        role: role.as_ref(),
        task_created_at: Some(login.created),
        iam: login.iam.as_ref().map_or(RoleReading::Unread, RoleReading::Read),
    })
}

#[test]
fn role_that_the_auth_method_lets_log_in_as_the_service_proves_it() {
    assert_eq!(by_role(|_| {}), Ok(()));
    let exact = |login: &mut Login| login.method.principals = vec![ROLE.to_owned()];
    assert_eq!(by_role(exact), Ok(()));
}

#[test]
fn role_proves_nothing_if_one_condition_is_not_met() {
    let role = || ROLE.parse::<RoleArn>().unwrap();
    let method = || "iam".to_owned();
    assert_eq!(by_role(|login| login.role = "payments"), Err(RoleGap::NoRole));
    assert_eq!(
        by_role(|login| login.config.datacenter = Some("dc2".to_owned())),
        Err(RoleGap::OtherDatacenter("dc2".to_owned()))
    );
    for hosts in [None, Some("other.internal"), Some("exec=discover -q addrs"), Some("")] {
        assert_eq!(
            by_role(|login| login.config.hosts = hosts.map(str::to_owned)),
            Err(RoleGap::OtherConsul),
            "{hosts:?}"
        );
    }
    assert_eq!(by_role(|login| login.method.kind = "jwt".to_owned()), Err(RoleGap::OtherMethod(method())));
    assert_eq!(by_role(|login| login.method.has_entity_details = false), Err(RoleGap::OtherMethod(method())));
    assert_eq!(by_role(|login| drop(login.method.entity_tags.pop())), Err(RoleGap::OtherMethod(method())));
    for principal in ["arn:aws:iam::123456789012:role/other/*", "arn:aws:iam::123456789012:role/consul-ecs/pay"] {
        assert_eq!(
            by_role(|login| login.method.principals = vec![principal.to_owned()]),
            Err(RoleGap::NotBound(role()))
        );
    }
    for change in [
        (|rule| rule.selector = "entity_name == \"x\"".to_owned()) as fn(&mut BindingRule),
        |rule| rule.bind_type = "policy".to_owned(),
        |rule| rule.bind_name = "payments".to_owned(),
    ] {
        assert_eq!(by_role(|login| change(&mut login.method.binding_rules[0])), Err(RoleGap::NoBindingRule(method())));
    }
    assert_eq!(by_role(|login| login.iam = None), Err(RoleGap::Unread(role())));
    let moved = |login: &mut Login| login.iam.as_mut().unwrap().arn = ROLE.replace("consul-ecs", "x").parse().unwrap();
    assert_eq!(by_role(moved), Err(RoleGap::Missing(role())));
    assert_eq!(by_role(|login| login.created = Timestamp::from_second(1_000).unwrap()), Err(RoleGap::Young(role())));
    let retagged = |login: &mut Login| {
        login.iam.as_mut().unwrap().tags.insert(SERVICE_NAME_ENTITY_TAG.to_owned(), "team-a".to_owned());
    };
    assert!(matches!(by_role(retagged), Err(RoleGap::OtherService { tag, .. }) if tag == "team-a"));
}

#[test]
fn namespace_is_that_of_the_tag_by_the_rule_of_consul_ecs() {
    let by_rule = |tag: Option<&str>, own: &str, rules: &[(&str, &str)]| {
        by_role(|login| {
            login.tenancy = Tenancy::Enterprise { partition: "p".parse().unwrap(), namespace: own.parse().unwrap() };
            login.method.namespace_rules =
                rules.iter().map(|(selector, name)| ((*selector).to_owned(), (*name).to_owned())).collect();
            if let Some(tag) = tag {
                login.iam.as_mut().unwrap().tags.insert(NAMESPACE_ENTITY_TAG.to_owned(), tag.to_owned());
            }
        })
    };
    let selector = format!(r#"entity_tags["{NAMESPACE_ENTITY_TAG}"] != """#);
    let name = format!("${{entity_tags.{NAMESPACE_ENTITY_TAG}}}");
    let rule = [(selector.as_str(), name.as_str())];
    assert_eq!(by_rule(Some("shop"), "shop", &rule), Ok(()));
    assert_eq!(by_rule(None, "default", &rule), Ok(()));
    assert_eq!(by_rule(Some("shop"), "default", &[]), Ok(()), "without a rule every login is in default");
    let elsewhere = Err(RoleGap::OtherNamespace(ROLE.parse().unwrap()));
    assert_eq!(by_rule(Some("shop"), "default", &rule), elsewhere);
    assert_eq!(by_rule(Some("shop"), "shop", &[]), elsewhere);
    assert_eq!(by_rule(Some("shop"), "shop", &[("", "shop")]), elsewhere, "a rule that consul-ecs does not create");
    // And a configuration without a namespace is of the namespace default
    let without = by_role(|login| {
        login.method.namespace_rules = vec![(selector.clone(), name.clone())];
        login.iam.as_mut().unwrap().tags.insert(NAMESPACE_ENTITY_TAG.to_owned(), "shop".to_owned());
    });
    assert_eq!(without, elsewhere);
}

#[test]
fn a_path_is_judged_without_the_account_and_the_name() {
    let method = |entry: &str| AuthMethod { principals: vec![entry.to_owned()], ..AuthMethod::default() };
    for (entry, path, expected) in [
        ("arn:aws:iam::123456789012:role/consul-ecs/*", "/consul-ecs/", true),
        ("arn:aws:iam::123456789012:role/consul-ecs/*", "/consul-ecs/team/", true),
        ("arn:aws:iam::123456789012:role/consul-ecs/web-*", "/consul-ecs/", true),
        ("arn:aws:iam::123456789012:role/consul-ecs/web", "/consul-ecs/", true),
        ("arn:aws:iam::123456789012:role/*", "/", true),
        ("arn:aws:iam::*", "/", true),
        ("arn:aws:iam::123456789012:role/consul-ecs/*", "/", false),
        ("arn:aws:iam::123456789012:role/consul-ecs/team/*", "/consul-ecs/", false),
        ("arn:aws:iam::123456789012:role/consul-ecs/web", "/", false),
        ("arn:aws:iam::123456789012:user/consul-ecs/*", "/consul-ecs/", false),
    ] {
        assert_eq!(method(entry).may_bind_in(path), expected, "{entry} {path}");
    }
}
