//! The container health-sync.

use super::{mesh_init::runs_other, prelude::*, proxy::wait_for};
use crate::subject::{PlacedConfiguration, consul_ecs_version, names};
use audit_read::definition::Dependency;
use document::{HOLE, Node, Span, Value};

pub(super) static CONSUL_HEALTH_SYNC_MISSING: Rule = Rule {
    id: "consul-health-sync-missing",
    summary: "the task has a health-sync container if Consul has checks for it to update",
    effect: "the checks that mesh-init registers always stay critical, and the service gets no traffic",
    explanation: "\
mesh-init registers a check for each container in `healthSyncContainers`, and every check starts as critical. \
health-sync copies the health of these containers from ECS to Consul; nothing else makes the checks pass. From \
consul-ecs 0.8 on, the proxy has a check too, so every task needs health-sync, also gateways. It also logs the task \
out of Consul when the task stops. In consul-ecs 0.7, the control plane does this.",
    sources: &[pages::CONSUL_ARCHITECTURE, pages::CONSUL_CONFIGURATION_REFERENCE],
    example: Some(Base::Client.missing("containerDefinitions[consul-ecs-health-sync]")),
    ..Rule::once_per_task(Applies::Consul, check_health_sync_missing)
};

fn check_health_sync_missing(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    if consul.health_sync.is_some() || !consul.is_complete {
        return None;
    }
    let mesh_init = consul.mesh_init?;
    let message = need(consul)?;
    let help = format!(
        "add the container {} with the image and configuration of {} and the command [\"health-sync\"]",
        names::HEALTH_SYNC,
        mesh_init.label()
    );
    Some(Draft::new(mesh_init.span(), message, help))
}

/// The reason for health-sync, if there is one.
fn need(consul: &ConsulTask<'_>) -> Option<String> {
    let synced: Vec<&str> = consul.configuration.list("healthSyncContainers")?.iter().filter_map(Node::text).collect();
    match consul.generation {
        Generation::ControlPlane => None,
        Generation::Dataplane => Some("no container runs health-sync".to_owned()),
        Generation::Client if synced.is_empty() => None,
        Generation::Client => Some(format!("no container runs health-sync, which {} needs", synced.join(", "))),
    }
}

pub(super) static CONSUL_HEALTH_SYNC_NEEDLESS: Rule = Rule {
    id: "consul-health-sync-needless",
    summary: "the task has a health-sync container only if it has something to do",
    severity: Severity::Info,
    effect: "a container takes memory and starts with every task, and does nothing",
    explanation: "\
With a client agent, health-sync has two purposes: it copies the health of the containers in `healthSyncContainers` \
from ECS to Consul, and it logs the task out of Consul when the task stops, if it logged in with an auth method. With \
an empty list and without a login, it only waits: for example if the service has Consul checks, or if no container \
has a health check.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Client.needless("containerDefinitions[consul-ecs-health-sync]", HEALTH_SYNC_CONTAINER).given(
        &[
            (
                "config.service.checks",
                r#"[{ "name": "web", "http": "http://localhost:9090/health", "interval": "10s" }]"#,
            ),
            ("config.healthSyncContainers", "[]"),
        ],
    )),
    ..Rule::once_per_task(Applies::ConsulClient, check_health_sync_needless)
};

const HEALTH_SYNC_CONTAINER: &str = r#"{
    "name": "consul-ecs-health-sync",
    "image": "public.ecr.aws/hashicorp/consul-ecs:0.4.3",
    "essential": false,
    "command": ["health-sync"],
    "environment": [{
        "name": "CONSUL_ECS_CONFIG_JSON",
        "value": "{\"bootstrapDir\":\"/consul\",\"healthSyncContainers\":[],\"service\":{\"name\":\"web\",\"port\":9090,\"tags\":[],\"meta\":{},\"checks\":[{\"name\":\"web\",\"http\":\"http://localhost:9090/health\",\"interval\":\"10s\"}]},\"proxy\":{\"upstreams\":[{\"destinationName\":\"orders\",\"localBindPort\":1234}]}}"
    }],
    "secrets": [{
        "name": "CONSUL_HTTP_TOKEN",
        "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::"
    }],
    "dependsOn": [{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }]
}"#;

fn check_health_sync_needless(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let health_sync = consul.health_sync?;
    let configuration = &consul.configuration;
    let has_nothing_to_sync = configuration.list("healthSyncContainers").is_some_and(<[_]>::is_empty);
    // If a container is missing in the list, another rule reports that.
    let could_sync = consul.apps.iter().any(|app| app.is_essential() != Some(false) && !app.health_check.is_absent());
    let has_native_checks = configuration.list("service.checks").is_some_and(|checks| !checks.is_empty());
    let has_nothing_to_do = has_nothing_to_sync && (has_native_checks || !could_sync);
    (has_nothing_to_do && consul.logs_in() == Some(false)).then(|| {
        Draft::new(
            health_sync.span(),
            format!("{} has no container to sync and no login to end", health_sync.label()),
            "remove it, or add containers to healthSyncContainers",
        )
        .of(health_sync)
    })
}

pub(super) static CONSUL_HEALTH_SYNC_COMMAND: Rule = Rule {
    id: "consul-health-sync-command",
    summary: "consul-ecs-health-sync runs health-sync",
    is_fixable: true,
    effect: "the service's checks in Consul stay critical, and it gets no traffic",
    explanation: "\
The image `consul-ecs` contains one program with several commands. Without a command, it prints its help and stops; \
with `mesh-init`, it registers the service a second time and stops. Only `health-sync` keeps running and copies the \
containers' health to Consul.",
    sources: &[pages::CONSUL_ARCHITECTURE],
    example: Some(Base::Client.missing("containerDefinitions[consul-ecs-health-sync].command")),
    ..Rule::once_per_task(Applies::Consul, check_health_sync_command)
};

fn check_health_sync_command(subject: &Subject<'_>) -> Option<Draft> {
    runs_other(subject.consul.as_ref()?.health_sync?, "health-sync")
}

pub(super) static CONSUL_HEALTH_SYNC_ORDER: Rule =
    Rule {
        id: "consul-health-sync-order",
        summary: "health-sync starts after mesh-init has succeeded",
        severity: Severity::Warning,
        is_fixable: true,
        effect: "health-sync may not find its checks and token, because they do not exist yet, and fails",
        explanation: "\
mesh-init registers the checks that health-sync updates, and writes the token that health-sync uses. So health-sync \
must start after mesh-init has succeeded.",
        sources: &[pages::CONSUL_ARCHITECTURE],
        example: Some(Base::Client.wrong(
            "containerDefinitions[consul-ecs-health-sync].dependsOn[consul-ecs-mesh-init].condition",
            r#""START""#,
        )),
        ..Rule::once_per_task(Applies::Consul, check_health_sync_order)
    };

fn check_health_sync_order(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (health_sync, name) = (consul.health_sync?, consul.mesh_init?.name.text()?);
    let is_early = subject.order().after(name, Some("SUCCESS")).has(health_sync) == Some(false);
    is_early.then(|| wait_for(health_sync, name, "SUCCESS"))
}

pub(super) static CONSUL_HEALTH_SYNC_END: Rule = Rule {
    id: "consul-health-sync-end",
    summary: "health-sync does not wait for consul-dataplane",
    severity: Severity::Warning,
    effect: "at the end of the task, health-sync waits until KILL, and the service and the login token stay in Consul",
    explanation: "\
ECS sends TERM to a container before the containers that it depends on, and to these only after its exit. But health-sync, from consul-ecs 0.8 on, stays until consul-dataplane has \
stopped, then deregisters the service and logs out. Each waits for the other until health-sync's `stopTimeout` is over.",
    sources: &[
        pages::ECS_DEPENDENCY,
        "https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/health-sync/command.go",
    ],
    example: Some(Base::Dataplane.needless(
        "containerDefinitions[consul-ecs-health-sync].dependsOn[consul-dataplane]",
        r#"{ "containerName": "consul-dataplane", "condition": "HEALTHY" }"#,
    )),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_health_sync_end)
};

/// The conditions of dependencies on containers that run until the task stops.
const RUNNING: [&str; 2] = ["START", "HEALTHY"];

fn check_health_sync_end(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (order, health_sync, proxy) = (subject.order(), consul.health_sync?, consul.dataplane?);
    // Older releases exit at TERM.
    if consul_ecs_version(health_sync).is_some_and(|version| !Generation::Dataplane.fits(version)) {
        return None;
    }
    let name = proxy.name.text()?;
    let is_proxy = |other: &Container| std::ptr::eq(other, proxy);
    let after = RUNNING.map(|condition| order.after(name, Some(condition)));
    let waits = |other: &Container| is_proxy(other) || after.iter().any(|after| after.has(other) == Some(true));
    let is_running = |dependency: &Dependency| dependency.condition.text().is_some_and(|text| RUNNING.contains(&text));
    let own = order.pairs().filter(|(container, ..)| std::ptr::eq(*container, health_sync));
    let kept = own.filter(|(_, dependency, other)| is_running(dependency) && waits(other));
    let (_, dependency, other) = kept.min_by_key(|(.., other)| !is_proxy(other))?;
    let (label, awaited) = (health_sync.label(), other.label());
    let message = match dependency.condition.text() {
        Some(condition) if is_proxy(other) => format!("{label} waits until {name} is {condition}"),
        _ => format!("{label} waits for {name} through {awaited}"),
    };
    let help = format!("let it wait for mesh-init only, and not for {awaited}");
    Some(Draft::new(dependency.container.span(), message, help).of(health_sync))
}

pub(super) static CONSUL_HEALTH_SYNC_CONFIGURATION: Rule = Rule {
    id: "consul-health-sync-configuration",
    summary: "health-sync has the same configuration as mesh-init",
    effect: "health-sync looks for checks under names that mesh-init never registered, and the registered ones stay critical",
    explanation: "\
Both containers read `CONSUL_ECS_CONFIG_JSON`, and derive from it the IDs of the service and its checks, the \
addresses of the Consul servers, and the login. The IDs are equal only if the configurations are. Formatting and the \
log level may differ.",
    sources: &[pages::CONSUL_CONFIGURATION_REFERENCE],
    example: Some(Base::Client.wrong("config@consul-ecs-health-sync.service.name", r#""shop""#)),
    ..Rule::once_per_task(Applies::Consul, check_health_sync_configuration)
};

fn check_health_sync_configuration(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(health_sync), Some(_)) = (consul.health_sync, consul.mesh_init) else { return None };
    let own = PlacedConfiguration::of(subject.definition, health_sync);
    let (Some(wanted), Some(found)) = (consul.configuration.json(), own.json()) else { return None };
    // Another rule reports a missing or invalid configuration.
    let are_maps = [wanted, found].iter().all(|node| matches!(node.value, Value::Map(_)));
    let difference = difference(wanted, found, "").filter(|_| are_maps)?;
    let message =
        format!("the configuration of {} differs from mesh-init's at {}", health_sync.label(), difference.path);
    let help = "give both the same value of CONSUL_ECS_CONFIG_JSON";
    let draft = Draft::new(difference.span, message, help).of(health_sync);
    Some(draft.note(wanted.place.span, "mesh-init's configuration"))
}

struct Difference {
    path: String,
    span: Span,
}

/// The first path at which the two certainly differ. `path` is the path so far, and empty at the top.
fn difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let here = Some(Difference { path: path.to_owned(), span: found.place.span });
    match (&wanted.value, &found.value) {
        (Value::Unknown, _) | (_, Value::Unknown) | (Value::Null, Value::Null) => None,
        (Value::Map(_), Value::Map(_)) => map_difference(wanted, found, path),
        (Value::List(left), Value::List(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(index, (wanted, found))| difference(wanted, found, &format!("{path}[{index}]")))
        }
        (Value::Text(left), Value::Text(right)) => {
            let is_certain = !left.contains(HOLE) && !right.contains(HOLE);
            here.filter(|_| is_certain && left != right)
        }
        (Value::Number(left), Value::Number(right)) => here.filter(|_| left != right),
        (Value::Bool(left), Value::Bool(right)) => here.filter(|_| left != right),
        _ => here,
    }
}

fn map_difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let more = found.entries().iter().filter(|entry| wanted.get(&entry.key).is_none());
    let mut keys = wanted.entries().iter().chain(more).map(|entry| entry.key.as_str());
    keys.by_ref().filter(|key| *key != "logLevel").find_map(|key| {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) => difference(wanted, found, &path),
            (None, None) => None,
            (None, Some(more)) => Some(Difference { path, span: more.place.span }),
            (Some(_), None) => Some(Difference { path, span: found.place.span }),
        }
    })
}

pub(super) static CONSUL_HEALTH_SYNC_CONTAINERS: Rule = Rule {
    id: "consul-health-sync-containers",
    summary: "the containers whose health is synced exist and have an ECS health check",
    effect: "the container's check in Consul always stays critical, and the service gets no traffic",
    explanation: "\
Each container in `healthSyncContainers` has a check in Consul, which passes only while ECS reports the container as \
`HEALTHY`. ECS does so only for containers with a `healthCheck`: it ignores a `HEALTHCHECK` of the image. A missing \
container counts as critical.",
    sources: &[
        pages::CONSUL_ARCHITECTURE,
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/healthcheck.html",
    ],
    example: Some(Base::Client.wrong("config.healthSyncContainers", r#"["web", "shop"]"#)),
    ..Rule::of_task(Applies::Consul, check_health_sync_containers)
};

fn check_health_sync_containers(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(synced) = consul.configuration.list("healthSyncContainers") else { return };
    for node in synced {
        let Some(name) = node.text() else { continue };
        if let Some((message, help)) = wrong(subject, name) {
            findings.add(Draft::new(node.place.span, message, help));
        }
    }
}

fn wrong(subject: &Subject<'_>, name: &str) -> Option<(String, String)> {
    let containers = &subject.definition.containers;
    match subject.definition.container(name) {
        Maybe::Known(container) if container.health_check.is_absent() => Some((
            format!("healthSyncContainers contains {name}, which has no health check"),
            format!("give {name} a healthCheck, or remove it from healthSyncContainers"),
        )),
        Maybe::Absent if containers.items.iter().all(|container| container.name.text().is_some()) => Some((
            format!("healthSyncContainers contains {name}, but there is no such container"),
            "name a container of this definition in healthSyncContainers, or remove the name".to_owned(),
        )),
        Maybe::Known(_) | Maybe::Absent | Maybe::Unknown => None,
    }
}
