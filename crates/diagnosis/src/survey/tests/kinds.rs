//! What each kind of action of a plan says.

use super::*;
use crate::examples::{login_description, login_token, tokens};

/// A planned action of each kind, with the ID and the title of its finding, the reason, and what a controller would do.
fn actions() -> [(PlannedAction, &'static str, &'static str, &'static str, &'static str); 12] {
    let (task_id, node) = (id(1).to_string(), cluster().to_string());
    let holder = || "service web".to_owned();
    let stopped_long_ago =
        "ECS does not know its task 00000000000000000000000000000001: it stopped over an hour ago, or never existed";
    [
        (
            PlannedAction::Repair { task_id: task_id.clone(), instances: vec!["web-1".into()], checks: vec![] },
            "lost-in-consul",
            "1 running task is not registered in Consul",
            "Consul lacks web-1",
            "registers it again",
        ),
        (
            PlannedAction::CreateNode { node: node.clone() },
            "missing-node",
            "1 cluster has no node in Consul",
            "Consul has no node of this name",
            "creates it",
        ),
        (
            PlannedAction::Provision { holder: holder() },
            "missing-token",
            "1 token that tasks read is missing or incomplete",
            "a task reads it",
            "creates it",
        ),
        (
            PlannedAction::CorrectHealth { task_id: task_id.clone(), checks: vec![] },
            "wrong-health",
            "1 task has another health in Consul than in ECS",
            "",
            "corrects it",
        ),
        (
            PlannedAction::MarkCritical { service_id: "web-1".into(), reason: "its proxy has stopped".into() },
            "not-drained",
            "1 instance has the wrong drain",
            "its proxy has stopped",
            "corrects it",
        ),
        (
            PlannedAction::EndDrain { service_id: "web-1".into() },
            "not-drained",
            "1 instance has the wrong drain",
            "the host of its task runs again",
            "corrects it",
        ),
        (
            PlannedAction::DeleteLoginToken { accessor_id: "a".into(), task_id: Some(task_id) },
            "unused-login-tokens",
            "1 login token is of a task that has stopped",
            stopped_long_ago,
            "deletes it",
        ),
        (
            PlannedAction::ForceLeave { node: "ip-10-0-0-1".into() },
            "dead-agents",
            "1 client agent is of a task that has stopped",
            "its task has stopped",
            "removes it",
        ),
        (
            PlannedAction::Revoke { holder: holder(), accessor_id: None },
            "idle-tokens",
            "1 token in Secrets Manager has no task",
            "no task uses it",
            "deletes it",
        ),
        (
            PlannedAction::DeleteOrphan { holder: holder(), accessor_id: "b".into() },
            "idle-tokens",
            "1 token in Secrets Manager has no task",
            "no secret has it",
            "deletes it",
        ),
        (
            PlannedAction::DeregisterNode { node },
            "dead-node",
            "1 node is of a cluster that is gone",
            "ECS has deleted its cluster",
            "deregisters it",
        ),
        (
            PlannedAction::ShowOrphan { holder: holder(), accessor_id: "c".into() },
            "missing-token",
            "1 token that tasks read is missing or incomplete",
            "its secret does not contain it",
            "creates it",
        ),
    ]
}

#[test]
fn each_kind_of_action_is_a_finding_of_its_own() {
    for (action, id, title, why, controller) in actions() {
        let finding = only(|world| {
            if let PlannedAction::DeregisterNode { .. } = action {
                world.inspection.clusters.clear();
                of_plan(world).status = SweptStatus::Deleted;
            }
            of_plan(world).planned.push(action);
        });
        let object = &finding.objects[0];
        let said = (finding.id.as_str(), finding.title.as_str(), object.why.as_str(), object.controller.as_deref());
        assert_eq!(said, (id, title, why, Some(controller)));
        assert!(finding.cost.ends_with('.') && finding.cost.len() > 20, "{finding:?}");
        // When Consul lost a task, or it got its leftovers, is known only of a task that has stopped
        assert_eq!(finding.since, None, "{finding:?}");
    }
}

#[test]
fn several_actions_of_a_kind_are_one_finding_in_the_plural() {
    let finding = only(|world| of_plan(world).planned.extend([deregister(8), deregister(9)]));
    assert_eq!((finding.title.as_str(), finding.objects.len()), ("2 entries in Consul have no running task", 2));
}

#[test]
fn action_that_one_command_does_has_it() {
    let commands = [
        ("lost-in-consul", vec![format!("ecs-mesh why {} --cluster prod", id(1))]),
        ("wrong-health", vec![format!("ecs-mesh why {} --cluster prod", id(1))]),
        ("unused-login-tokens", vec!["consul acl token delete -id a".to_owned()]),
        ("dead-agents", vec!["consul force-leave -prune ip-10-0-0-1".to_owned()]),
        ("missing-node", Vec::new()),
        ("not-drained", Vec::new()),
        ("missing-token", Vec::new()),
    ];
    let found: BTreeMap<&str, Vec<String>> = actions()
        .into_iter()
        .map(|(action, id, ..)| (id, only(|world| of_plan(world).planned.push(action)).commands))
        .collect();
    for (id, expected) in commands {
        assert_eq!(found[id], expected, "{id}");
    }
    assert!(found["dead-node"][0].contains("/v1/catalog/deregister"), "{found:?}");
}

#[test]
fn login_token_of_no_task_of_the_account_is_found_unless_only_some_clusters_were_read() {
    let other = "arn:aws:ecs:us-east-1:123456789012:cluster/elsewhere";
    let mut token = login_token(7);
    token.description = login_description(other, 7);
    let mine = login_token(1);
    let listed = vec![token, mine];
    let found = found(|world| world.tokens = Some(tokens(listed.clone())));
    let untraceable: Vec<&SurveyFinding> = found.iter().filter(|it| it.id == "untraceable-logins").collect();
    let [finding] = untraceable.as_slice() else { panic!("{found:#?}") };
    assert_eq!((finding.severity, finding.objects.len()), (Severity::Info, 1));
    let object = &finding.objects[0];
    assert_eq!((object.name.as_str(), object.why.as_str()), ("service web", "1 login token"));
    assert_eq!(finding.since, Some(minutes_ago(59)));
    // A token of a task of these clusters is not one of them
    let own = super::found(|world| world.tokens = Some(tokens(vec![login_token(1)])));
    assert!(own.iter().all(|it| it.id != "untraceable-logins"), "{own:#?}");
    // It may be of a cluster that was not asked for
    let of_some = super::found(|world| {
        world.tokens = Some(tokens(listed));
        world.has_all_clusters = false;
    });
    assert!(of_some.iter().all(|it| it.id != "untraceable-logins"), "{of_some:#?}");
}
