//! What is wrong with the tasks and services of the mesh, as `status` sees them.

use std::collections::BTreeSet;

use audit::{report::counted, severity::Severity};
use observe::{InspectedCluster, UntaggedTask};

use super::{
    SurveyEvidence,
    report::{SurveyFinding, SurveyObject, name_of},
};
use crate::{
    doctor::word,
    status::{ServiceStatus, State, StatusReport, TaskStatus},
};

pub(super) fn findings(evidence: &SurveyEvidence<'_>, status: &StatusReport) -> Vec<SurveyFinding> {
    let clusters = &evidence.inspection.clusters;
    let found = [faulty(status), lost_tags(clusters), untraceable(evidence), added(clusters)];
    found.into_iter().flatten().collect()
}

/// The services with a fault of their own: what their leftovers are, and that a tag was lost, other findings say.
fn faulty(status: &StatusReport) -> Option<SurveyFinding> {
    let has_fault = |service: &&ServiceStatus| {
        let of_task = |task: &TaskStatus| task.state == State::Faulty && task.revision.is_some();
        let is_untagged = |task: &TaskStatus| task.verdict.starts_with("not in the mesh");
        let lacks_tasks = service.desired_tasks.is_some_and(|desired| service.running_tasks < desired);
        service.state == State::Faulty
            && (lacks_tasks || service.tasks.iter().any(|task| of_task(task) && !is_untagged(task)))
    };
    let services: Vec<&ServiceStatus> = status.services.iter().filter(has_fault).collect();
    let object = |service: &&ServiceStatus| SurveyObject {
        cluster: Some(service.cluster_name().to_owned()),
        name: service.service.clone(),
        why: service.faults.join("; "),
        ..SurveyObject::default()
    };
    let title = match services.len() {
        0 => return None,
        1 => "1 service is faulty".to_owned(),
        count => format!("{count} services are faulty"),
    };
    let cost = "Calls to it fail, or reach fewer tasks than they should.";
    let commands: BTreeSet<String> = services
        .iter()
        .map(|it| format!("ecs-mesh why {} --cluster {}", word(&it.service), word(it.cluster_name())))
        .collect();
    let objects = services.iter().map(object).collect();
    Some(SurveyFinding::new("faulty-services", Severity::Error, title, cost, objects).with_commands(commands))
}

/// The running tasks whose revision has lost the mesh tag.
fn lost_tags(clusters: &[InspectedCluster]) -> Option<SurveyFinding> {
    let living = |cluster: &&InspectedCluster| cluster.untagged.iter().any(|it| it.member.task.phase.is_living());
    let object = |task: &UntaggedTask| SurveyObject {
        cluster: Some(task.member.cluster.name().to_owned()),
        name: format!("task {} of {}", task.member.task.arn.id(), task.member.definition.arn.short_name()),
        why: task.loss(),
        since: task.member.task.end.started_at,
        controller: None,
    };
    let affected: Vec<&InspectedCluster> = clusters.iter().filter(living).collect();
    let tasks = affected.iter().flat_map(|it| &it.untagged).filter(|it| it.member.task.phase.is_living());
    let objects: Vec<SurveyObject> = tasks.map(object).collect();
    let title = match objects.len() {
        0 => return None,
        1 => "1 running task is outside the mesh, because its revision lost the mesh tag".to_owned(),
        count => format!("{count} running tasks are outside the mesh, because their revisions lost the mesh tag"),
    };
    let cost = "No controller knows such a task: none drains it, repairs it, or creates a token for it.";
    let commands = affected.iter().map(|it| format!("ecs-mesh check --cluster {}", word(it.arn.name())));
    Some(SurveyFinding::new("lost-mesh-tag", Severity::Error, title, cost, objects).with_commands(commands))
}

/// The login tokens that name no task of the account's clusters. Tasks of another account may use the same Consul.
fn untraceable(evidence: &SurveyEvidence<'_>) -> Option<SurveyFinding> {
    let tokens = evidence.tokens.filter(|_| evidence.has_all_clusters)?;
    let clusters: Vec<_> = evidence.inspection.clusters.iter().map(|cluster| cluster.arn.clone()).collect();
    let planned: BTreeSet<&str> = [Some(evidence.plan), evidence.unknown]
        .into_iter()
        .flatten()
        .flat_map(|plan| &plan.clusters)
        .map(|cluster| cluster.cluster_arn.as_str())
        .collect();
    let others = planned.into_iter().filter_map(|arn| arn.parse().ok());
    let all: Vec<_> = clusters.into_iter().chain(others).collect();
    let found = tokens.untraceable_logins(&all);
    let objects: Vec<SurveyObject> = found
        .iter()
        .map(|it| SurveyObject {
            name: it.owner.clone(),
            why: counted(it.count, "login token"),
            since: it.oldest,
            ..SurveyObject::default()
        })
        .collect();
    let title = "Login tokens name no task of these clusters";
    let cost = "If no other account or region uses this Consul, they are of stopped tasks, and nobody deletes them.";
    (!objects.is_empty()).then(|| SurveyFinding::new("untraceable-logins", Severity::Info, title, cost, objects))
}

/// The containers that AWS adds to tasks, and that did not start: such a task looks broken and is not.
fn added(clusters: &[InspectedCluster]) -> Option<SurveyFinding> {
    let objects = clusters.iter().flat_map(|cluster| {
        cluster.added.iter().map(|(task, end)| SurveyObject {
            cluster: Some(name_of(cluster.arn.as_str()).to_owned()),
            name: format!("task {task}"),
            why: end.to_string(),
            ..SurveyObject::default()
        })
    });
    let objects: Vec<SurveyObject> = objects.collect();
    let title = "Tasks run without a container that AWS adds";
    let cost = "The task looks broken and is not. GuardDuty or Service Connect does not watch it.";
    (!objects.is_empty()).then(|| SurveyFinding::new("added-containers", Severity::Info, title, cost, objects))
}
