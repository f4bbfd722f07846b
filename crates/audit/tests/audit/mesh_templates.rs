//! Resources of App Mesh in templates, beside the task definitions that they belong to.

use audit::{audit, finding::Finding};
use audit_read::input::{Gathered, gather};
use serde_json::{Value, json};

use crate::{
    example::Base,
    folder::Folder,
    mutations::mutations,
    plan::plan,
    reading::{findings, findings_in, ids, is_of_every_definition, shown},
    rule_pages::{Example, examples},
    template::template,
};

const MESH: &str = include_str!("../audit_inputs/mesh.yaml");

/// The rules that report that something is missing, or that it is only elsewhere.
const MISSING: [&str; 7] = [
    "appmesh-backend-missing",
    "appmesh-definition-resource",
    "appmesh-other-mesh",
    "appmesh-provider-missing",
    "appmesh-route-router-missing",
    "appmesh-route-target-missing",
    "appmesh-router-routes",
];

/// The findings of several files, without those about the end of App Mesh.
fn among(files: &[(&str, &str)]) -> Vec<&'static str> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let Gathered { material, .. } = gather(&[folder.path("")], &mut std::io::empty());
    let mut found = ids(&audit(&material));
    found.retain(|id| !is_of_every_definition(id));
    found
}

fn sorted(findings: &[Finding]) -> Vec<String> {
    let mut shown = shown(findings);
    shown.sort_unstable();
    shown
}

/// Every example and mutation of the exported resources.
fn exports() -> Vec<Value> {
    let is_export = |example: &Example| example.base == Some(Base::AppMeshResources) && example.notation == "json";
    let of_resources = examples().filter(is_export);
    let of_examples = of_resources.flat_map(|example| [example.wrong, example.right]);
    let of_mutations = mutations().filter(|(base, _)| *base == Base::AppMeshResources);
    of_examples.chain(of_mutations.map(|(base, mutation)| mutation.broken(base))).collect()
}

fn text(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn a_template_has_the_findings_of_its_exports() {
    let mut compared = 0;
    for export in exports() {
        let in_export = sorted(&findings(&export));
        let in_template = sorted(&findings_in("mesh.json", &text(&template(&export))));
        // A template does not show that other meshes do not exist.
        if in_export.iter().any(|finding| finding.contains("of mesh shops, which does not exist")) {
            assert_eq!(in_template, Vec::<String>::new());
            continue;
        }
        // A template has keys of its own spelling.
        let lower = |shown: &[String]| shown.iter().map(|finding| finding.to_lowercase()).collect::<Vec<_>>();
        assert_eq!(lower(&in_template), lower(&in_export), "{export:#}");
        compared += usize::from(!in_export.is_empty());
    }
    assert!(compared > 40, "{compared}");
}

/// The lists that are blocks with a name in the singular in Terraform.
const REPEATED: [&str; 4] = ["listeners", "backends", "weightedtargets", "headers"];

/// Findings without what Terraform spells in its own way.
fn without_spelling(shown: &[String]) -> Vec<String> {
    let plain = |finding: &String| {
        let joined = finding.to_lowercase().replace('_', "");
        REPEATED.iter().fold(joined, |text, list| text.replace(list, list.trim_end_matches('s')))
    };
    shown.iter().map(plain).collect()
}

#[test]
fn a_plan_has_the_findings_of_its_exports() {
    let mut compared = 0;
    let only_resources = |export: &&Value| export.as_array().unwrap().iter().all(|it| it.get("family").is_none());
    for export in exports().iter().filter(only_resources) {
        let in_export = sorted(&findings(export));
        let in_plan = sorted(&findings_in("plan.json", &text(&plan(export))));
        assert_eq!(without_spelling(&in_plan), without_spelling(&in_export), "{export:#}");
        compared += usize::from(!in_export.is_empty());
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn attributes_that_a_plan_does_not_know_are_unknown() {
    let intact: Value = serde_json::from_str(Base::AppMeshResources.json()).unwrap();
    let mut mesh_is_new = plan(&intact);
    let resources = mesh_is_new["planned_values"]["root_module"]["resources"].as_array_mut().unwrap();
    resources.retain_mut(|resource| {
        let values = resource["values"].as_object_mut().unwrap();
        values.get("mesh_name") != Some(&json!("shop")) || values.remove("mesh_name").is_some()
    });
    let changes = resources.iter().map(|resource| {
        let marks = json!({ "mesh_name": true, "id": true, "spec": [{}] });
        json!({ "address": resource["address"], "change": { "after_unknown": marks } })
    });
    let changes: Vec<Value> = changes.collect();
    // A node that does not exist: without its mesh, nothing shows that.
    mesh_is_new["resource_changes"] = changes.into();
    let broken = text(&mesh_is_new).replace("\"virtual_node\": \"orders\"", "\"virtual_node\": \"order\"");
    assert_ne!(broken, text(&mesh_is_new));
    assert_eq!(shown(&findings_in("plan.json", &broken)), [""; 0]);
    // Numbers and texts that are not set are zero and empty in a state.
    let unset = text(&plan(&intact)).replace("\"priority\": 10", "\"priority\": 0");
    assert_eq!(shown(&findings_in("plan.json", &unset)), [""; 0]);
}

const ROUTE: &str = r#"resource "aws_appmesh_route" "all" {
  name                = "all"
  mesh_name           = "shop"
  virtual_router_name = "orders"
  spec {
    grpc_route {
      action {
        weighted_target {
          virtual_node = "orders"
          weight       = 1
        }
      }
    }
  }
}
"#;

#[test]
fn terraform_sends_an_empty_match_for_routes_of_grpc() {
    let messages = |name: &str, text: &str| {
        let found = findings_in(name, text);
        let of_values = found.iter().filter(|finding| finding.rule.id == "appmesh-value");
        of_values.map(|finding| format!("{}: {}", finding.message, finding.help)).collect::<Vec<_>>()
    };
    let targets = json!([{ "weighted_target": [{ "virtual_node": "orders", "weight": 1 }] }]);
    let resource = json!({ "address": "aws_appmesh_route.all", "mode": "managed", "type": "aws_appmesh_route", "values": {
        "name": "all", "mesh_name": "shop", "virtual_router_name": "orders",
        "spec": [{ "grpc_route": [{ "action": targets, "match": [] }] }],
    } });
    let plan = text(&json!({
        "format_version": "1.2",
        "terraform_version": "1.9.8",
        "planned_values": { "root_module": { "resources": [resource] } },
    }));
    for (name, route) in [("main.tf", ROUTE), ("plan.json", plan.as_str())] {
        assert_eq!(messages(name, route), [""; 0], "{name}");
        assert_eq!(
            messages(name, &route.replace("grpc_route", "http_route")),
            ["spec.http_route.match of route all is missing: set spec.http_route.match"],
            "{name}"
        );
    }
}

/// Source: <https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/appmesh/route.go>
#[test]
fn the_prefix_of_a_grpc_route_is_no_path() {
    let matching =
        ROUTE.replace("      action {", "      match {\n        prefix = \"shop.Orders\"\n      }\n      action {");
    assert_ne!(matching, ROUTE);
    assert_eq!(of_values("main.tf", &matching), [""; 0]);
    let http = matching.replace("grpc_route", "http_route");
    assert_eq!(of_values("main.tf", &http), ["route all matches the prefix \"shop.Orders\""]);
}

#[test]
fn shared_meshes_of_two_accounts_may_have_one_name() {
    let node = |label: &str, owner: &str| {
        let arguments =
            format!("  name = \"orders\"\n  mesh_name = \"shop\"\n  mesh_owner = \"{owner}\"\n  spec {{}}\n");
        format!("resource \"aws_appmesh_virtual_node\" \"{label}\" {{\n{arguments}}}\n")
    };
    let of_owners = |one: &str, other: &str| of_values("main.tf", &(node("a", one) + &node("b", other)));
    assert_eq!(of_owners("111122223333", "444455556666"), [""; 0]);
    assert_eq!(of_owners("111122223333", "111122223333"), ["two resources are virtual node orders in one mesh"]);
}

#[test]
fn the_protocol_of_a_listener_may_be_a_parameter() {
    let template = |protocol: &str| {
        format!(
            r"Parameters:
  Protocol: {{Type: String, Default: http, AllowedValues: [http, grpc]}}
Resources:
  Node:
    Type: AWS::AppMesh::VirtualNode
    Properties:
      MeshName: shop
      VirtualNodeName: orders
      Spec:
        ServiceDiscovery: {{DNS: {{Hostname: orders.shop.local}}}}
        Listeners:
          - PortMapping: {{Port: 80, Protocol: {protocol}}}
            Timeout: {{GRPC: {{Idle: {{Unit: s, Value: 5}}}}}}
"
        )
    };
    assert_eq!(of_values("mesh.yaml", &template("!Ref Protocol")), [""; 0]);
    let found = of_values("mesh.yaml", &template("http"));
    assert_eq!(found, ["virtual node orders has a timeout for grpc in a listener for http"]);
}

/// The messages about values that App Mesh refuses.
fn of_values(name: &str, text: &str) -> Vec<String> {
    let found = findings_in(name, text);
    let of_values = found.iter().filter(|finding| finding.rule.id == "appmesh-value");
    of_values.map(|finding| finding.message.clone()).collect()
}

#[test]
fn references_within_a_template_are_known() {
    assert_eq!(shown(&findings_in("mesh.yaml", MESH)), [""; 0]);
    for (from, to, found) in [
        (
            "Port: 9080, Protocol: http}\n          HealthCheck",
            "Port: 9081, Protocol: http}\n          HealthCheck",
            "appmesh-listener-app-port",
        ),
        (
            "VirtualServiceName: !GetAtt Stock.VirtualServiceName",
            "VirtualServiceName: stock.local",
            "appmesh-backend-missing",
        ),
        ("VirtualNode: !GetAtt OrdersNode.VirtualNodeName", "VirtualNode: order", "appmesh-route-target-missing"),
        (
            "VirtualRouterName: !GetAtt OrdersRouter.VirtualRouterName\n      RouteName",
            "VirtualRouterName: order\n      RouteName",
            "appmesh-route-router-missing appmesh-router-routes",
        ),
        ("VirtualNodeName: !Sub '${StockNode.VirtualNodeName}'", "VirtualNodeName: stocks", "appmesh-provider-missing"),
        (
            "VirtualServiceName: !GetAtt Orders.VirtualServiceName",
            "VirtualServiceName: order.shop.local",
            "appmesh-route-target-missing",
        ),
        (
            "VirtualGatewayName: !GetAtt Gateway.VirtualGatewayName",
            "VirtualGatewayName: entry",
            "appmesh-route-router-missing",
        ),
        (
            "Protocol: http}\n        ServiceDiscovery:\n          DNS",
            "Protocol: tcp}\n        ServiceDiscovery:\n          DNS",
            "appmesh-node-protocol",
        ),
        ("Path: /health", "Path: !Ref AWS::NoValue", "appmesh-health-check"),
        // Abbreviations are in capitals.
        (
            "          HealthCheck:\n            Protocol",
            "          Tls: {Mode: DISABLED}\n          HealthCheck:\n            Protocol",
            "appmesh-value",
        ),
        (
            "          HealthCheck:\n            Protocol",
            "          TLS: {Mode: DISABLED}\n          HealthCheck:\n            Protocol",
            "",
        ),
        (
            "          HealthCheck:\n            Protocol",
            "          TLS: {Mode: STRICT}\n          HealthCheck:\n            Protocol",
            "appmesh-value",
        ),
        (
            "Value: !Ref OrdersNode",
            "Value: !Sub 'mesh/${Mesh.MeshName}/virtualNode/order'",
            "appmesh-definition-resource",
        ),
        ("Value: !Ref OrdersNode", "Value: !Ref Gateway", "appmesh-gateway-mixed"),
    ] {
        let broken = MESH.replace(from, to);
        assert_ne!(broken, MESH, "{from}");
        assert_eq!(ids(&findings_in("mesh.yaml", &broken)).join(" "), found, "{to}");
    }
}

#[test]
fn a_definition_s_node_may_be_in_another_file() {
    let (mesh, task) = MESH.split_once("  # The service\n").unwrap();
    let task = format!("Resources:\n{task}").replace("!Ref OrdersNode", "mesh/shop/virtualNode/orders");
    assert_eq!(among(&[("mesh.yaml", mesh), ("task.yaml", &task)]), [""; 0]);
    let other = task.replace("virtualNode/orders", "virtualNode/order");
    assert_eq!(among(&[("mesh.yaml", mesh), ("task.yaml", &other)]), ["appmesh-definition-resource"]);
    // Templates that only add to a mesh show nothing about its other resources.
    let part = mesh.replace("AWS::AppMesh::Mesh\n", "AWS::SNS::Topic\n").replace("!GetAtt Mesh.MeshName", "shop");
    assert_eq!(among(&[("mesh.yaml", &part), ("task.yaml", &other)]), [""; 0]);
}

#[test]
fn nothing_is_missing_if_a_file_cannot_be_read() {
    let mut reported = Vec::new();
    for export in exports() {
        let (export, template) = (text(&export), text(&template(&export)));
        for (name, input) in [("mesh.json", &export), ("template.json", &template)] {
            let missing = |files: &[(&str, &str)]| {
                let found = among(files).into_iter();
                found.filter(|id| MISSING.contains(id)).collect::<Vec<_>>()
            };
            reported.extend(missing(&[(name, input)]));
            assert_eq!(missing(&[(name, input), ("other.yaml", "Type: AWS::AppMesh::Mesh\n]")]), [""; 0], "{input}");
        }
    }
    reported.sort_unstable();
    reported.dedup();
    assert_eq!(reported, MISSING);
}

#[test]
fn nested_stacks_may_have_what_is_missing() {
    let broken =
        MESH.replace("VirtualServiceName: !GetAtt Stock.VirtualServiceName", "VirtualServiceName: stock.local");
    assert_eq!(ids(&findings_in("mesh.yaml", &broken)), ["appmesh-backend-missing"]);
    for kind in ["AWS::CloudFormation::Stack", "Shop::Mesh::Service::MODULE"] {
        let nested = format!("Resources:\n  Nested:\n    Type: {kind}\n");
        assert_eq!(ids(&findings_in("mesh.yaml", &broken.replace("Resources:\n", &nested))), [""; 0], "{kind}");
    }
}

#[test]
fn resources_under_a_condition_are_not_compared() {
    let export: Value = serde_json::from_str(Base::AppMeshResources.json()).unwrap();
    let whole = template(&export);
    let conditional = |kind: &str, change: &dyn Fn(&mut Value)| {
        let mut template = whole.clone();
        let resources = template["Resources"].as_object_mut().unwrap();
        let resource = resources.values_mut().find(|resource| resource["Type"] == kind).unwrap();
        resource["Condition"] = json!("IsGiven");
        change(resource);
        shown(&findings_in("mesh.json", &text(&template)))
    };
    for kind in ["Mesh", "VirtualNode", "VirtualRouter", "Route", "VirtualService"] {
        assert_eq!(conditional(&format!("AWS::AppMesh::{kind}"), &|_| {}), [""; 0], "{kind}");
    }
    // Its own values are checked.
    let weight = |route: &mut Value| {
        route["Properties"]["Spec"]["HttpRoute"]["Action"]["WeightedTargets"][0]["Weight"] = json!("101");
    };
    assert_eq!(
        conditional("AWS::AppMesh::Route", &weight),
        ["appmesh-route-weights: route all has a target with the weight 101"]
    );
}

#[test]
fn templates_of_two_environments_are_not_mixed() {
    let other = MESH.replace("9080", "9090").replace("8080", "8090").replace("RouteName: all", "RouteName: every");
    assert_eq!(among(&[("staging/mesh.yaml", &other), ("production/mesh.yaml", MESH)]), [""; 0]);
}

#[test]
fn a_resource_without_a_name_is_called_by_its_logical_id() {
    let unnamed =
        MESH.replace("      VirtualNodeName: orders\n", "").replace("Path: /health", "Path: !Ref AWS::NoValue");
    let found = findings_in("mesh.yaml", &unnamed);
    assert_eq!(
        shown(&found),
        ["appmesh-health-check: the health check of virtual node OrdersNode is over http and has no path"]
    );
    assert_eq!(found[0].subject, "virtual node OrdersNode");
}
