//! The maps of a task definition, with their keys and the values that ECS accepts. Sources:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html>,
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>,
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html>
//!
//! ECS's words are in `models`. `scripts/aws_shapes.py --check` also compares the keys with AWS's service model.

use std::sync::LazyLock;

use super::models;

/// A map of ECS's API.
#[derive(Debug)]
pub struct Shape {
    /// Where it is: `a container definition`, `healthCheck`.
    pub name: &'static str,
    /// Its keys, as ECS spells them.
    pub keys: &'static [Key],
}

/// A key of a map.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub accepts: Accepts,
    /// Whether ECS refuses the map without it.
    pub is_required: bool,
    pub on_fargate: OnFargate,
}

/// What Fargate supports of a key.
#[derive(Debug, Clone, Copy)]
pub enum OnFargate {
    /// As much as EC2 instances.
    Same,
    Nothing,
    /// These words.
    Only(&'static [&'static str]),
}

/// The values that ECS accepts at a key. What another rule judges is [`Accepts::Any`].
#[derive(Debug)]
pub enum Accepts {
    Any,
    /// A map with keys that the user or a driver chooses.
    Options,
    /// Such a map in which ECS reads some of the keys.
    OptionsOf(&'static Shape),
    /// The options of the log driver that stands next to them.
    LogOptions,
    Map(&'static Shape),
    Maps(&'static Shape),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, or of others that the table does not have.
    Known(&'static [&'static str]),
    /// A list of such words.
    EachOf(&'static [&'static str]),
    EachKnown(&'static [&'static str]),
    /// A whole number between these.
    Whole(u64, u64),
    /// A name of letters, digits, hyphens and underscores.
    Name,
    /// The name of a port: the same in lower case.
    PortName,
    /// A range of ports: `8000-8010`.
    PortRange,
    /// The reference of an image.
    Image,
    /// A path from the top.
    Path,
    /// The same, or an empty text.
    PathOrNone,
    /// A text that begins with one of these.
    Begins(&'static [&'static str]),
    /// The ARN of a file of variables in S3.
    VariableFile,
    /// A region of AWS.
    Region,
    /// A size in bytes, maybe with a unit of Docker: `25m`.
    Size,
    /// A list with items.
    Items(&'static Shape),
    /// A map with one of its keys.
    Union(&'static Shape),
    /// A list of texts or numbers.
    Texts,
    /// A list with at least and at most so many items.
    Counted(u64, u64, &'static Accepts),
    /// A text with at least and at most so many characters.
    Written(u64, u64),
    /// True or false.
    Flag,
}

pub(super) const fn key(name: &'static str, accepts: Accepts) -> Key {
    Key { name, accepts, is_required: false, on_fargate: OnFargate::Same }
}

pub(super) const fn must(name: &'static str, accepts: Accepts) -> Key {
    Key { name, accepts, is_required: true, on_fargate: OnFargate::Same }
}

impl Key {
    /// Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html>
    const fn not_on_fargate(self) -> Self {
        Self { on_fargate: OnFargate::Nothing, ..self }
    }

    const fn on_fargate(self, words: &'static [&'static str]) -> Self {
        Self { on_fargate: OnFargate::Only(words), ..self }
    }
}

const PORT: Accepts = Accepts::Whole(0, 65_535);

/// The task definition, with the keys that only `describe-task-definition` prints.
pub(super) static TASK: Shape = Shape {
    name: "the task definition",
    keys: &[
        key("family", Accepts::Name),
        key("taskRoleArn", Accepts::Any),
        key("executionRoleArn", Accepts::Any),
        key("networkMode", Accepts::OneOf(models::NETWORK_MODE)).on_fargate(&["awsvpc"]),
        key("containerDefinitions", Accepts::Items(&CONTAINER)),
        key("volumes", Accepts::Maps(&VOLUME)),
        key("placementConstraints", Accepts::Maps(&PLACEMENT_CONSTRAINT)).not_on_fargate(),
        key("requiresCompatibilities", Accepts::EachOf(models::COMPATIBILITY)),
        key("cpu", Accepts::Any),
        key("memory", Accepts::Any),
        key("tags", Accepts::Maps(&TAG)),
        key("pidMode", Accepts::OneOf(models::PID_MODE)).on_fargate(&["task"]),
        key("ipcMode", Accepts::OneOf(models::IPC_MODE)).not_on_fargate(),
        key("proxyConfiguration", Accepts::Map(&PROXY)),
        key("inferenceAccelerators", Accepts::Maps(&ACCELERATOR)).not_on_fargate(),
        key("ephemeralStorage", Accepts::Map(&EPHEMERAL_STORAGE)),
        key("runtimePlatform", Accepts::Map(&PLATFORM)),
        key("enableFaultInjection", Accepts::Any),
        key("taskDefinitionArn", Accepts::Any),
        key("revision", Accepts::Any),
        key("status", Accepts::Any),
        key("requiresAttributes", Accepts::Any),
        key("compatibilities", Accepts::Any),
        key("registeredAt", Accepts::Any),
        key("registeredBy", Accepts::Any),
        key("deregisteredAt", Accepts::Any),
        key("deleteRequestedAt", Accepts::Any),
    ],
};

static CONTAINER: Shape = Shape {
    name: "a container definition",
    keys: &[
        key("name", Accepts::Any),
        must("image", Accepts::Image),
        key("repositoryCredentials", Accepts::Map(&REPOSITORY_CREDENTIALS)),
        key("cpu", Accepts::Any),
        key("memory", Accepts::Whole(4, u64::MAX)),
        key("memoryReservation", Accepts::Whole(4, u64::MAX)),
        key("links", Accepts::Any),
        key("portMappings", Accepts::Maps(&PORT_MAPPING)),
        key("essential", Accepts::Any),
        key("restartPolicy", Accepts::Map(&RESTART_POLICY)),
        key("entryPoint", Accepts::Any),
        key("command", Accepts::Any),
        key("environment", Accepts::Maps(&PAIR)),
        key("environmentFiles", Accepts::Maps(&ENVIRONMENT_FILE)),
        key("mountPoints", Accepts::Maps(&MOUNT_POINT)),
        key("volumesFrom", Accepts::Maps(&VOLUME_FROM)),
        key("linuxParameters", Accepts::Map(&LINUX)),
        key("secrets", Accepts::Maps(&SECRET)),
        key("dependsOn", Accepts::Maps(&DEPENDENCY)),
        key("startTimeout", Accepts::Any),
        key("stopTimeout", Accepts::Any),
        key("versionConsistency", Accepts::OneOf(models::VERSION_CONSISTENCY)),
        key("hostname", Accepts::Any),
        key("user", Accepts::Any),
        key("workingDirectory", Accepts::PathOrNone),
        key("disableNetworking", Accepts::Any),
        key("privileged", Accepts::Any).not_on_fargate(),
        key("readonlyRootFilesystem", Accepts::Any),
        key("dnsServers", Accepts::Any),
        key("dnsSearchDomains", Accepts::Any),
        key("extraHosts", Accepts::Maps(&HOST_ENTRY)),
        key("dockerSecurityOptions", Accepts::Any).not_on_fargate(),
        key("interactive", Accepts::Any),
        key("pseudoTerminal", Accepts::Any),
        key("dockerLabels", Accepts::Options),
        key("ulimits", Accepts::Maps(&ULIMIT)),
        key("logConfiguration", Accepts::Map(&LOGS)),
        key("healthCheck", Accepts::Map(&HEALTH_CHECK)),
        key("systemControls", Accepts::Maps(&SYSTEM_CONTROL)),
        key("resourceRequirements", Accepts::Maps(&RESOURCE)),
        key("firelensConfiguration", Accepts::Map(&FIRELENS)),
        key("credentialSpecs", Accepts::Any),
    ],
};

static REPOSITORY_CREDENTIALS: Shape =
    Shape { name: "repositoryCredentials", keys: &[must("credentialsParameter", Accepts::Any)] };

static PORT_MAPPING: Shape = Shape {
    name: "portMappings",
    keys: &[
        key("containerPort", PORT),
        key("containerPortRange", Accepts::PortRange),
        key("hostPort", PORT),
        key("protocol", Accepts::OneOf(models::TRANSPORT_PROTOCOL)),
        key("name", Accepts::PortName),
        key("appProtocol", Accepts::OneOf(models::APPLICATION_PROTOCOL)),
    ],
};

static RESTART_POLICY: Shape = Shape {
    name: "restartPolicy",
    keys: &[
        must("enabled", Accepts::Any),
        key("ignoredExitCodes", Accepts::Any),
        key("restartAttemptPeriod", Accepts::Whole(60, 1800)),
    ],
};

static PAIR: Shape = Shape { name: "environment", keys: &[must("name", Accepts::Any), key("value", Accepts::Any)] };
static TAG: Shape = Shape { name: "tags", keys: &[key("key", Accepts::Any), key("value", Accepts::Any)] };

static ENVIRONMENT_FILE: Shape = Shape {
    name: "environmentFiles",
    keys: &[must("value", Accepts::VariableFile), must("type", Accepts::OneOf(models::ENVIRONMENT_FILE_TYPE))],
};

static MOUNT_POINT: Shape = Shape {
    name: "mountPoints",
    keys: &[must("sourceVolume", Accepts::Any), must("containerPath", Accepts::Path), key("readOnly", Accepts::Any)],
};

static VOLUME_FROM: Shape =
    Shape { name: "volumesFrom", keys: &[key("sourceContainer", Accepts::Any), key("readOnly", Accepts::Any)] };

static LINUX: Shape = Shape {
    name: "linuxParameters",
    keys: &[
        key("capabilities", Accepts::Map(&CAPABILITIES)),
        key("devices", Accepts::Maps(&DEVICE)).not_on_fargate(),
        key("initProcessEnabled", Accepts::Any),
        key("sharedMemorySize", Accepts::Any).not_on_fargate(),
        key("tmpfs", Accepts::Maps(&TMPFS)),
        key("maxSwap", Accepts::Any).not_on_fargate(),
        key("swappiness", Accepts::Whole(0, 100)).not_on_fargate(),
    ],
};

pub(super) static CAPABILITIES: Shape = Shape {
    name: "capabilities",
    keys: &[
        key("add", Accepts::EachKnown(CAPABILITY)).on_fargate(&["SYS_PTRACE"]),
        key("drop", Accepts::EachKnown(CAPABILITY)),
    ],
};

/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_KernelCapabilities.html>
const CAPABILITY: &[&str] = &[
    "ALL",
    "AUDIT_CONTROL",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "SYSLOG",
    "WAKE_ALARM",
];

static DEVICE: Shape = Shape {
    name: "devices",
    keys: &[
        must("hostPath", Accepts::Path),
        key("containerPath", Accepts::Path),
        key("permissions", Accepts::EachOf(models::DEVICE_CGROUP_PERMISSION)),
    ],
};

static TMPFS: Shape = Shape {
    name: "tmpfs",
    keys: &[
        must("containerPath", Accepts::Path),
        must("size", Accepts::Whole(1, u64::MAX)),
        key("mountOptions", Accepts::Any),
    ],
};

static SECRET: Shape = Shape { name: "secrets", keys: &[must("name", Accepts::Any), must("valueFrom", Accepts::Any)] };
static DEPENDENCY: Shape =
    Shape { name: "dependsOn", keys: &[must("containerName", Accepts::Any), must("condition", Accepts::Any)] };
static HOST_ENTRY: Shape =
    Shape { name: "extraHosts", keys: &[must("hostname", Accepts::Any), must("ipAddress", Accepts::Any)] };

static ULIMIT: Shape = Shape {
    name: "ulimits",
    keys: &[
        must("name", Accepts::OneOf(models::ULIMIT_NAME)),
        must("softLimit", Accepts::Any),
        must("hardLimit", Accepts::Any),
    ],
};

static LOGS: Shape = Shape {
    name: "logConfiguration",
    keys: &[
        must("logDriver", Accepts::Known(models::LOG_DRIVER)).on_fargate(&["awslogs", "awsfirelens", "splunk"]),
        key("options", Accepts::LogOptions),
        key("secretOptions", Accepts::Maps(&SECRET)),
    ],
};

pub(super) const TRUE_OR_FALSE: Accepts = Accepts::OneOf(&["true", "false"]);

static HEALTH_CHECK: Shape = Shape {
    name: "healthCheck",
    keys: &[
        must("command", Accepts::Any),
        key("interval", Accepts::Any),
        key("timeout", Accepts::Any),
        key("retries", Accepts::Any),
        key("startPeriod", Accepts::Any),
    ],
};

static SYSTEM_CONTROL: Shape =
    Shape { name: "systemControls", keys: &[key("namespace", Accepts::Any), key("value", Accepts::Any)] };

static RESOURCE: Shape = Shape {
    name: "resourceRequirements",
    keys: &[must("type", Accepts::OneOf(models::RESOURCE_TYPE)).not_on_fargate(), must("value", Accepts::Any)],
};

static FIRELENS: Shape = Shape {
    name: "firelensConfiguration",
    keys: &[
        must("type", Accepts::OneOf(models::FIRELENS_CONFIGURATION_TYPE)),
        key("options", Accepts::OptionsOf(&FIRELENS_OPTIONS)),
    ],
};

/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/firelens-taskdef-customconfig.html>
static FIRELENS_OPTIONS: Shape = Shape {
    name: "options",
    keys: &[
        key("enable-ecs-log-metadata", TRUE_OR_FALSE),
        key("config-file-type", Accepts::OneOf(&["s3", "file"])).on_fargate(&["file"]),
    ],
};

static VOLUME: Shape = Shape {
    name: "volumes",
    keys: &[
        key("name", Accepts::Name),
        key("host", Accepts::Map(&HOST)),
        key("dockerVolumeConfiguration", Accepts::Map(&DOCKER_VOLUME)).not_on_fargate(),
        key("efsVolumeConfiguration", Accepts::Map(&EFS)),
        key("s3filesVolumeConfiguration", Accepts::Map(&S3_FILES)),
        key("fsxWindowsFileServerVolumeConfiguration", Accepts::Any),
        key("configuredAtLaunch", Accepts::Any),
    ],
};

static HOST: Shape = Shape { name: "host", keys: &[key("sourcePath", Accepts::Any).not_on_fargate()] };

static DOCKER_VOLUME: Shape = Shape {
    name: "dockerVolumeConfiguration",
    keys: &[
        key("scope", Accepts::OneOf(models::SCOPE)),
        key("autoprovision", Accepts::Any),
        key("driver", Accepts::Any),
        key("driverOpts", Accepts::Options),
        key("labels", Accepts::Options),
    ],
};

static EFS: Shape = Shape {
    name: "efsVolumeConfiguration",
    keys: &[
        must("fileSystemId", Accepts::Begins(&["fs-", "arn:"])),
        key("rootDirectory", Accepts::Any),
        key("transitEncryption", Accepts::OneOf(models::EFS_TRANSIT_ENCRYPTION)),
        key("transitEncryptionPort", PORT),
        key("authorizationConfig", Accepts::Map(&AUTHORIZATION)),
    ],
};

static AUTHORIZATION: Shape = Shape {
    name: "authorizationConfig",
    keys: &[
        key("accessPointId", Accepts::Begins(&["fsap-", "arn:"])),
        key("iam", Accepts::OneOf(models::EFS_AUTHORIZATION_CONFIG_IAM)),
    ],
};

static S3_FILES: Shape = Shape {
    name: "s3filesVolumeConfiguration",
    keys: &[
        must("fileSystemArn", Accepts::Any),
        key("rootDirectory", Accepts::Any),
        key("transitEncryptionPort", PORT),
        key("accessPointArn", Accepts::Any),
    ],
};

static PLACEMENT_CONSTRAINT: Shape = Shape {
    name: "placementConstraints",
    keys: &[
        key("type", Accepts::OneOf(models::TASK_DEFINITION_PLACEMENT_CONSTRAINT_TYPE)),
        key("expression", Accepts::Any),
    ],
};

static PROXY: Shape = Shape {
    name: "proxyConfiguration",
    keys: &[key("type", Accepts::Any), key("containerName", Accepts::Any), key("properties", Accepts::Maps(&PAIR))],
};

static ACCELERATOR: Shape = Shape {
    name: "inferenceAccelerators",
    keys: &[must("deviceName", Accepts::Any), must("deviceType", Accepts::Any)],
};

static EPHEMERAL_STORAGE: Shape =
    Shape { name: "ephemeralStorage", keys: &[must("sizeInGiB", Accepts::Whole(21, 200))] };

static PLATFORM: Shape = Shape {
    name: "runtimePlatform",
    keys: &[
        // The releases of Windows change from year to year.
        key("operatingSystemFamily", Accepts::Known(&["LINUX"])),
        key("cpuArchitecture", Accepts::OneOf(models::CPU_ARCHITECTURE)),
    ],
};

/// Every map of a task definition.
static ALL: LazyLock<Vec<&'static Shape>> = LazyLock::new(|| {
    let mut all = vec![&TASK];
    let mut next = 0;
    while let Some(shape) = all.get(next) {
        for inner in shape.keys.iter().filter_map(|key| key.accepts.inner()) {
            if !all.iter().any(|known| std::ptr::eq(*known, inner)) {
                all.push(inner);
            }
        }
        next += 1;
    }
    all
});

impl Accepts {
    /// The map, or the map of each item, with keys of ECS's.
    fn inner(&self) -> Option<&'static Shape> {
        match self {
            Self::Map(shape) | Self::Maps(shape) | Self::Items(shape) | Self::Union(shape) => Some(shape),
            Self::Counted(_, _, items) => items.inner(),
            _ => None,
        }
    }
}

impl Shape {
    /// The keys that the map may have.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }

    /// Whether it is the task definition as a whole.
    pub fn is_task_definition(&self) -> bool {
        std::ptr::eq(self, &raw const TASK)
    }

    /// The maps that have a key of this name.
    pub fn with(name: &str) -> impl Iterator<Item = &'static Self> {
        ALL.iter().copied().filter(move |shape| shape.names().any(|key| key.eq_ignore_ascii_case(name)))
    }

    /// The names of the maps whose keys the user or a driver chooses.
    pub(crate) fn with_own_keys() -> impl Iterator<Item = &'static str> {
        let is_own = |key: &&Key| matches!(key.accepts, Accepts::Options | Accepts::OptionsOf(_) | Accepts::LogOptions);
        ALL.iter().flat_map(|shape| shape.keys).filter(is_own).map(|key| key.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_maps_are_found_from_the_task_definition() {
        let names: Vec<&str> = ALL.iter().map(|shape| shape.name).collect();
        for name in ["the task definition", "a container definition", "capabilities", "authorizationConfig", "tags"] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(!names.contains(&"createService"));
    }

    #[test]
    fn users_and_drivers_choose_the_keys_of_four_kinds_of_maps() {
        let mut names: Vec<&str> = Shape::with_own_keys().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, ["dockerLabels", "driverOpts", "labels", "options"]);
    }
}
