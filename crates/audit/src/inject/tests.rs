//! Injected definitions have no findings, in every notation.

use std::sync::Arc;

use super::*;
use crate::{
    audit,
    fix::apply,
    subject::Release,
    versions::{Program, newest_for},
};
use audit_read::{Material, input::read_source};
use document::SourceFile;

const ECS: &str = r#"{
  "family": "Orders",
  "networkMode": "bridge",
  "executionRoleArn": "arn:aws:iam::123456789012:role/orders-execution",
  "containerDefinitions": [
    {
      "name": "orders",
      "image": "example/orders:2",
      "portMappings": [{ "containerPort": 9090, "hostPort": 0 }],
      "healthCheck": { "command": ["CMD-SHELL", "curl -f localhost:9090"] },
      "stopTimeout": 60
    }
  ]
}
"#;

const CLOUDFORMATION: &str = "Resources:
  Orders:  # ours
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: orders
      ExecutionRoleArn: !GetAtt Execution.Arn
      ContainerDefinitions:
        - Name: orders
          Image: !Ref Image
          PortMappings:
            - ContainerPort: 9090
";

fn options() -> Options {
    Options {
        service_name: None,
        port: None,
        consul_hosts: "consul.example.internal".to_owned(),
        upstreams: vec!["stock:1234".parse().unwrap()],
        ca_secret: Some("arn:aws:secretsmanager:us-east-1:123456789012:secret:ca-AbCdEf".to_owned()),
        acls: true,
        task_role: Some("arn:aws:iam::123456789012:role/consul-ecs/orders".to_owned()),
        images: Images::newest(),
    }
}

#[test]
fn what_ecs_refuses_is_not_written() {
    for (from, to, refusal) in [
        (r#""stopTimeout": 60"#, r#""links": ["db"]"#, "orders has links, which ECS refuses with awsvpc"),
        (r#""stopTimeout": 60"#, r#""hostname": "orders""#, "orders has hostname, which ECS refuses with awsvpc"),
        (
            r#""stopTimeout": 60"#,
            r#""extraHosts": [{ "hostname": "db", "ipAddress": "10.0.0.1" }]"#,
            "orders has extraHosts, which ECS refuses with awsvpc",
        ),
        (
            r#""stopTimeout": 60"#,
            r#""dnsServers": ["10.0.0.2"]"#,
            "orders has dnsServers, which ECS refuses with awsvpc",
        ),
        (
            r#""stopTimeout": 60"#,
            r#""dnsSearchDomains": ["internal"]"#,
            "orders has dnsSearchDomains, which ECS refuses with awsvpc",
        ),
        (
            r#""stopTimeout": 60"#,
            r#""disableNetworking": true"#,
            "orders has disableNetworking, which ECS refuses with awsvpc",
        ),
        (
            r#""family": "Orders","#,
            r#""family": "Orders", "runtimePlatform": { "operatingSystemFamily": "WINDOWS_SERVER_2022_CORE" },"#,
            "the task runs on WINDOWS_SERVER_2022_CORE",
        ),
        (
            r#""family": "Orders","#,
            r#""family": "Orders", "requiresCompatibilities": ["EXTERNAL"],"#,
            "the task is for external instances",
        ),
    ] {
        let text = ECS.replace(from, to);
        assert!(text != ECS, "{from}");
        let error = inject(&read("orders.json", &text).definitions[0], &Resources::default(), &options())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(refusal), "{error}");
    }
    let harmless = [
        r#""hostname": """#,
        r#""links": []"#,
        r#""extraHosts": []"#,
        r#""dnsServers": []"#,
        r#""dnsSearchDomains": []"#,
        r#""disableNetworking": false"#,
    ];
    for harmless in harmless {
        let text = ECS.replace(r#""stopTimeout": 60"#, harmless);
        assert!(
            inject(&read("orders.json", &text).definitions[0], &Resources::default(), &options()).is_ok(),
            "{harmless}"
        );
    }
}

fn read(name: &str, text: &str) -> Material {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new(name, text)), true, &mut material).unwrap();
    material
}

fn injected(name: &str, text: &str, options: &Options) -> String {
    let material = read(name, text);
    let definition = &material.definitions[0];
    apply(text, definition.dialect, &inject(definition, &material.resources, options).unwrap().edits).unwrap()
}

#[test]
fn an_injected_definition_has_no_findings() {
    for (name, text) in [("task.json", ECS), ("template.yaml", CLOUDFORMATION)] {
        for (acls, ca_secret) in [(true, options().ca_secret), (false, None)] {
            let options = Options { ca_secret, acls, ..options() };
            let text = injected(name, text, &options);
            let findings = audit(&read(name, &text));
            let shown: Vec<String> =
                findings.iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect();
            assert!(shown.is_empty(), "{name}: {shown:#?}\n{text}");
        }
    }
}

const LOGGING: &str = "        - Name: agent
          Image: example/agent:1
          Essential: false
          LogConfiguration:
            LogDriver: json-file
        - Name: orders
          Image: !Ref Image
          LogConfiguration:
            LogDriver: awslogs
            Options:
              awslogs-group: !Ref Logs
              awslogs-region: !Sub ${AWS::Region}
              awslogs-stream-prefix: orders
";

#[test]
fn the_mesh_s_containers_log_where_the_app_does() {
    let template = CLOUDFORMATION.replace("        - Name: orders\n          Image: !Ref Image\n", LOGGING);
    let text = injected("template.yaml", &template, &options());
    assert_eq!(text.matches("awslogs-stream-prefix: orders").count(), 4, "the app, and three containers:\n{text}");
    assert_eq!(text.matches("json-file").count(), 1);
    assert!(!text.contains("Awslogs"), "{text}");

    // The router waits for the proxy, so that the proxy does not wait for the router.
    let routed = template.replace("LogDriver: awslogs", "LogDriver: awsfirelens").replace("json-file", "awsfirelens");
    let text = injected("template.yaml", &routed, &options());
    assert_eq!(text.matches("awsfirelens").count(), 2, "{text}");

    // The router's own log is not the app's.
    let firelens = LOGGING
        .replace("LogDriver: json-file", "LogDriver: json-file\n          FirelensConfiguration: { Type: fluentbit }");
    let firelens = firelens.replace("LogDriver: awslogs", "LogDriver: awsfirelens");
    let template = CLOUDFORMATION.replace("        - Name: orders\n          Image: !Ref Image\n", &firelens);
    let text = injected("template.yaml", &template, &options());
    assert_eq!((text.matches("json-file").count(), text.matches("awsfirelens").count()), (1, 1), "{text}");
}

#[test]
fn a_log_router_does_not_wait_for_the_proxy() {
    let router =
        r#"{ "name": "router", "image": "example/fluent-bit:1", "firelensConfiguration": { "type": "fluentbit" } },"#;
    let text = ECS.replace("\"containerDefinitions\": [", &format!("\"containerDefinitions\": [ {router}"));
    let json: Value = serde_json::from_str(&injected("task.json", &text, &options())).unwrap();
    let containers = json["containerDefinitions"].as_array().unwrap();
    assert_eq!((&containers[0]["name"], containers[0].get("dependsOn")), (&json!("router"), None));
    assert_eq!(containers[1]["dependsOn"][0]["containerName"], "consul-dataplane");
}

#[test]
fn containers_reserve_memory_where_ecs_requires_it() {
    let reserved = |name: &str, text: &str| injected(name, text, &options()).matches("emoryReservation").count();
    assert_eq!(reserved("task.json", ECS), 3, "on EC2");
    assert_eq!(reserved("template.yaml", CLOUDFORMATION), 3, "on EC2");
    let sized = ECS.replace("\"networkMode\"", "\"memory\": \"512\", \"networkMode\"");
    assert_eq!(reserved("task.json", &sized), 0, "the containers share the task's memory");
    let sized = CLOUDFORMATION.replace("Family:", "Memory: !Ref Memory\n      Family:");
    assert_eq!(reserved("template.yaml", &sized), 0);
}

#[test]
fn logs_are_found_in_any_document_of_a_file() {
    let ecs = "family: orders
taskRoleArn: arn:aws:iam::123456789012:role/orders
executionRoleArn: arn:aws:iam::123456789012:role/orders-execution
containerDefinitions:
  - name: orders
    image: example/orders:2
    portMappings: [{ containerPort: 9090 }]
    logConfiguration: { logDriver: awslogs, options: { awslogs-group: second } }
";
    let first = ecs.replace("second", "first").replace("family: orders", "family: web");
    let text = format!("{first}---\n{ecs}");
    let material = read("tasks.yaml", &text);
    let definition = &material.definitions[1];
    let edits = inject(definition, &material.resources, &options()).unwrap().edits;
    let text = apply(&text, definition.dialect, &edits).unwrap();
    assert_eq!((text.matches("awslogs-group: first").count(), text.matches("second").count()), (1, 4), "{text}");
}

#[test]
fn only_health_sync_is_restarted_and_has_a_read_only_root_file_system() {
    let text = injected("task.json", ECS, &options());
    let json: Value = serde_json::from_str(&text).unwrap();
    for field in ["restartPolicy", "readonlyRootFilesystem"] {
        let containers = json["containerDefinitions"].as_array().unwrap().iter();
        let with = containers.filter(|container| container.get(field).is_some());
        assert_eq!(with.map(|container| &container["name"]).collect::<Vec<_>>(), ["consul-ecs-health-sync"], "{field}");
    }
}

#[test]
fn images_go_together() {
    let newest = Images::newest();
    let newest_for = |consul: &[Release]| newest_for(Program::ConsulEcs, consul, |_| true).unwrap();
    let image = |consul: &[Release]| format!("public.ecr.aws/hashicorp/consul-ecs:{}", newest_for(consul));
    assert_eq!(newest.consul_ecs, image(&[]));
    assert_eq!(newest.dataplane, "hashicorp/consul-dataplane:2.0.4");
    let older = Images::of_consul_ecs("registry.example.com/consul-ecs:0.9.4").unwrap();
    assert_eq!(older.dataplane, "hashicorp/consul-dataplane:1.9.12");
    let of_servers = Images::of_consul("1.22".parse().unwrap()).unwrap();
    assert_eq!(of_servers.consul_ecs, image(&[Release::line(1, 22)]));
    assert_eq!(of_servers.dataplane, "hashicorp/consul-dataplane:1.9.12");
    let unknown = Images::of_consul_ecs("registry.example.com/ours:latest").unwrap();
    assert_eq!(unknown.dataplane, newest.dataplane);
}

#[test]
fn servers_without_known_images_are_refused() {
    for servers in ["1.11", "1.14", "1.15", "1.16", "1.17"] {
        let error = Images::of_consul(servers.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("supported: 2.0, 1.22, 1.21, 1.20, 1.19, 1.18)"), "{error}");
    }
}

#[test]
fn a_release_with_other_containers_is_refused() {
    let image = |tag: &str| format!("hashicorp/consul-ecs:{tag}");
    for tag in ["0.2.0", "0.3.0", "0.5.2", "0.6.2", "0.7.3"] {
        let error = Images::of_consul_ecs(&image(tag)).unwrap_err();
        assert_eq!(error, InjectError::OtherContainers(image(tag)), "{tag}");
    }
    for tag in ["0.8.0-rc1", "0.8.1", "v0.10.1-fips1403", "1.0.0", "latest"] {
        assert_eq!(Images::of_consul_ecs(&image(tag)).unwrap().consul_ecs, image(tag), "{tag}");
    }
}

#[test]
fn everything_else_is_unchanged() {
    let text = injected("template.yaml", CLOUDFORMATION, &options());
    for kept in ["Orders:  # ours", "!GetAtt Execution.Arn", "Image: !Ref Image"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn missing_parameters_are_errors() {
    let error = |text: &str, options: &Options| {
        inject(&read("task.json", text).definitions[0], &Resources::default(), options).unwrap_err()
    };
    let options = options();
    assert_eq!(
        error(&ECS.replace("9090, \"hostPort\": 0", "9090 }, { \"containerPort\": 9091"), &options),
        InjectError::SeveralPorts(vec![9090, 9091])
    );
    assert_eq!(error(&ECS.replace(r#"{ "containerPort": 9090, "hostPort": 0 }"#, ""), &options), InjectError::NoPort);
    assert_eq!(error(ECS, &Options { task_role: None, ..options.clone() }), InjectError::NoTaskRole);
    assert_eq!(error(&ECS.replace("executionRoleArn", "ignored"), &options), InjectError::NoExecutionRole);
    assert!(matches!(error(&ECS.replace("Orders", "my orders"), &options), InjectError::ServiceName(_)));
    assert!(matches!(error(crate::example::Base::Client.json(), &options), InjectError::InAMesh(_)));
    assert!("stock".parse::<Upstream>().is_err() && "stock:0".parse::<Upstream>().is_err());
}

/// A definition of App Mesh in a template with these properties of its node's listener, its node and its route.
fn app_mesh(listener: &str, node: &str, route: &str) -> String {
    format!(
        "Resources:
  Reports:
    Type: AWS::AppMesh::VirtualNode
    Properties:
      MeshName: shop
      VirtualNodeName: reports
      Spec:
        Listeners: [{{ PortMapping: {{ Port: 8080, Protocol: http }}{listener} }}]
{node}
  Route:
    Type: AWS::AppMesh::Route
    Properties:
      MeshName: shop
      VirtualRouterName: reports
      RouteName: all
      Spec:
        HttpRoute: {{ Action: {{ WeightedTargets: [{{ VirtualNode: !GetAtt Reports.VirtualNodeName, Weight: 1 }}] }}{route} }}
  Other:
    Type: AWS::AppMesh::Route
    Properties:
      MeshName: shop
      VirtualRouterName: stock
      RouteName: other
      Spec:
        HttpRoute:
          Timeout: {{ PerRequest: {{ Unit: s, Value: 90 }} }}
          Action: {{ WeightedTargets: [{{ VirtualNode: stock, Weight: 1 }}] }}
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: reports
      NetworkMode: awsvpc
      ContainerDefinitions:
        - Name: app
          Image: example/reports:5
          MemoryReservation: 256
          PortMappings: [{{ ContainerPort: 8080 }}]
          LogConfiguration: {{ LogDriver: awslogs }}
        - Name: envoy
          Image: public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod
          MemoryReservation: 128
          Environment: [{{ Name: APPMESH_RESOURCE_ARN, Value: mesh/shop/virtualNode/reports }}]
"
    )
}

/// What an injection says of a template, without what it removed.
fn said(template: &str) -> Vec<String> {
    let material = read("template.yaml", template);
    let options = Options { acls: false, ca_secret: None, ..options() };
    let notes = inject(&material.definitions[0], &material.resources, &options).unwrap().notes;
    notes.into_iter().map(|(_, note)| note).filter(|note| !note.starts_with("removed ")).collect()
}

#[test]
fn the_timeouts_of_app_mesh_are_listed_with_the_entries_that_keep_them() {
    let sixty = "Timeout: { HTTP: { PerRequest: { Unit: s, Value: 60 }, Idle: { Unit: s, Value: 120 } } }";
    let route = "Timeout: { PerRequest: { Unit: ms, Value: 1500 } }";
    let lost = |what: &str| {
        format!(
            "the timeouts of {what} are not carried over: without entries such as these, Consul ends a request over HTTP after \
             15 s"
        )
    };
    let defaults = |limit: u64| {
        format!(
            r#"consul config write: {{"Kind":"service-defaults","Name":"reports","Protocol":"http","LocalRequestTimeoutMs":{limit}}}"#
        )
    };
    let router = |limit: &str| {
        let destination = format!(r#"{{"Destination":{{"RequestTimeout":"{limit}"}}}}"#);
        format!(r#"consul config write: {{"Kind":"service-router","Name":"reports","Routes":[{destination}]}}"#)
    };
    let both = said(&app_mesh(&format!(", {sixty}"), "", &format!(", {route}")));
    let of_both = "virtual node reports (60 s per request, 120 s idle) and of route all (1500 ms per request)";
    assert_eq!(both, [lost(of_both), defaults(60_000), router("1500ms")]);
    let unlimited = sixty.replace("Value: 60", "Value: \"0\"");
    let of_node = "virtual node reports (no limit per request, 120 s idle)";
    assert_eq!(said(&app_mesh(&format!(", {unlimited}"), "", "")), [lost(of_node), defaults(86_400_000)]);
    let minute = ", Timeout: { PerRequest: { Unit: s, Value: 60 } }";
    assert_eq!(said(&app_mesh("", "", minute)), [lost("route all (60 s per request)"), router("60s")]);
    assert_eq!(said(&app_mesh("", "", "")), [""; 0], "the default is the same");
}

#[test]
fn what_else_app_mesh_sets_is_listed() {
    let node = "        Backends: [{ VirtualService: { VirtualServiceName: stock.shop.local } }]";
    let retries = ", RetryPolicy: { MaxRetries: 2 }";
    let pool = ", ConnectionPool: { HTTP: { MaxConnections: 10 } }, OutlierDetection: { MaxServerErrors: 5 }";
    assert_eq!(
        said(&app_mesh(pool, node, retries)),
        [
            "not carried over: connectionPool, outlierDetection of virtual node reports, retryPolicy of route all",
            "the backends of virtual node reports need an upstream each, --upstream NAME:PORT: stock.shop.local",
        ]
    );
    let elsewhere = app_mesh("", "", "").replace("virtualNode/reports", "virtualNode/rates");
    assert_eq!(
        said(&elsewhere),
        [
            "virtual node rates is not in this file: its timeouts and backends, and the retries of its routes, are not carried \
          over"
        ]
    );
}

#[test]
fn a_task_with_reservations_only_keeps_them_after_app_mesh() {
    let text = injected("template.yaml", &app_mesh("", "", ""), &Options { acls: false, ca_secret: None, ..options() });
    assert_eq!(
        (text.matches("MemoryReservation: 256").count(), text.matches("MemoryReservation: 128").count()),
        (1, 3)
    );
    assert!(!text.contains(" Memory:") && !text.contains("envoy:"), "{text}");
}
