//! Templates that the AWS CDK has synthesised. Source:
//! <https://docs.aws.amazon.com/cdk/v2/guide/configure-synth.html>

use crate::document::{Entry, Node};

/// The metadata of a resource with the path of its construct:
/// <https://docs.aws.amazon.com/cdk/v2/guide/identifiers.html>
const PATH: &str = "aws:cdk:path";

/// The last parts of a path that the CDK leaves out of names: the resource inside of a construct.
const INNER: [&str; 2] = ["/Resource", "/Default"];

/// Whether the CDK has written a template. It adds the path of each construct, a resource for its own statistics, and
/// a rule that checks the version of its bootstrap stack; each of the three can be switched off.
pub(super) fn is_synthesised(template: &Node) -> bool {
    let is_its_own = |entry: &Entry| {
        metadata(&entry.node).is_some() || entry.node.get("Type").and_then(Node::text) == Some("AWS::CDK::Metadata")
    };
    template.get("Rules").is_some_and(|rules| rules.get("CheckBootstrapVersion").is_some())
        || template.get("Resources").is_some_and(|resources| resources.entries().iter().any(is_its_own))
}

/// The path of a resource's construct, as the CDK's commands print it: `Shop/Web/TaskDef`.
pub(super) fn construct(resource: &Node) -> Option<String> {
    let path = metadata(resource)?;
    Some(INNER.iter().find_map(|inner| path.strip_suffix(inner)).unwrap_or(path).to_owned())
}

fn metadata(resource: &Node) -> Option<&str> {
    resource.get("Metadata")?.get(PATH)?.text()
}
