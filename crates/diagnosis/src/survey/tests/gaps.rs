//! What is said of something that could not be read.

use ::report::Cause;
use observe::{CallError, ConsulError, EcsError, TokenOwner};

use super::*;

#[test]
fn cluster_that_ecs_does_not_know_is_a_gap_unless_consul_has_entries_of_it() {
    let typo = "arn:aws:ecs:us-east-1:123456789012:cluster/prd";
    let reason = "ECS does not know it. Correct ECS_CLUSTER_ARNS, or delete it";
    let problem = || Problem {
        cluster_arn: Some(typo.to_owned()),
        cause: Some(Cause::UnknownCluster),
        ..Problem::new(None, ErrorLabel::Ecs, &reason)
    };
    let unread = said(|world| world.plan.problems.push(problem()), false).unread;
    assert!(unread.len() == 1 && !unread[0].what.contains("ECS_CLUSTER_ARNS"), "{unread:?}");
    let in_consul = |world: &mut World| {
        world.plan.problems.push(problem());
        world.unknown = Some(plan(vec![report_of(typo)]));
    };
    assert_eq!(said(in_consul, false).unread, []);
}

#[test]
fn what_could_not_be_read_names_the_permission_of_its_cause() {
    let of = |errors: Vec<CallError>| {
        said(|world| world.plan.problems.extend(errors.iter().map(|error| error.problem(Some(&cluster())))), false)
            .unread
    };
    let (subject, token) = (|| "the list of ACL tokens".to_owned(), TokenOwner::Command);
    let denied = "AccessDeniedException: User: arn:aws:sts::123456789012:assumed-role/a/b is not authorized to perform: \
                  ecs:ListTasks on resource: *";
    let refused = "token with AccessorID 'x' lacks permission 'acl:read'";
    let unread = of(vec![
        EcsError::Refused { subject: "tasks of cluster prod".to_owned(), reason: denied.to_owned() }.into(),
        ConsulError::PermissionDenied { subject: subject(), token, reason: refused.to_owned() }.into(),
        ConsulError::Throttled { subject: subject(), retry_after: None }.into(),
    ]);
    let permission = |of: &str| unread.iter().find(|it| it.what.contains(of)).unwrap().permission.as_deref();
    assert_eq!(permission("tasks of cluster prod"), Some("ecs:ListTasks"));
    assert_eq!((permission("acl:read"), permission("throttled")), (Some("acl:read"), None));
    // A token that Consul does not know fails every read, and is said once
    let rejected = |subject: &str| ConsulError::CredentialRejected { subject: subject.to_owned(), token }.into();
    let unread = of(vec![rejected("nodes"), rejected("tokens")]);
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert!(unread[0].what.contains("does not know the token in CONSUL_HTTP_TOKEN"), "{unread:?}");
}

#[test]
fn strangers_learn_why_something_could_not_be_read_if_the_reason_is_ours() {
    let reason = |label, cause| {
        let problem = Problem { cause, ..Problem::new(None, label, &"cluster prod: ada may not") };
        let report = said(|world| world.plan.problems.push(problem), true);
        let [unread] = report.unread.as_slice() else { panic!("{:?}", report.unread) };
        unread.what.clone()
    };
    let silent = Cause::NoAnswer { reason: "10.0.0.1: refused".to_owned() };
    assert_eq!(reason(ErrorLabel::ConsulUnavailable, Some(silent)), "Consul could not be read at CONSUL_HTTP_ADDR");
    let denied = Cause::Denied { permission: None };
    assert_eq!(reason(ErrorLabel::AwsRefused, Some(denied)), "a permission is missing");
    assert_eq!(reason(ErrorLabel::AwsRefused, None), "left out: it can have names");
}

#[test]
fn error_of_the_plan_and_of_the_inspection_is_said_once() {
    let (subject, token) = (|| "the list of ACL tokens".to_owned(), TokenOwner::Command);
    let unread_by_both = |error: ConsulError| {
        let error = CallError::from(error);
        let change = |world: &mut World| {
            world.plan.problems.push(error.problem(Some(&cluster())));
            world.inspection.problems.push(error.clone().into());
        };
        let unread = said(change, false).unread;
        assert_eq!(unread.len(), 1, "{error:?}: {unread:#?}");
        unread[0].nameless
    };
    let reason = || "10.0.0.1 is web".to_owned();
    let nameless = [
        ConsulError::CredentialRejected { subject: subject(), token },
        ConsulError::CredentialUnreadable { token, reason: reason(), is_denied: false },
        ConsulError::Unavailable { subject: subject(), reason: reason(), had_no_effect: true },
        ConsulError::Malformed { subject: subject(), reason: reason() },
        ConsulError::PermissionDenied { subject: subject(), token, reason: reason() },
        ConsulError::Throttled { subject: subject(), retry_after: None },
    ]
    .map(unread_by_both);
    assert_eq!(
        nameless,
        [
            "Consul does not know the token",
            "the token of Consul is not usable",
            "Consul could not be read at CONSUL_HTTP_ADDR",
            "what answers at CONSUL_HTTP_ADDR is not what Consul would answer",
            "a permission is missing",
            "left out: it can have names",
        ]
    );
    // Different answers to two reads stay two
    let unread = said(
        |world| {
            let malformed = |subject: &str| ConsulError::Malformed { subject: subject.to_owned(), reason: reason() };
            world.plan.problems.push(CallError::from(malformed("nodes")).problem(None));
            world.inspection.problems.push(malformed("tokens").into());
        },
        false,
    )
    .unread;
    assert_eq!(unread.len(), 2, "{unread:#?}");
}

#[test]
fn cluster_of_a_mistyped_name_has_a_near_one_behind_it() {
    let unread = |name: &str| {
        let arn = format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}");
        let problem = Problem {
            cluster_arn: Some(arn),
            cause: Some(Cause::UnknownCluster),
            ..Problem::new(None, ErrorLabel::Ecs, &"unknown")
        };
        said(|world| world.plan.problems.push(problem), false).unread.remove(0).what
    };
    assert!(
        unread("prodd").ends_with("ECS does not know it; the nearest cluster with a node in Consul is prod"),
        "{}",
        unread("prodd")
    );
    assert!(unread("batch").ends_with("ECS does not know it"), "{}", unread("batch"));
}
