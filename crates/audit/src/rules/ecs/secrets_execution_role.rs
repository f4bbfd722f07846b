use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-secrets-execution-role",
    summary: "a definition with secrets has an execution role",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS has no permission to read the secrets, and the task never starts",
    explanation: "\
ECS reads secrets before it starts a container, with the permissions of the task *execution* role. The task role is \
for the containers themselves and is not used for secrets. The execution role needs `secretsmanager:GetSecretValue` or \
`ssm:GetParameters` for the secrets or parameters, and `kms:Decrypt` if they are encrypted with a key of the account.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html",
    ],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "executionRoleArn",
        fails: None,
        repaired: Some(r#""arn:aws:iam::123456789012:role/report-execution""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let role = &subject.definition.execution_role;
    let with_secret = subject.definition.containers.items.iter().find_map(|it| Some((it, it.secrets.items.first()?)));
    if let (true, Some((container, secret))) = (role.is_absent(), with_secret) {
        let message = format!("{} has secrets, but the definition has no execution role", container.label());
        let draft = Draft::new(role.span(), message, "set executionRoleArn to a role that may read the secrets");
        findings.add(draft.of(container).note(secret.place.span, "the first secret"));
    }
}
