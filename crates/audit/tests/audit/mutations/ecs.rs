//! ECS's own rules: start order, health checks, timeouts, secrets.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

pub(super) const TABLES: &[Table] =
    &[Table { bases: &[Base::Plain], rows: START }, Table { bases: &[Base::Plain], rows: VALUES }];

const START: &[Mutation] = &[
    with("report / dependsOn[migrate].containerName", r#""missing""#, "ecs-dependency-unknown"),
    with("report / dependsOn[migrate].condition", r#""READY""#, "ecs-dependency-condition"),
    with("report / dependsOn[migrate].condition", r#""HEALTHY""#, "ecs-dependency-health"),
    with("report / dependsOn[migrate].condition", r#""COMPLETE""#, ""),
    with("report / dependsOn[migrate].condition", r#""START""#, ""),
    without("report / dependsOn", "ecs-start-timeout-unused"),
    // Containers are essential by default.
    without("migrate / essential", "ecs-dependency-essential"),
    with("migrate / essential", "true", "ecs-dependency-essential"),
    without("cache / healthCheck", "ecs-dependency-health"),
    with("cache / dependsOn", r#"[{"containerName": "report", "condition": "START"}]"#, "ecs-dependency-cycle"),
    with("cache / dependsOn", r#"[{"containerName": "cache", "condition": "START"}]"#, "ecs-dependency-cycle"),
    with("cache / dependsOn", r#"[{"containerName": "migrate", "condition": "SUCCESS"}]"#, ""),
    with("cache / startTimeout", "3", "ecs-start-timeout-too-short"),
    with("report / startTimeout", "60", "ecs-start-timeout-unused"),
    with("cache / name", r#""migrate""#, "ecs-container-name-duplicate ecs-dependency-unknown"),
    with("containerDefinitions[report-2]", r#"{"name": "report", "image": "x"}"#, "ecs-container-name-duplicate"),
];

const VALUES: &[Mutation] = &[
    with("report / stopTimeout", "121", "ecs-timeout-range"),
    with("report / stopTimeout", "1", "ecs-timeout-range"),
    with("report / stopTimeout", "121", "").given(&[("requiresCompatibilities", r#"["EC2"]"#)]),
    with("cache / startTimeout", "121", "ecs-timeout-range"),
    with("cache / healthCheck.command", r#"["redis-cli ping"]"#, "ecs-health-check-command"),
    with("cache / healthCheck.command", r#"["CMD", "redis-cli ping"]"#, "ecs-health-check-command"),
    with("cache / healthCheck.command", r#"["CMD", "redis-cli", "ping"]"#, ""),
    with("cache / healthCheck.command", "[]", "ecs-health-check-command"),
    with("cache / healthCheck.interval", "4", "ecs-health-check-range"),
    with("cache / healthCheck.retries", "11", "ecs-health-check-range"),
    without("executionRoleArn", "ecs-secrets-execution-role"),
    with(
        "migrate / secrets[DATABASE_URL].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url""#,
        "ecs-secret-reference",
    ),
    with(
        "migrate / secrets[DATABASE_URL].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url:::""#,
        "ecs-secret-reference",
    ),
    with("migrate / secrets[DATABASE_URL].valueFrom", r#""arn:aws:s3:::bucket/key""#, "ecs-secret-reference"),
    with("migrate / secrets[DATABASE_URL].valueFrom", r#""report-db""#, ""),
    with("report / entryPoint", r#"["/bin/sh", "-c", "prepare; serve"]"#, "ecs-shell-entry-point"),
    with("report / entryPoint", r#"["/bin/sh", "-c", "prepare; exec serve"]"#, ""),
    // The mesh's tag on a task without the mesh's containers.
    with("tags", r#"[{"key": "consul.hashicorp.com/mesh", "value": "true"}]"#, "consul-mesh-tag-alone"),
    with("tags", r#"[{"key": "team", "value": "reports"}]"#, ""),
];
