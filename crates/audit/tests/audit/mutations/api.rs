//! ECS's API: keys and values that it refuses, and what Fargate does not have.

pub(super) const TABLE: &str = r#"
@logs report / logConfiguration = {"logDriver": "awslogs", "options": {"awslogs-group": "reports", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "report"}}

[Plain]
// Keys that are nearly ECS's, and keys of another map or of another program.
ecs-unknown-key: cache / portMapping = [{"containerPort": 6379}]
ecs-unknown-key: cache / healthCheck.intervall = 30
ecs-unknown-key: cache / startPeriod = 30
ecs-unknown-key: cache / ports = [6379]
ecs-unknown-key: cache / portMappings = [{"port": 6379}]
ecs-unknown-key: cache / env = [{"name": "A", "value": "b"}]
ecs-unknown-key: cache / logConfiguration = {"logDriver": "json-file", "max-size": "10m", "options": {}}
  given requiresCompatibilities = ["EC2"]
ecs-unknown-key: cache / environment = [{"key": "A", "value": "b"}]
ecs-unknown-key: cache / secrets = [{"name": "A", "value": "b"}]
ecs-unknown-key: volume = [{"name": "data"}]
ecs-unknown-key: containerDefinition = []
ecs-unknown-key: essential = true
// A key with more or less at its ends, and parameters of a service.
ecs-unknown-key: cache / healthCheck.intervalSeconds = 30
ecs-unknown-key: cache / containerImage = "redis:7"
ecs-unknown-key: executionRole = "reports"
ecs-unknown-key: launchType = "FARGATE"
ecs-unknown-key: desiredCount = 2
// A key of next year, and what describe-task-definition adds.
ok: monitoring = {"enabled": true}
ok: volumeConfigurations = []
ok: cache / checkpointing = {"enabled": true}
ok: cache / healthCheck.startInterval = 5
ok: cache / portMappings = [{"containerPort": 6379, "loadBalancing": "none"}]
ok: revision = 3
ok: registeredBy = "arn:aws:iam::123456789012:user/reports"
ok: enableFaultInjection = true
// The volumes of S3 Files.
ok: volumes = [{"name": "data", "s3filesVolumeConfiguration": {"fileSystemArn": "arn:aws:s3files:us-east-1:123456789012:file-system/fs-1"}}]
// Single values.
ecs-value: requiresCompatibilities = ["Fargate"] ["FARGET"] ["FARGATE_SPOT"]
ok: requiresCompatibilities = ["FARGATE", "MANAGED_INSTANCES"] ["FARGATE", "EC2"]
ecs-value: networkMode = "awsvcp"
  given requiresCompatibilities = ["EC2"]
ok: networkMode = "bridge" "none" "nat"
  given requiresCompatibilities = ["EC2"]
ecs-value: cache / portMappings = [{"containerPort": 6379, "protocol": "http"}]
  or [{"containerPort": 70700}]
  or [{"containerPort": 6379, "appProtocol": "gprc"}] [{"containerPort": 6379, "name": "Redis"}]
  or [{"containerPortRange": "8010-8000"}] [{"containerPortRange": "8000"}]
  or [{"containerPort": 6379, "containerPortRange": "8000-8010"}]
ok: cache / portMappings = [{"containerPort": 6379, "protocol": "TCP"}]
  or [{"containerPort": 6379, "protocol": "udp", "name": "redis-1"}]
  or [{"containerPort": 6379, "appProtocol": "http2"}, {"containerPortRange": "8000-8010"}]
ecs-value: cache / logConfiguration = {"logDriver": "awslog", "options": {"awslogs-group": "report", "awslogs-region": "eu-west-1", "awslogs-stream-prefix": "cache"}}
  given requiresCompatibilities = ["EC2"]
ok: cache / logConfiguration = {"logDriver": "loki"} {"logDriver": "syslog"} {"logDriver": "loki", "options": {"mode": "any"}}
  or {"logDriver": "json-file", "options": {"splunk-format": "xml"}}
  given requiresCompatibilities = ["EC2"]
ecs-value: cache / logConfiguration = {"logDriver": "splunk", "options": {"splunk-format": "xml"}}
ecs-value: cache / logConfiguration = {"options": {}}
ecs-value: cache / ulimits = [{"name": "nofiles", "softLimit": 1, "hardLimit": 2}]
  or [{"name": "nofile", "softLimit": 3, "hardLimit": 2}] [{"name": "nofile", "softLimit": 3}]
ok: cache / ulimits = [{"name": "core", "softLimit": 0, "hardLimit": -1}]
ecs-value: cache / image = "redis: 7" "https://docker.io/redis:7" "example/Redis:7" "redis:" absent
ok: cache / image = "redis" "localhost:5000/redis@sha256:0123456789abcdef" "REDIS_IMAGE" "__IMAGE__" "$IMAGE"
  or "Registry/redis:7" "~image~"
ecs-value: family = "nightly.report" "nightly report"
ecs-value: ephemeralStorage = {"sizeInGiB": 20} {"sizeInGiB": 201} {}
ok: ephemeralStorage = {"sizeInGiB": 21}
ecs-value: runtimePlatform = {"cpuArchitecture": "arm64"} {"operatingSystemFamily": "LINUXX"}
ok: runtimePlatform = {"operatingSystemFamily": "WINDOWS_SERVER_2031_CORE", "cpuArchitecture": "X86_64"}
ecs-value: volumes = [{"name": "my data"}]
  or [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "transitEncryption": "ENABLE"}}]
  or [{"name": "data", "efsVolumeConfiguration": {"transitEncryption": "ENABLED"}}]
ok: volumes = [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "transitEncryption": "ENABLED", "authorizationConfig": {"iam": "ENABLED"}}}]
ecs-value: cache / memoryReservation = 300
  given cache / memory = 256
ecs-value: cache / memory = 1024
ok: cache / memory = 512
  given cache / memoryReservation = 512
ecs-value: cache / mountPoints = [{"sourceVolume": "data", "containerPath": "data"}]
  given volumes = [{"name": "data"}]
ok: cache / mountPoints = [{"sourceVolume": "data", "containerPath": "/data"}] [{"sourceVolume": "data", "containerPath": "C:\\data"}]
  given volumes = [{"name": "data"}]
ecs-value: cache / restartPolicy = {"enabled": true, "restartAttemptPeriod": 30}
ecs-value: cache / linuxParameters = {"capabilities": {"drop": ["NET_ROW"]}}
ok: cache / linuxParameters = {"capabilities": {"drop": ["ALL", "BPF"]}}
ecs-value: volumes = [{"name": "data"}, {"name": "data"}]
  or [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "authorizationConfig": {"iam": "ENABLED"}}}]
  or [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "authorizationConfig": {"accessPointId": "fsap-1"}, "transitEncryption": "DISABLED"}}]
ecs-value: cache / mountPoints = [{"sourceVolume": "data", "containerPath": "/data"}, {"sourceVolume": "more", "containerPath": "/data"}]
  given volumes = [{"name": "data"}, {"name": "more"}]
ecs-duplicate-key: tags = [{"key": "team", "value": "a"}, {"key": "team", "value": "b"}]
ecs-value: containerDefinitions = []
// Files, paths, options and regions.
ecs-value: cache / environmentFiles = [{"value": "arn:aws:s3:::reports/cache.txt", "type": "s3"}] [{"value": "s3://reports/cache.env", "type": "s3"}]
ok: cache / environmentFiles = [{"value": "arn:aws:s3:::reports/cache.env", "type": "s3"}] [{"value": "$FILE", "type": "s3"}]
ecs-value: cache / workingDirectory = "data"
ok: cache / workingDirectory = "/data" ""
ecs-value: cache / portMappings = [{"hostPort": 6379}]
ecs-value: volumes = [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "data"}}]
  or [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "transitEncryption": "ENABLED", "rootDirectory": "/data", "authorizationConfig": {"accessPointId": "fsap-1"}}}]
ok: volumes = [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "transitEncryption": "ENABLED", "rootDirectory": "/", "authorizationConfig": {"accessPointId": "fsap-1"}}}]
ecs-value: report / logConfiguration.options.mode = "nonblocking"
  given @logs
ecs-value: report / logConfiguration.options.awslogs-region = "us-east1"
  given @logs
ecs-value: report / logConfiguration.options.max-buffer-size = "25 megabytes"
  given @logs
ecs-value: report / logConfiguration.options.awslogs-create-group = "yes"
  given @logs
ok: report / logConfiguration.options.mode = "non-blocking" "blocking"
  given @logs
ok: report / logConfiguration.options.max-buffer-size = "25m" "4096" "1MiB"
  given @logs
// The options of FireLens are those of the output.
ok: report / logConfiguration = {"logDriver": "awsfirelens", "options": {"Name": "http", "compress": "gzip", "mode": "json", "max-size": "big"}}
  given cache / firelensConfiguration = {"type": "fluentbit"}
ecs-fargate-properties: cache / firelensConfiguration = {"type": "fluentbit", "options": {"config-file-type": "s3"}}
ok: cache / firelensConfiguration = {"type": "fluentbit", "options": {"config-file-type": "file"}}
// What Fargate does not have.
ecs-fargate-properties: cache / privileged = true
ecs-fargate-properties: cache / dockerSecurityOptions = ["no-new-privileges"]
ecs-fargate-properties: cache / linuxParameters = {"devices": [{"hostPath": "/dev/fuse"}]} {"capabilities": {"add": ["NET_ADMIN"]}}
ecs-fargate-properties: cache / logConfiguration = {"logDriver": "json-file"}
ecs-fargate-properties: cache / resourceRequirements = [{"type": "GPU", "value": "1"}] [{"type": "NeuronDevice", "value": "1"}]
ecs-fargate-properties: volumes = [{"name": "data", "host": {"sourcePath": "/data"}}]
  or [{"name": "data", "dockerVolumeConfiguration": {"scope": "task"}}]
ecs-fargate-properties: pidMode = "host"
ecs-fargate-properties: ipcMode = "task"
ecs-fargate-properties: networkMode = "bridge" absent
ok: cache / privileged = false
// ecspresso fills in the values.
ok: networkMode = "{{ env `NETWORK` `awsvpc` }}"
ok: cache / logConfiguration = {"logDriver": "{{ env `DRIVER` `awslogs` }}"}
ok: cache / linuxParameters = {"capabilities": {"add": ["SYS_PTRACE"]}, "devices": []}
ok: pidMode = "task"
ok: volumes = [{"name": "data", "host": {}}]
ok: cache / privileged = true
  given requiresCompatibilities = ["EC2"]
ecs-fargate-size: cpu = "300" absent "one"
ecs-fargate-size: memory = "4096" "1536" absent "much"
ecs-fargate-size: cache / cpu = 512
ok: cpu = ".25 vCPU" "0.25 vcpu"
ok: memory = "1024" "0.5GB" "2 GB"
ok: cpu = "32768"
ok: cpu = absent
  given requiresCompatibilities = ["EC2"]
// Options of log drivers.
ecs-log-options: report / logConfiguration.options = {} {"awslogs-group": "reports"}
  or {"awslogs-group": "reports", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "report", "awslogs-datetime-fmt": "x"}
  or {"awslogs-grop": "reports", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "report"}
  or {"awslogs-group": "reports", "awslogs-region": "us-east-1", "awslogs-prefix": "report"}
  given @logs
ok: report / logConfiguration.options = {"awslogs-group": "reports"}
  given @logs
  given requiresCompatibilities = ["EC2"]
ok: report / logConfiguration.options = {"awslogs-group": "reports", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "report", "mode": "non-blocking", "awslogs-create-group": "true"}
  given @logs
ecs-log-options: report / logConfiguration = {"logDriver": "awsfirelens"}
ok: report / logConfiguration = {"logDriver": "awsfirelens"}
  given cache / firelensConfiguration = {"type": "fluentbit"}
// Names and ports that are there twice, and volumes that are not there.
ecs-volume-unknown: cache / mountPoints = [{"sourceVolume": "date", "containerPath": "/data"}]
  given volumes = [{"name": "data"}]
ecs-port-twice: cache / portMappings = [{"containerPort": 8080}] [{"containerPortRange": "8000-8100"}]
  or [{"containerPort": 6379}, {"containerPort": 6379}]
  given report / portMappings = [{"containerPort": 8080}]
ok: cache / portMappings = [{"containerPort": 8080, "protocol": "udp"}] [{"containerPort": 6379}]
  given report / portMappings = [{"containerPort": 8080}]
ok: cache / portMappings = [{"containerPort": 8080, "hostPort": 0}] [{"containerPort": 8080}]
  given report / portMappings = [{"containerPort": 8080, "hostPort": 80}]
  given networkMode = "bridge"
  given requiresCompatibilities = ["EC2"]
ecs-port-twice: cache / portMappings = [{"containerPort": 6379, "hostPort": 80}]
  given report / portMappings = [{"containerPort": 8080, "hostPort": 80}]
  given networkMode = "bridge"
  given requiresCompatibilities = ["EC2"]
ecs-variable-twice: migrate / environment = [{"name": "DATABASE_URL", "value": "postgres://db"}]
ok: migrate / environment = [{"name": "DATABASE_HOST", "value": "db"}]
ecs-essential: report / essential = false
ecs-health-check-command: cache / healthCheck.command = ["CMD_SHELL", "redis-cli ping"] ["SHELL", "redis-cli ping"] ["CMD-SHEL", "redis-cli ping"]
ok: cache / healthCheck.command = ["CHECK", "redis"]
"#;
