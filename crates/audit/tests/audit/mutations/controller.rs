//! The controller of consul-ecs.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

pub(super) const TABLES: &[Table] = &[Table { bases: &[Base::Controller], rows: CONTROLLER }];

const CONTROLLER: &[Mutation] = &[
    with("consul-ecs-controller / image", r#""hashicorp/consul:latest""#, "consul-ecs-image"),
    // A mirror may have any name.
    with("consul-ecs-controller / image", r#""registry.example.com/mesh/controller:5""#, ""),
    with("consul-ecs-controller / image", r#""hashicorp/consul-ecs:0.10.1-fips1402""#, "consul-fips-tag"),
    // Up to 0.6, the controller has another command.
    with("consul-ecs-controller / image", r#""hashicorp/consul-ecs:0.6.0""#, "consul-image-generation"),
    with("consul-ecs-controller / command", r#"["acl-controller"]"#, "consul-image-generation"),
    // The ACL controller has flags.
    without("consul-ecs-controller / environment", "").given(&[
        ("consul-ecs-controller / command", r#"["acl-controller"]"#),
        ("consul-ecs-controller / image", r#""hashicorp/consul-ecs:0.6.0""#),
    ]),
    without("consul-ecs-controller / environment", "consul-config-missing"),
    without("consul-ecs-controller / command", "consul-controller-command"),
    with("consul-ecs-controller / command", r#"["mesh-init"]"#, "consul-controller-command"),
    with("consul-ecs-controller / entryPoint", r#"["/bin/sh", "-c", "consul-ecs controller"]"#, ""),
    without("consul-ecs-controller / command", "")
        .given(&[("consul-ecs-controller / entryPoint", r#"["/bin/consul-ecs", "controller"]"#)]),
    // Without the module's name, its configuration and command show what it is.
    with("consul-ecs-controller / name", r#""controller""#, "")
        .given(&[("consul-ecs-controller / image", r#""registry.example.com/mesh/controller:5""#)]),
    with(
        "consul-ecs-controller / environment[CONSUL_HTTP_TOKEN]",
        r#"{ "name": "CONSUL_HTTP_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }"#,
        "consul-credential-in-plain",
    ),
    without("config.consulServers.hosts", "consul-config-schema"),
    with("config.controller.partitionsEnabled", r#""true""#, "consul-config-schema"),
    with("config.consulServers.http.httpz", "true", "consul-config-ignored"),
    with("config.transparentProxy", "{}", "consul-config-version")
        .given(&[("consul-ecs-controller / image", r#""hashicorp/consul-ecs:0.7.3""#)]),
    without("consul-ecs-controller / secrets[CONSUL_GRPC_CACERT_PEM]", "consul-ca-certificates"),
    with("config.consulServers.grpc.caCertFile", r#""/certs/ca.pem""#, "")
        .given(&[("consul-ecs-controller / secrets[CONSUL_GRPC_CACERT_PEM].name", r#""OTHER""#)]),
    without("executionRoleArn", "ecs-secrets-execution-role"),
    // It is not a task of the mesh.
    with("networkMode", r#""host""#, ""),
    with("consul-ecs-controller / essential", "false", ""),
];
