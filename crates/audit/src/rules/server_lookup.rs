//! What AWS must allow and know so that `discover` finds the servers.

use super::{
    discover::Settings,
    permissions::{Call, Permission},
    prelude::*,
    servers::HOSTS,
};
use crate::{rule::TaskFindings, subject::ConsulEcs};
use audit_read::{
    app_mesh::Resources,
    definition::{IamRole, ServiceUse, Statement, TaskDefinition},
};

pub(super) static CONSUL_SERVER_LOOKUP: Rule =
    Rule::of_task(page!("consul-server-lookup"), Applies::ConsulDataplaneAndController, check_lookup);

/// An action that discover needs, and the ARN of what its Resource may name: `*` stands for any text without a colon.
struct Action {
    name: &'static str,
    resource: Option<&'static str>,
}

const INSTANCES: Action = Action { name: "ec2:DescribeInstances", resource: None };
const LIST_TASKS: Action = Action { name: "ecs:ListTasks", resource: None };
const DESCRIBE_TASKS: Action = Action { name: "ecs:DescribeTasks", resource: Some("arn:*:ecs:*:*:task/*") };
const LIST_CLUSTERS: Action = Action { name: "ecs:ListClusters", resource: None };

fn needed(settings: &Settings<'_>) -> &'static [Action] {
    match (settings.get("service"), settings.get("ecs_cluster")) {
        (Some("ecs"), Some(_)) => &[LIST_TASKS, DESCRIBE_TASKS],
        (Some("ecs"), None) => &[LIST_TASKS, DESCRIBE_TASKS, LIST_CLUSTERS],
        _ => &[INSTANCES],
    }
}

/// The settings of discover with provider AWS.
fn settings<'s>(consul_ecs: &ConsulEcs<'s, '_>) -> Option<Settings<'s>> {
    let settings = Settings::of(consul_ecs.configuration?.text(HOSTS)?)?.ok()?;
    (settings.get("provider") == Some("aws")).then_some(settings)
}

fn check_lookup(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(settings) = settings(&consul_ecs).filter(|settings| settings.get("access_key_id").is_none()) else {
        return;
    };
    let has_own_key = |container: &&Container| !matches!(container.environment_has("AWS_ACCESS_KEY_ID"), Maybe::Absent);
    if consul_ecs.containers.iter().any(has_own_key) {
        return;
    }
    let Some(role) = &subject.definition.declared_role else { return };
    let Some(statements) = &role.statements else { return };
    let (mut missing, mut drafts) = (Vec::new(), Vec::new());
    for action in needed(&settings) {
        let resources = action.resource.into_iter().map(str::to_owned).collect();
        match (Call { action: action.name, resources }).permission(statements) {
            Permission::Denied(denial) => drafts.push(action.denied(denial)),
            Permission::Missing => missing.push(action.name),
            Permission::Elsewhere(first) => drafts.push(action.out_of_reach(first)),
            Permission::Allowed(allowing) => drafts.extend(action.other_clusters(&allowing, &settings)),
        }
    }
    findings.extend(without_permission(role, &missing));
    findings.extend(drafts);
}

fn without_permission(role: &IamRole, missing: &[&str]) -> Option<Draft> {
    let actions = missing.join(" and ");
    let message = format!("{HOSTS} asks AWS for the servers, but no policy of the task role allows {actions}");
    let help = format!("allow {actions} for all resources in a policy of the role");
    (!missing.is_empty()).then(|| Draft::new(role.place.span, message, help).in_file(&role.file))
}

impl Action {
    fn denied(&self, statement: &Statement) -> Draft {
        let name = self.name;
        let message = format!("{HOSTS} asks AWS for the servers, but a policy of the task role denies {name}");
        let help = format!("except {name} from the denial: it outweighs every permission");
        Draft::new(statement.span, message, help).in_file(&statement.file)
    }

    fn out_of_reach(&self, statement: &Statement) -> Draft {
        let name = self.name;
        let message = match self.resource {
            Some(_) => format!("{name} is allowed for other resources than tasks, so discover may not call it"),
            None => format!("{name} cannot be limited by Resource: AWS refuses it to discover"),
        };
        let help = match (self.resource, name) {
            (Some(_), _) => "write \"Resource\": \"arn:aws:ecs:REGION:ACCOUNT:task/CLUSTER/*\", or \"*\"".to_owned(),
            (None, "ecs:ListTasks") => "write \"Resource\": \"*\", and limit it by \"Condition\": { \"ArnEquals\": { \
                                        \"ecs:cluster\": \"arn:aws:ecs:REGION:ACCOUNT:cluster/CLUSTER\" } }"
                .to_owned(),
            (None, _) => "write \"Resource\": \"*\"".to_owned(),
        };
        Draft::new(statement.span, message, help).in_file(&statement.file)
    }

    /// Without a cluster, discover lists the tasks of every cluster and fails at the first that it may not list.
    fn other_clusters(&self, allowing: &[&Statement], settings: &Settings<'_>) -> Option<Draft> {
        let is_limited = |statement: &&Statement| {
            statement.condition.as_ref().is_some_and(|condition| condition.contains("ecs:cluster"))
        };
        if self.name != LIST_TASKS.name || settings.get("ecs_cluster").is_some() || !allowing.iter().all(is_limited) {
            return None;
        }
        let statement = allowing.first()?;
        let message = "ecs:ListTasks is limited to a cluster, but discover lists the tasks of all clusters";
        let help = format!("name the cluster in {HOSTS}: ecs_cluster=…");
        Some(Draft::new(statement.span, message, help).in_file(&statement.file))
    }
}

pub(super) static CONSUL_SERVER_TAGS: Rule =
    Rule::of_tasks(page!("consul-server-tags"), Applies::AllTasks, check_server_tags);

fn check_server_tags(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let mut seen: Vec<*const ServiceUse> = Vec::new();
    for seeker in subjects {
        let Some(consul_ecs) = seeker.consul_ecs() else { continue };
        let Some(settings) = settings(&consul_ecs).filter(|settings| settings.get("service") == Some("ecs")) else {
            continue;
        };
        let (Some(key), Some(value), Some(family)) =
            (settings.get("tag_key"), settings.get("tag_value"), settings.get("ecs_family"))
        else {
            continue;
        };
        let is_server = |definition: &TaskDefinition| {
            definition.family.text() == Some(family)
                && matches!(definition.tag(key), Maybe::Known(tag) if tag.value.text() == Some(value))
        };
        for server in subjects.iter().filter(|subject| is_server(subject.definition)) {
            for service in server.definition.services.iter().filter(|service| loses_the_tag(service, key)) {
                if seen.contains(&std::ptr::from_ref(service)) {
                    continue;
                }
                seen.push(service);
                let name = seeker.definition.name();
                let message = format!(
                    "{name} finds the servers by the tag {key} of their tasks, but the service {} copies no tags to them",
                    service.name
                );
                let draft =
                    Draft::new(service.place.span, message, "set propagateTags to TASK_DEFINITION on the service");
                findings(server, draft.in_file(&service.file));
            }
        }
    }
}

fn loses_the_tag(service: &ServiceUse, key: &str) -> bool {
    let propagate = &service.propagate_tags;
    let copies_own = propagate.text() == Some("SERVICE");
    let lacks_it = service.tags.lacks(|tag| tag.key.text().is_none_or(|found| found == key));
    propagate.is_absent() || propagate.text() == Some("NONE") || (copies_own && lacks_it)
}
