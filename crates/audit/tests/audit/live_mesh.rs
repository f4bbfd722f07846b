//! The rules `consul-live-…`: what they find next to a running mesh, and what they leave alone. The pages have one example each.

use std::sync::Arc;

use audit::{audit, live_mesh::questions};
use audit_read::{Material, input::read_source};
use document::SourceFile;
use mesh::tenancy::Tenancy;
use serde_json::{Value, json};

use crate::{
    example::Base,
    rule_pages::live::{live_findings, live_findings_in},
    template::template,
};

/// The definition of a service that calls others, with these upstreams.
fn calling(name: &str, upstreams: &Value) -> Value {
    let (name, upstreams) = (json!(name).to_string(), upstreams.to_string());
    let changes = [("config.service.name", Some(name.as_str())), ("config.proxy.upstreams", Some(upstreams.as_str()))];
    Base::Dataplane.with(changes.into_iter().chain([("family", Some(name.as_str()))])).unwrap()
}

/// A service that calls one other.
fn web(upstream: &Value) -> Value {
    calling("web", &json!([upstream]))
}

fn to(name: &str) -> Value {
    json!({ "destinationName": name, "localBindPort": 1234 })
}

fn material(definitions: &[Value]) -> Material {
    let mut material = Material::default();
    for (number, definition) in definitions.iter().enumerate() {
        let file = SourceFile::new(format!("{number}.json"), definition.to_string());
        read_source(Arc::new(file), true, &mut material).unwrap();
    }
    material
}

/// What rules about upstreams and a mesh find, with the severity.
fn found(definitions: &[Value], mesh: &Value) -> Vec<String> {
    let findings = live_findings(&material(definitions), mesh);
    let is_wanted = |id: &str| id.starts_with("consul-live-") || id == "consul-upstream-misspelt";
    let wanted = findings.iter().filter(|it| is_wanted(it.rule.id));
    wanted.map(|it| format!("{} {}: {}", it.rule.id, it.severity.as_str(), it.message)).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_upstream_is_missing_or_misspelt_or_there() {
    let mesh = json!({ "services": ["Billing", "consul", "orders", "stock-v2"],
        "upstreams": { "stock": { "leadsTo": ["stock-v2"] }, "cart": { "leadsTo": ["cart-v2"] } } });
    for (upstream, expected) in [
        ("orders", None),
        ("stock", None),
        ("order", Some("error: Consul has no service order; orders is one")),
        ("ORDERS", Some("error: Consul has no service ORDERS; orders is one")),
        ("billing", Some("error: Consul has no service billing; Billing is one")),
        // Another letter may be another service
        ("ordets", Some("warning: Consul has no service ordets; the nearest is orders")),
        ("stockv2", Some("warning: Consul has no service stockv2; the nearest is stock-v2")),
        ("payments", Some("warning: Consul has no service payments")),
        ("cart", Some("warning: Consul leads cart to cart-v2, and has no service of that name")),
    ] {
        let expected: Vec<String> = expected.iter().map(|it| format!("consul-live-upstream {it}")).collect();
        assert_eq!(found(&[web(&to(upstream))], &mesh), expected, "{upstream}");
    }
}

#[test]
fn a_service_of_the_same_input_is_there() {
    let mesh = json!({ "services": ["consul"] });
    let [web, payments] = [web(&to("payments")), calling("payments", &json!([]))];
    assert_eq!(found(&[web.clone(), payments], &mesh), NOTHING);
    // The static rule names the service of the input, and no second one does.
    let payment = calling("payment", &json!([]));
    let misspelt = "consul-upstream-misspelt warning: no service of this input is called payments; payment is";
    assert_eq!(found(&[web.clone(), payment.clone()], &mesh), [misspelt]);
    // If Consul has both, the upstream is what it says.
    assert_eq!(found(&[web, payment], &json!({ "services": ["payments"] })), NOTHING);
}

#[test]
fn a_name_that_is_known_only_at_deployment_may_be_the_missing_one() {
    let mesh = json!({ "services": ["consul"] });
    let mut files = material(&[web(&to("payments"))]);
    assert_eq!(live_findings(&files, &mesh).iter().filter(|it| it.rule.id == "consul-live-upstream").count(), 1);
    let mut unnamed = template(&calling("stock", &json!([])));
    name_at_deployment(&mut unnamed);
    read_source(Arc::new(SourceFile::new("stock.json", unnamed.to_string())), true, &mut files).unwrap();
    assert_eq!(live_findings(&files, &mesh).iter().filter(|it| it.rule.id == "consul-live-upstream").count(), 0);
}

/// Lets the parameter of a template name the service.
fn name_at_deployment(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(r#""name":"stock""#) => {
            *value = json!({ "Fn::Sub": text.replace(r#""name":"stock""#, r#""name":"${Given}""#) });
        }
        Value::Array(items) => items.iter_mut().for_each(name_at_deployment),
        Value::Object(fields) => fields.values_mut().for_each(name_at_deployment),
        _ => {}
    }
}

#[test]
fn what_another_cluster_answers_is_not_judged() {
    let mesh = json!({ "services": ["consul"], "denied": { "web → payments": "intention * → * denies them" } });
    for (key, value) in [
        ("datacenter", "dc2"),
        ("destinationPeer", "east"),
        ("destinationType", "prepared_query"),
        ("destinationPartition", "team"),
    ] {
        let mut upstream = to("payments");
        upstream[key] = json!(value);
        assert_eq!(found(&[web(&upstream)], &mesh), NOTHING, "{key}");
    }
}

#[test]
fn what_another_program_replaces_is_not_judged() {
    let mesh = json!({ "services": ["consul"], "authMethods": { "iam-ecs-service-token": {
        "type": "aws-iam", "boundIAMPrincipalARNs": ["arn:aws:iam::123456789012:role/mesh/*"],
        "bindName": "${entity_tags.consul.hashicorp.com.service-name}" } } });
    for (role, expected) in [("123456789012", 1), ("AWS_ACCOUNT_ID", 0)] {
        let role = format!(r#""arn:aws:iam::{role}:role/shop/web""#);
        let upstream = r#"[{"destinationName":"@@ORDERS@@","localBindPort":1234}]"#;
        let definition =
            Base::Dataplane.with([("taskRoleArn", Some(role.as_str())), ("config.proxy.upstreams", Some(upstream))]);
        assert_eq!(found(&[definition.unwrap()], &mesh).len(), expected, "{role}");
    }
}

#[test]
fn what_could_not_be_read_is_not_judged() {
    let wrong = Base::Dataplane
        .with([
            ("config.consulLogin.method", Some(r#""other""#)),
            ("config.proxy.upstreams", Some(r#"[{"destinationName":"oders","localBindPort":1234}]"#)),
        ])
        .unwrap();
    assert_eq!(found(std::slice::from_ref(&wrong), &json!({})), NOTHING);
    // Without a mesh, no rule about one says anything.
    assert!(audit(&material(&[wrong])).iter().all(|it| !it.rule.id.starts_with("consul-live-")));
}

#[test]
fn a_denied_call_is_found_unless_its_name_is_misspelt() {
    let mesh = json!({ "services": ["orders"], "denied": {
        "web → orders": "no intention is about them, and the default policy denies them",
        "web → oders": "no intention is about them, and the default policy denies them",
    } });
    let denied = "consul-live-intention error: Consul denies calls from web to orders: no intention is about them, and the default policy denies them";
    assert_eq!(found(&[web(&to("orders"))], &mesh), [denied]);
    assert_eq!(
        found(&[web(&to("oders"))], &mesh),
        ["consul-live-upstream error: Consul has no service oders; orders is one"]
    );
    // An intention for an unknown service would allow a misspelt name
    let mesh = json!({ "services": ["orders"], "denied": { "web → ordets": "intention * → * denies them" } });
    let missing = "consul-live-upstream warning: Consul has no service ordets; the nearest is orders";
    assert_eq!(found(&[web(&to("ordets"))], &mesh), [missing]);
    let with_input = found(&[web(&to("ordets")), calling("ordets", &json!([]))], &mesh);
    assert_eq!(
        with_input,
        ["consul-live-intention error: Consul denies calls from web to ordets: intention * → * denies them"]
    );
    // Another service may.
    let mesh = json!({ "services": ["orders"], "denied": { "web → orders": "intention * → * denies them" } });
    assert_eq!(found(&[calling("shop", &json!([to("orders")]))], &mesh), NOTHING);
}

#[test]
fn the_protocol_of_a_service_that_consul_does_not_have_is_not_compared() {
    let mut upstream = to("orders");
    upstream["config"] = json!({ "protocol": "http" });
    let files = [web(&upstream), calling("orders", &json!([]))];
    let differs =
        "consul-live-protocol warning: the upstream orders has the protocol http, but orders has tcp in Consul";
    assert_eq!(found(&files, &json!({ "services": ["orders"] })), [differs]);
    assert_eq!(found(&files, &json!({ "services": ["consul"] })), NOTHING);
    // A config entry leads the name elsewhere: Consul has its protocol.
    let led = json!({ "services": ["stock"], "upstreams": { "orders": { "leadsTo": ["stock"] } } });
    assert_eq!(found(&files, &led), [differs]);
}

#[test]
fn an_auth_method_is_judged_by_its_type_its_rules_and_its_principals() {
    let here = "arn:aws:iam::123456789012:role/consul-ecs/*";
    let tag = "${entity_tags.consul.hashicorp.com.service-name}";
    for (method, expected) in [
        (json!({ "type": "aws-iam", "boundIAMPrincipalARNs": [here], "bindName": tag }), None),
        (
            json!({ "type": "jwt", "boundIAMPrincipalARNs": [], "bindName": tag }),
            Some("the auth method iam-ecs-service-token is of type jwt, but the task logs in with its IAM role"),
        ),
        (
            json!({ "type": "aws-iam", "boundIAMPrincipalARNs": [here] }),
            Some("the auth method iam-ecs-service-token has no binding rule, so a login gets nothing"),
        ),
        (json!({ "type": "aws-iam", "boundIAMPrincipalARNs": [here], "roleOfOthers": "gateway" }), None),
    ] {
        let mesh = json!({ "authMethods": { "iam-ecs-service-token": method } });
        let expected: Vec<String> = expected.iter().map(|it| format!("consul-live-login error: {it}")).collect();
        assert_eq!(found(&[web(&to("orders"))], &mesh), expected, "{mesh}");
    }
    // The controller of the input creates the method of services, and no other one.
    let controller: Value = serde_json::from_str(Base::Controller.json()).unwrap();
    let without_rules = json!({ "type": "aws-iam", "boundIAMPrincipalARNs": [here] });
    for method in [Value::Null, without_rules] {
        let mesh = json!({ "authMethods": { "iam-ecs-service-token": method } });
        assert_eq!(found(&[web(&to("orders"))], &mesh).len(), 1, "{mesh}");
        assert_eq!(found(&[web(&to("orders")), controller.clone()], &mesh), NOTHING, "{mesh}");
    }
    let other = Base::Dataplane.with([("config.consulLogin.method", Some(r#""iam-prod""#))]).unwrap();
    let missing = "consul-live-login error: Consul has no auth method iam-prod, at which the task logs in";
    assert_eq!(found(&[other, controller], &json!({ "authMethods": { "iam-prod": null } })), [missing]);
    // A task that does not log in needs no method.
    let mesh = json!({ "authMethods": { "iam-ecs-service-token": null } });
    let off = Base::Dataplane.with([("config.consulLogin.enabled", Some("false"))]).unwrap();
    assert_eq!(found(&[off], &mesh), NOTHING);
}

#[test]
fn the_path_of_a_role_that_the_input_declares_is_judged_by_the_method() {
    let mesh = json!({ "authMethods": { "iam-ecs-service-token": {
        "type": "aws-iam", "boundIAMPrincipalARNs": ["arn:aws:iam::123456789012:role/mesh/*"],
        "bindName": "${entity_tags.consul.hashicorp.com.service-name}" } } });
    let refused = "consul-live-login error: the auth method iam-ecs-service-token admits \
        arn:aws:iam::123456789012:role/mesh/*, and no task role with the path /consul-ecs/";
    assert_eq!(live_in(&with_role("/consul-ecs/", &json!({})), &mesh), [refused]);
    assert_eq!(live_in(&with_role("/mesh/", &json!({})), &mesh), NOTHING);
}

#[test]
fn the_tag_of_the_role_is_the_one_that_the_binding_rule_reads() {
    let mesh = |more: &Value| {
        let mut method = json!({ "type": "aws-iam", "boundIAMPrincipalARNs": ["arn:aws:iam::123456789012:role/consul-ecs/*"],
            "bindName": "${entity_tags.service}" });
        method.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "authMethods": { "iam-ecs-service-token": method } })
    };
    let missing = "the task role has no tag service, which the binding rule of auth method iam-ecs-service-token reads";
    let other = "the tag service gives the task the identity shop, but the task registers web";
    for (tags, more, expected) in [
        (json!({ "service": "web" }), json!({}), None),
        (json!({}), json!({}), Some(("error", missing))),
        (json!({ "service": "shop" }), json!({}), Some(("error", other))),
        // Another rule may grant what is missing.
        (json!({}), json!({ "roleOfOthers": "gateway" }), Some(("warning", missing))),
        // The names of computed identities are not known.
        (json!({}), json!({ "bindName": "${entity_tags.team}-${entity_tags.service}" }), None),
    ] {
        let expected: Vec<String> =
            expected.iter().map(|(severity, message)| format!("consul-live-identity {severity}: {message}")).collect();
        assert_eq!(live_in(&with_role("/consul-ecs/", &tags), &mesh(&more)), expected, "{tags} {more}");
    }
}

/// A template with a correct definition and its role, which has these tags more.
fn with_role(path: &str, tags: &Value) -> String {
    let mut template = template(&web(&to("orders")));
    let tags = tags.as_object().unwrap().iter().map(|(key, value)| json!({ "Key": key, "Value": value }));
    let own = json!({ "Key": "consul.hashicorp.com.service-name", "Value": "web" });
    let resources = template["Resources"].as_object_mut().unwrap();
    let task = resources.values_mut().find(|it| it["Type"] == "AWS::ECS::TaskDefinition").unwrap();
    task["Properties"]["TaskRoleArn"] = json!({ "Fn::GetAtt": ["Role", "Arn"] });
    let properties = json!({ "Path": path, "Tags": tags.chain([own]).collect::<Vec<_>>() });
    resources.insert("Role".to_owned(), json!({ "Type": "AWS::IAM::Role", "Properties": properties }));
    template.to_string()
}

/// What rules about a mesh find in a template.
fn live_in(template: &str, mesh: &Value) -> Vec<String> {
    let findings = live_findings_in("template.json", template, mesh);
    let live = findings.iter().filter(|it| it.rule.id.starts_with("consul-live-"));
    live.map(|it| format!("{} {}: {}", it.rule.id, it.severity.as_str(), it.message)).collect()
}

#[test]
fn releases_are_judged_by_the_line_of_the_servers() {
    let of = |version: &str| found(&[web(&to("orders"))], &json!({ "version": version }));
    assert_eq!(of("2.0.1"), NOTHING);
    assert_eq!(of("2.0.1+ent"), NOTHING);
    // The table does not know it.
    assert_eq!(of("1.8.7"), NOTHING);
    let expected = ["consul-ecs 0.10", "consul-dataplane 2.0"].map(|program| {
        format!("consul-live-release warning: {program} does not go with Consul 1.18, which the servers run")
    });
    assert_eq!(of("1.18.4"), expected);
}

#[test]
fn only_what_the_files_name_is_asked() {
    let files = material(&[
        calling(
            "web",
            &json!([to("orders"), to("stock"), { "destinationName": "east-db", "destinationPeer": "east", "localBindPort": 1 }]),
        ),
        calling("shop", &json!([to("orders")])),
    ]);
    let asked = questions(&files, &Tenancy::Community);
    let names: Vec<&str> = asked.upstreams.iter().map(|it| it.name.as_str()).collect();
    let calls: Vec<String> =
        asked.calls.iter().map(|it| format!("{} → {}", it.source.name, it.upstream.name)).collect();
    let methods: Vec<&str> = asked.methods.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["orders", "stock"]);
    assert_eq!(calls, ["shop → orders", "web → orders", "web → stock"]);
    assert_eq!(methods, ["iam-ecs-service-token"]);
    // Methods are read for the rules about logins.
    assert!(asked.clone().for_rules(|rule| rule.id != "consul-live-login").methods.len() == 1);
    let others = asked.for_rules(|rule| !["consul-live-login", "consul-live-identity"].contains(&rule.id));
    assert!(others.methods.is_empty() && others.upstreams.len() == 2);
    // A task outside the mesh asks nothing.
    let plain: Value = serde_json::from_str(Base::Plain.json()).unwrap();
    assert!(questions(&material(&[plain]), &Tenancy::Community).is_empty());
}

#[test]
fn a_name_without_a_partition_is_the_home_of_the_service() {
    let team: Tenancy = Tenancy::default_namespace_of("team".parse().unwrap());
    let files = material(&[web(&to("orders"))]);
    let place = |home: &Tenancy| questions(&files, home).upstreams.into_iter().next().unwrap().tenancy;
    assert_eq!((place(&team), place(&Tenancy::Community)), (team.clone(), Tenancy::Community));
    let named = Base::Dataplane
        .with([("config.service.partition", Some(r#""default""#)), ("config.service.namespace", Some(r#""default""#))]);
    let files = material(&[named.unwrap()]);
    let place = |home: &Tenancy| questions(&files, home).upstreams.into_iter().next().unwrap().tenancy;
    // Community Edition refuses requests that name the default ones.
    assert_eq!(place(&Tenancy::Community), Tenancy::Community);
    assert_eq!(place(&team), Tenancy::of_default_partition());
}
