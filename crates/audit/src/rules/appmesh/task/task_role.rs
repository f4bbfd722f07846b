use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-task-role",
    summary: "a task on Fargate has a task role",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "Envoy has no credentials to sign its requests to App Mesh, and never becomes healthy",
    explanation: "\
Envoy signs its requests to App Mesh. On EC2, it may use the role of the instance; on Fargate there is none, so that \
the definition needs a task role. With proxy authorization, the role needs `appmesh:StreamAggregatedResources` for the \
virtual node or gateway.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/proxy-authorization.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "taskRoleArn",
        fails: None,
        repaired: Some(r#""arn:aws:iam::123456789012:role/orders-task""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let role = &subject.definition.task_role;
    if role.is_absent() && subject.definition.runs_on_fargate() {
        let message = "the definition runs on Fargate, but has no task role";
        findings.add(Draft::new(role.span(), message, "set taskRoleArn to a role that ECS tasks may assume"));
    }
}
