use crate::{
    definition::Text,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The account of the registry in most regions.
const ACCOUNT: &str = "840364872350";
/// The regions with other accounts. Source: <https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html>
const ELSEWHERE: [(&str, &str); 6] = [
    ("me-south-1", "772975370895"),
    ("ap-east-1", "856666278305"),
    ("ap-southeast-3", "909464085924"),
    ("eu-south-1", "422531588944"),
    ("il-central-1", "564877687649"),
    ("af-south-1", "924023996002"),
];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-image",
    summary: "Envoy has App Mesh's own image, from the region's account",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "the image cannot be pulled, or contains an Envoy that cannot get its configuration from App Mesh",
    explanation: "\
App Mesh needs a special Envoy: `aws-appmesh-envoy` signs its requests to the control plane with the credentials of \
the task, which the Envoy project's image does not. AWS publishes it in the public gallery \
(`public.ecr.aws/appmesh/aws-appmesh-envoy`) and in a private registry of each region: in the account 840364872350, \
except for me-south-1, ap-east-1, ap-southeast-3, eu-south-1, il-central-1 and af-south-1, which have other accounts. \
A copy in your own registry is allowed.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[envoy].image",
        fails: Some(r#""840364872350.dkr.ecr.eu-south-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#),
        repaired: Some(r#""422531588944.dkr.ecr.eu-south-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(image) = envoy.image.known().map(Text::head) else { return };
    let label = envoy.label();
    let draft = if is_upstream(image) {
        let help = "use public.ecr.aws/appmesh/aws-appmesh-envoy, v1.17.2.0-prod or newer";
        Draft::new(
            envoy.image.span(),
            format!("{label} is the Envoy project's image, which App Mesh cannot configure"),
            help,
        )
    } else if let Some((account, region, expected)) = wrong_account(image) {
        let message = format!("the account {account} has no Envoy image in {region}");
        let fix = envoy.image.text().map(|image| image.replacen(account, expected, 1));
        let fix = fix.and_then(|image| Fix::set(&envoy.image.place, image));
        Draft::new(envoy.image.span(), message, format!("in {region}, the account is {expected}")).fix(fix)
    } else {
        return;
    };
    findings.add(draft.of(envoy));
}

fn is_upstream(image: &str) -> bool {
    ["", "docker.io/", "index.docker.io/", "registry-1.docker.io/"]
        .iter()
        .any(|registry| image.strip_prefix(registry).is_some_and(|rest| rest.starts_with("envoyproxy/envoy")))
}

/// An account of AWS, the region in which it is wrong, and the right account. Other accounts may have copies.
fn wrong_account(image: &str) -> Option<(&str, &str, &'static str)> {
    let (registry, _) = image.split_once('/')?;
    let (account, rest) = registry.split_once(".dkr.ecr.")?;
    let (region, domain) = rest.split_once('.')?;
    let is_known = account == ACCOUNT || ELSEWHERE.iter().any(|(_, other)| *other == account);
    let expected = ELSEWHERE.iter().find(|(other, _)| *other == region).map_or(ACCOUNT, |(_, account)| *account);
    (is_known && domain == "amazonaws.com" && expected != account && !region.starts_with("us-gov-"))
        .then_some((account, region, expected))
}
