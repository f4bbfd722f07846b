//! Injected definitions have no findings, in every notation.

use std::sync::Arc;

use super::*;
use crate::{Material, audit, fix::apply, input::read_source, source::SourceFile};

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

fn options(target: Target) -> Options {
    Options {
        target,
        service_name: None,
        port: None,
        consul_hosts: "consul.example.internal".to_owned(),
        datacenter: "dc1".to_owned(),
        upstreams: vec!["stock:1234".parse().unwrap()],
        ca_secret: Some("arn:aws:secretsmanager:us-east-1:123456789012:secret:ca-AbCdEf".to_owned()),
        acls: true,
        token_secrets: Some(TokenSecrets {
            client: "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-AbCdEf:token::"
                .to_owned(),
            service: "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-orders-AbCdEf:token::".to_owned(),
        }),
        task_role: Some("arn:aws:iam::123456789012:role/consul-ecs/orders".to_owned()),
        images: Images::of(target),
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
    apply(text, definition.dialect, &inject(definition, options).unwrap()).unwrap()
}

#[test]
fn an_injected_definition_has_no_findings() {
    for target in [Target::Dataplane, Target::Client] {
        for (name, text) in [("task.json", ECS), ("template.yaml", CLOUDFORMATION)] {
            for (acls, ca_secret) in [(true, options(target).ca_secret), (false, None)] {
                let options = Options { ca_secret, acls, ..options(target) };
                let text = injected(name, text, &options);
                // The support of every release with client agents has ended.
                let is_meant = |id: &str| target == Target::Dataplane || id != "consul-end-of-support";
                let findings = audit(&read(name, &text));
                let findings = findings.iter().filter(|finding| is_meant(finding.rule.id));
                let shown: Vec<String> =
                    findings.map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect();
                assert!(shown.is_empty(), "{target:?} {name}: {shown:#?}\n{text}");
            }
        }
    }
}

#[test]
fn everything_else_is_unchanged() {
    let text = injected("template.yaml", CLOUDFORMATION, &options(Target::Dataplane));
    for kept in ["Orders:  # ours", "!GetAtt Execution.Arn", "Image: !Ref Image"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn missing_parameters_are_errors() {
    let error = |text: &str, options: &Options| inject(&read("task.json", text).definitions[0], options).unwrap_err();
    let dataplane = options(Target::Dataplane);
    assert_eq!(
        error(&ECS.replace("9090, \"hostPort\": 0", "9090 }, { \"containerPort\": 9091"), &dataplane),
        InjectError::SeveralPorts(vec![9090, 9091])
    );
    assert_eq!(error(&ECS.replace(r#"{ "containerPort": 9090, "hostPort": 0 }"#, ""), &dataplane), InjectError::NoPort);
    assert_eq!(error(ECS, &Options { task_role: None, ..dataplane.clone() }), InjectError::NoTaskRole);
    assert_eq!(error(&ECS.replace("executionRoleArn", "ignored"), &dataplane), InjectError::NoExecutionRole);
    assert!(matches!(error(&ECS.replace("Orders", "my orders"), &dataplane), InjectError::ServiceName(_)));
    assert!(matches!(error(crate::example::Base::Client.json(), &dataplane), InjectError::InAMesh(_)));
    assert!("stock".parse::<Upstream>().is_err() && "stock:0".parse::<Upstream>().is_err());
}
