use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-task-role",
    summary: "a task that logs in to Consul has a task role",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the login has no IAM identity, Consul creates no token, and the task never starts its app",
    explanation: "\
Consul's auth method `aws-iam` identifies a task by its IAM role, `taskRoleArn`. The role's path, usually \
`/consul-ecs/`, permits the login, and the role's tags contain the name of the service. On Fargate, a task without a \
task role has no identity; on EC2, it may have that of the instance, which does not identify the service. Each family \
needs its own role, because the role determines the service.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "taskRoleArn",
        fails: None,
        repaired: Some(r#""arn:aws:iam::123456789012:role/consul-ecs/web-task""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let role = &subject.definition.task_role;
    if role.is_absent() && logs_in(consul) {
        let message = "the task logs in to Consul, but has no task role";
        let help = "set taskRoleArn to a role for this family only, with the path /consul-ecs/";
        findings.add(Draft::new(role.span(), message, help));
    }
}

fn logs_in(consul: &ConsulTask<'_>) -> bool {
    consul.configuration.flag("consulLogin.enabled", false) == Some(true)
        || consul.client.and_then(AgentScript::of).is_some_and(|script| script.mentions("consul login"))
}
