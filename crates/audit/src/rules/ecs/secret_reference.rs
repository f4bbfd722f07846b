use crate::{
    document::HOLE,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-secret-reference",
    summary: "secrets are named in a form that ECS can resolve",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    effect: "ECS cannot fetch the secret, and the task stops with a ResourceInitializationError before a container starts",
    explanation: "\
`valueFrom` is one of these: the ARN of a secret of Secrets Manager; that ARN with all of \
`:json-key:version-stage:version-id` behind it, of which each may be empty, so that the key `token` is `:token::`; the ARN of a \
parameter of the Parameter Store; or the name of such a parameter in the same region. With one or two colons too few, ECS looks \
for a secret of another name.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-ssm-paramstore.html",
    ],
    examples: &[
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[migrate].secrets[DATABASE_URL].valueFrom",
            fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url""#),
            repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url::""#),
        },
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[migrate].secrets[DATABASE_URL].valueFrom",
            fails: Some(r#""report-db:url::""#),
            repaired: Some(r#""/report/db/url""#),
        },
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[migrate].secrets[DATABASE_URL].valueFrom",
            fails: Some(r#""arn:aws:ssm:us-east-1:123456789012:report/db/url""#),
            repaired: Some(r#""arn:aws:ssm:us-east-1:123456789012:parameter/report/db/url""#),
        },
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[migrate].secrets[DATABASE_URL].valueFrom",
            fails: Some(r#""arn:aws:s3:::report/db-url""#),
            repaired: Some(r#""arn:aws:ssm:us-east-1:123456789012:parameter/report/db/url""#),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for secret in &container.secrets.items {
            let Some((wrong, help)) = secret.value_from.known().and_then(|text| defect(&text.0)) else { continue };
            let name = secret
                .name
                .known()
                .map_or_else(|| "a secret".to_owned(), |name| format!("the secret {}", name.shown()));
            let message = format!("{name} of {} {wrong}", container.label());
            findings.add(Draft::new(secret.value_from.span(), message, help).of(container));
        }
    }
}

/// What is wrong with a reference, and what to do. Unknown parts count as whole parts between colons only where that is
/// all they can be.
fn defect(reference: &str) -> Option<(&'static str, &'static str)> {
    let parts: Vec<&str> = reference.split(':').collect();
    match parts.as_slice() {
        // What kind of reference it is, shows in the first six parts.
        ["arn", ..] if parts.iter().take(6).any(|part| part.ends_with(HOLE) && part.len() > HOLE.len_utf8()) => None,
        ["arn", ..] if parts.get(5).is_none_or(|part| part.contains(HOLE)) && reference.contains(HOLE) => None,
        ["arn", _, "secretsmanager", _, _, "secret", rest @ ..] => {
            let is_whole = matches!(rest.len(), 1 | 4) || rest.iter().any(|part| part.contains(HOLE));
            let help = "write all of :json-key:version-stage:version-id behind the ARN, as in :token::, or none of it";
            (!is_whole).then_some(("has a JSON key without all of its colons", help))
        }
        ["arn", _, "ssm", _, _, resource, ..] => {
            let is_parameter = resource.starts_with("parameter") || resource.starts_with(HOLE);
            (!is_parameter)
                .then_some(("names no parameter", "write :parameter/ and the parameter's name behind the account"))
        }
        ["arn", _, service, ..] => (!service.contains(HOLE)).then_some((
            "is neither in Secrets Manager nor in the Parameter Store",
            "name a secret of Secrets Manager or a parameter of the Parameter Store",
        )),
        // The name of a parameter may have a version or label behind one colon.
        [_, _, _, ..] if !reference.contains(HOLE) => Some((
            "has a JSON key, but is no ARN",
            "write the full ARN of the secret before the key: ECS takes a plain name for a parameter",
        )),
        _ => None,
    }
}
