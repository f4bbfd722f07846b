//! ECS's own rules: start order, health checks, timeouts, secrets.

pub(super) const TABLE: &str = r#"
@logs report / logConfiguration = {"logDriver": "awslogs", "options": {"awslogs-group": "reports", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "report"}}

[Plain]
ecs-dependency-unknown: report / dependsOn[migrate].containerName = "missing"
// Other references between containers.
ecs-dependency-unknown: report / volumesFrom = [{"sourceContainer": "assets"}]
ok: report / volumesFrom = [{"sourceContainer": "cache"}]
ecs-dependency-unknown: report / links = ["redis:cache"]
  given networkMode = "bridge"
  given requiresCompatibilities = ["EC2"]
ok: report / links = ["cache:redis"]
  given networkMode = "bridge"
  given requiresCompatibilities = ["EC2"]
ecs-dependency-condition: report / dependsOn[migrate].condition = "READY"
ecs-dependency-health: report / dependsOn[migrate].condition = "HEALTHY"
ok: report / dependsOn[migrate].condition = "COMPLETE" "START"
ecs-start-timeout-unused: report / dependsOn = absent
// Containers are essential by default.
ecs-dependency-essential: migrate / essential = absent true
ecs-dependency-health: cache / healthCheck = absent
ecs-dependency-cycle: cache / dependsOn = [{"containerName": "report", "condition": "START"}]
  or [{"containerName": "cache", "condition": "START"}]
ok: cache / dependsOn = [{"containerName": "migrate", "condition": "SUCCESS"}]
ecs-start-timeout-too-short: cache / startTimeout = 3
ecs-start-timeout-unused: report / startTimeout = 60
ecs-container-name-duplicate ecs-dependency-unknown: cache / name = "migrate"
ecs-container-name: migrate / name = absent
ecs-container-name ecs-dependency-unknown: cache / name = "the cache" "cache.1"
ecs-container-name-duplicate: containerDefinitions[report-2] = {"name": "report", "image": "x"}
ecs-timeout-range: report / stopTimeout = 121 1
ok: report / stopTimeout = 121
  given requiresCompatibilities = ["EC2"]
ecs-timeout-range: cache / startTimeout = 121
ecs-health-check-command: cache / healthCheck.command = ["redis-cli ping"] ["CMD", "redis-cli ping"] []
  or ["cmd-shell", "redis-cli ping"] ["Cmd", "redis-cli", "ping"]
  or ["CMD", "redis-cli", "ping", "||", "exit", "1"] ["redis-cli", "ping", "||", "exit 1"]
ok: cache / healthCheck.command = ["CMD", "redis-cli", "ping"]
ecs-health-check-range: cache / healthCheck.interval = 4
ecs-health-check-range: cache / healthCheck.retries = 11
ecs-secrets-execution-role: executionRoleArn = absent
ecs-logs-execution-role: executionRoleArn = absent
  given @logs
  given migrate / secrets = []
ok: executionRoleArn = absent
  given @logs
  given migrate / secrets = []
  given requiresCompatibilities = ["EC2"]
ecs-secret-reference: migrate / secrets[DATABASE_URL].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url"
  or "arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url:::" "arn:aws:s3:::bucket/key"
ok: migrate / secrets[DATABASE_URL].valueFrom = "report-db" "report-db:3" "/report/db/url"
  or "arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd"
  or "arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd::AWSPREVIOUS:"
  or "arn:aws-cn:ssm:cn-north-1:123456789012:parameter/report/db/url"
ecs-shell-entry-point: report / entryPoint = ["/bin/sh", "-c", "prepare; serve"] ["/bin/sh", "-c", "serve & wait"]
  or ["/bin/sh", "-c", "prepare 'a;b'; serve"] ["/bin/sh", "-c", "prepare 2>&1; serve"]
// Shells that forward signals, or run one program.
ok: report / entryPoint = ["/bin/sh", "-c", "prepare; exec serve"] ["/bin/sh", "-c", "serve"]
  or ["/bin/sh", "-c", "trap 'kill $!' TERM; serve & wait"]
// Quotes and redirections do not separate commands.
  or ["/bin/sh", "-c", "nginx -g 'daemon off;'"] ["/bin/sh", "-c", "java $JAVA_OPTS -jar /app.jar 2>&1"]
  or ["/bin/sh", "-c", "serve &> /dev/null"] ["/bin/sh", "-c", "curl 'http://x/?a=1&b=2'"]
  or ["/bin/sh", "-c", "serve --greeting \"a \\\"b\\\"; c\""] ["/bin/sh", "-c", "serve --until \\;"]
// The image's entry point is not known.
ok: report / command = ["sh", "-c", "prepare; serve"]
// The mesh's tag on a task without the mesh's containers.
consul-mesh-tag-alone: tags = [{"key": "consul.hashicorp.com/mesh", "value": "true"}]
ok: tags = [{"key": "team", "value": "reports"}]
"#;
