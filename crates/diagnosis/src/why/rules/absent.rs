//! Tasks that are not in the mesh, or that ECS does not know.

use report::LogAction;

use super::{Case, Cause, Conclusion, moment};

/// ECS knows the task, and it is not one of the mesh.
pub(super) fn not_in_the_mesh(case: &Case<'_>) -> Option<Conclusion> {
    case.cluster.filter(|cluster| cluster.others.contains(case.id))?;
    let sentence = "It is not in the mesh, because neither its task definition nor the task has the tag \
                    consul.hashicorp.com/mesh with the value true, and the definition reads no token of the controller: add the \
                    tag to the definition and deploy it again";
    Some(Conclusion::faulty(Cause::NotInTheMesh, sentence))
}

/// Whether it is one of the mesh is not known.
pub(super) fn unsorted(case: &Case<'_>) -> Option<Conclusion> {
    case.cluster.filter(|cluster| cluster.unsorted.contains(case.id))?;
    let sentence = "Whether it is in the mesh is not known, because its task definition could not be read: correct what the error \
                    says, and ask again";
    Some(Conclusion::unknown(Cause::DefinitionNotRead, sentence))
}

/// ECS has forgotten it, and Consul still has its instances.
pub(super) fn left_by_a_forgotten_task(case: &Case<'_>) -> Option<Conclusion> {
    if case.member.is_some() || case.end.is_some() || case.is_registered() != Some(true) {
        return None;
    }
    let cluster = case.cluster.map(|cluster| cluster.arn.name()).unwrap_or_default();
    let sentence = match (case.guard(case.lately()), case.observed(&LogAction::Deregister)) {
        (Some(guard), _) => format!(
            "ECS does not know it any more, and its instances are still in Consul. The guard held back deletions or corrections in \
             its cluster at {} ({}): check them with ecs-mesh sweep --dry-run --cluster {cluster}, and if they are right, repeat it \
             with --force",
            moment(guard.at),
            guard.reason.as_deref().unwrap_or("no reason given")
        ),
        (None, Some(_)) => "ECS does not know it any more, and its instances are still in Consul, because the controller is in \
                            Mode=observe and changes nothing: the always-on controller has to deregister them, or set Mode=act"
            .to_owned(),
        (None, None) => format!(
            "ECS does not know it any more, and its instances are still in Consul: the next sweep deregisters them, or \
             ecs-mesh sweep --cluster {cluster} does so now"
        ),
    };
    Some(Conclusion::faulty(Cause::LeftInConsul, sentence))
}

/// ECS has forgotten it, and the log has no line about its end.
pub(super) fn forgotten(case: &Case<'_>) -> Option<Conclusion> {
    if case.member.is_some() || case.end.is_some() {
        return None;
    }
    let last = case.lines().last()?;
    let sentence = format!(
        "ECS has forgotten it, and the log of the stack {} does not say how it ended; the last that is known is from {}: ask again \
         with a longer --since, and set LogLevel=info, without which ends are not logged",
        case.further.stack,
        moment(last.at)
    );
    Some(Conclusion::unknown(Cause::Forgotten, sentence))
}

/// Nobody knows it.
pub(super) fn unknown(case: &Case<'_>) -> Option<Conclusion> {
    if case.cluster.is_some() || case.end.is_some() {
        return None;
    }
    let (searched, is_all_read) = case.searched();
    let id = case.id;
    let sentence = if is_all_read {
        format!(
            "There is no task {id} ({searched}): check the ID, the region and the cluster, and ask with a longer --since for a task \
             that stopped long ago"
        )
    } else {
        format!(
            "The task {id} was not found, and not everything could be read ({searched}): ask again when it can be read"
        )
    };
    Some(Conclusion::unknown(Cause::UnknownTask, sentence))
}
