//! Services that ECS refuses. Each mistake has a harmless change next to it.

use crate::reading::{findings_in, ids};

const TEMPLATE: &str = r#"Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: web
      NetworkMode: awsvpc
      RequiresCompatibilities: [FARGATE, EC2]
      Cpu: 256
      Memory: 512
      ContainerDefinitions:
        - { Name: web, Image: "example/web:1", PortMappings: [{ ContainerPort: 8080 }] }
  Service:
    Type: AWS::ECS::Service
    Properties:
      Cluster: shop
      TaskDefinition: !Ref Task
      LaunchType: FARGATE
      EnableECSManagedTags: true
      DeploymentConfiguration: { DeploymentCircuitBreaker: { Enable: true, Rollback: true } }
      NetworkConfiguration:
        AwsvpcConfiguration: { Subnets: [subnet-1], AssignPublicIp: DISABLED }
      LoadBalancers: [{ ContainerName: web, ContainerPort: 8080, TargetGroupArn: !Ref Given }]
"#;

const LAUNCH: &str = "      LaunchType: FARGATE\n";

const ON_EC2: (&str, &str) = ("[FARGATE, EC2]", "[EC2]");
const NO_NETWORK: (&str, &str) = (
    "      NetworkConfiguration:\n        AwsvpcConfiguration: { Subnets: [subnet-1], AssignPublicIp: DISABLED }\n",
    "",
);

#[test]
fn a_service_has_what_its_launch_type_and_network_allow() {
    assert_eq!(ids(&findings_in("template.yaml", TEMPLATE)), [""; 0]);
    let bridge = "NetworkMode: bridge";
    for (changes, expected) in [
        // Fargate has no instances to choose from.
        (&[(LAUNCH, "      LaunchType: FARGATE\n      PlacementStrategies: [{ Type: spread }]\n")][..], "ecs-service"),
        (
            &[(LAUNCH, "      LaunchType: FARGATE\n      PlacementConstraints: [{ Type: distinctInstance }]\n")],
            "ecs-service",
        ),
        (
            &[(
                LAUNCH,
                "      CapacityProviderStrategy: [{ CapacityProvider: FARGATE }]\n      PlacementStrategies: [{ Type: spread }]\n",
            )],
            "ecs-service",
        ),
        (&[(LAUNCH, "      LaunchType: EC2\n      PlacementStrategies: [{ Type: spread }]\n")], ""),
        (&[(LAUNCH, "      LaunchType: EC2\n      PlacementStrategies: [{ Type: spred }]\n")], "ecs-service"),
        (&[(LAUNCH, "      LaunchType: EC2\n      PlatformVersion: LATEST\n")], "ecs-service"),
        (&[(LAUNCH, "      LaunchType: FARGATE\n      PlatformVersion: LATEST\n")], ""),
        // Roles.
        (&[(LAUNCH, "      LaunchType: FARGATE\n      Role: ecsServiceRole\n")], "ecs-service"),
        (
            &[
                (LAUNCH, "      LaunchType: EC2\n      Role: ecsServiceRole\n"),
                ("NetworkMode: awsvpc", bridge),
                ON_EC2,
                NO_NETWORK,
            ],
            "",
        ),
        (
            &[
                (LAUNCH, "      LaunchType: EC2\n      Role: ecsServiceRole\n"),
                ("NetworkMode: awsvpc", bridge),
                ON_EC2,
                NO_NETWORK,
                (
                    "      LoadBalancers: [{ ContainerName: web, ContainerPort: 8080, TargetGroupArn: !Ref Given }]\n",
                    "",
                ),
            ],
            "ecs-service",
        ),
        // Networks and deployments.
        (&[(LAUNCH, "      LaunchType: EC2\n"), ("NetworkMode: awsvpc", bridge), ON_EC2], "ecs-service"),
        (
            &[("{ DeploymentCircuit", "{ MinimumHealthyPercent: 150, MaximumPercent: 120, DeploymentCircuit")],
            "ecs-service",
        ),
        (&[("{ DeploymentCircuit", "{ MinimumHealthyPercent: 100, MaximumPercent: 120, DeploymentCircuit")], ""),
        (
            &[(LAUNCH, "      SchedulingStrategy: DAEMON\n      DeploymentController: { Type: CODE_DEPLOY }\n")],
            "ecs-service",
        ),
        // Words, ranges and keys of the API.
        (&[("LaunchType: FARGATE", "LaunchType: Fargate")], "ecs-service"),
        (&[("AssignPublicIp: DISABLED", "AssignPublicIp: false")], "ecs-service"),
        (&[("AssignPublicIp: DISABLED", "AssignPublicIp: ENABLED")], ""),
        (&[("AssignPublicIp: DISABLED", "AssignPublicIP: DISABLED")], "ecs-service"),
        (&[("Enable: true, Rollback", "Rollback")], "ecs-service"),
        (&[(LAUNCH, "      PropagateTags: TASK\n")], "ecs-service"),
        (&[(LAUNCH, "      PropagateTags: SERVICE\n")], ""),
        (&[(LAUNCH, "      CapacityProviderStrategy: [{ CapacityProvider: FARGATE, Weight: 1001 }]\n")], "ecs-service"),
        (&[(LAUNCH, "      CapacityProviderStrategy: [{ CapacityProvider: FARGATE, Weight: \"1\" }]\n")], ""),
        // Service Connect has no abbreviations in capitals.
        (
            &[(
                LAUNCH,
                "      ServiceConnectConfiguration: { Enabled: true, Services: [{ PortName: web, Tls: { KmsKey: key, IssuerCertificateAuthority: { AwsPcaAuthorityArn: arn } } }] }\n",
            )],
            "",
        ),
        (
            &[(
                LAUNCH,
                "      ServiceConnectConfiguration: { Enabled: true, Services: [{ PortName: web, TLS: { KmsKey: key, IssuerCertificateAuthority: { AwsPcaAuthorityArn: arn } } }] }\n",
            )],
            "ecs-service",
        ),
        // A key of next year.
        (&[(LAUNCH, "      Hibernation: { Enabled: true }\n")], ""),
    ] {
        let broken = changes.iter().fold(TEMPLATE.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        assert_eq!(ids(&findings_in("template.yaml", &broken)).join(" "), expected, "{changes:?}");
    }
}
