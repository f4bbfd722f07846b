use crate::{
    document::HOLE,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-secret-reference",
    summary: "references to secrets have a form that ECS can resolve",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS cannot fetch the secret, and the task stops with a ResourceInitializationError before a container starts",
    explanation: "\
`valueFrom` is one of these: the ARN of a secret in Secrets Manager; that ARN followed by \
`:json-key:version-stage:version-id`, of which each part may be empty, so that the key `token` is `:token::`; the ARN \
of a parameter in the Parameter Store; or the name of such a parameter in the same region. If one or two of the colons \
are missing, ECS looks for a secret of another name.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-ssm-paramstore.html",
    ],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[migrate].secrets[DATABASE_URL].valueFrom",
        fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url""#),
        repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:report-db-YzAbCd:url::""#),
    }),
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

/// The defect of a reference, and how to correct it. An unknown part counts as one part between colons only if it
/// cannot be anything else.
fn defect(reference: &str) -> Option<(&'static str, &'static str)> {
    let parts: Vec<&str> = reference.split(':').collect();
    match parts.as_slice() {
        // The first six parts show the kind of reference.
        ["arn", ..] if parts.iter().take(6).any(|part| part.ends_with(HOLE) && part.len() > HOLE.len_utf8()) => None,
        ["arn", ..] if parts.get(5).is_none_or(|part| part.contains(HOLE)) && reference.contains(HOLE) => None,
        ["arn", _, "secretsmanager", _, _, "secret", rest @ ..] => {
            let is_whole = matches!(rest.len(), 1 | 4) || rest.iter().any(|part| part.contains(HOLE));
            let help = "add all of :json-key:version-stage:version-id to the ARN, as in :token::, or nothing";
            (!is_whole).then_some(("has a JSON key, but not all colons", help))
        }
        ["arn", _, "ssm", _, _, resource, ..] => {
            let is_parameter = resource.starts_with("parameter") || resource.starts_with(HOLE);
            (!is_parameter)
                .then_some(("contains no parameter", "add :parameter/ and the parameter's name after the account"))
        }
        ["arn", _, service, ..] => (!service.contains(HOLE)).then_some((
            "is neither in Secrets Manager nor in the Parameter Store",
            "use a secret in Secrets Manager or a parameter in the Parameter Store",
        )),
        // The name of a parameter may be followed by a colon and a version or label.
        [_, _, _, ..] if !reference.contains(HOLE) => Some((
            "has a JSON key, but is not an ARN",
            "use the full ARN of the secret before the key: a plain name is that of a parameter",
        )),
        _ => None,
    }
}
