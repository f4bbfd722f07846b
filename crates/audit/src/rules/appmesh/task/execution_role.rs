use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-execution-role",
    summary: "a task on Fargate with App Mesh's private registry has an execution role",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "the Envoy image cannot be pulled, and the task stops with CannotPullContainerError",
    explanation: "\
A private registry of Amazon ECR requires credentials. On EC2, they come from the role of the instance; on Fargate, \
from the task execution role, with the managed policy `AmazonECSTaskExecutionRolePolicy` or one for the repository.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "executionRoleArn",
        fails: None,
        repaired: Some(r#""arn:aws:iam::123456789012:role/orders-execution""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let is_private = envoy.image.known().is_some_and(|image| image.mentions(".dkr.ecr."));
    // Secrets require the role as well: another rule reports that.
    let has_secrets = definition.containers.items.iter().any(|container| !container.secrets.items.is_empty());
    if is_private && !has_secrets && definition.execution_role.is_absent() && definition.runs_on_fargate() {
        let message =
            format!("{} comes from a private registry, but the definition has no execution role", envoy.label());
        let help =
            "set executionRoleArn to a role with AmazonECSTaskExecutionRolePolicy, or use the image of public.ecr.aws";
        let draft = Draft::new(definition.execution_role.span(), message, help);
        findings.add(draft.of(envoy).note(envoy.image.span(), "the image"));
    }
}
