//! The mesh tag that a revision has lost: `DescribeTaskDefinition` returns tags only on demand, so that a pipeline that registers a
//! copy of a revision drops them.

use audit::subject::Subject;
use audit_read::definition::{LostTag, Maybe, TaskDefinition};
use aws::ecs::Inventory;
use mesh::{arn::TaskDefinitionArn, consul_ecs::MESH_TAG};
use serde_json::Value;

use crate::read;

/// Which earlier revision had the mesh tag that a revision of the mesh does not have; `None` if none of those that are read had it.
/// One call for each of them. `described` is what ECS says of the later revision.
pub(crate) async fn of(inventory: &dyn Inventory, definition: &TaskDefinition, described: &Value) -> Option<LostTag> {
    let arn = definition.address.parse::<TaskDefinitionArn>().ok().filter(|_| is_untagged(definition))?;
    for earlier in arn.earlier() {
        let json = match inventory.describe_definition(earlier.as_str()).await {
            Ok(json) => json,
            Err(error) => return Some(LostTag::Unread(earlier.short_name(), error.to_string())),
        };
        let (definitions, problem) = read(earlier.as_str(), &json);
        let Some(earlier_definition) = definitions.first() else {
            let why = problem.map_or_else(|| "ECS describes no task definition".to_owned(), |problem| problem.reason);
            return Some(LostTag::Unread(earlier.short_name(), why));
        };
        if has_tag(earlier_definition) {
            let text = |field: &str| described.get("taskDefinition")?.get(field)?.as_str().map(str::to_owned);
            return Some(LostTag::From {
                earlier: earlier.short_name(),
                registered_by: text("registeredBy").map(|arn| without_account(&arn).to_owned()),
                registered_at: text("registeredAt"),
            });
        }
        if !is_untagged(earlier_definition) {
            return None;
        }
    }
    None
}

/// Whether it runs consul-ecs, and certainly has no mesh tag.
fn is_untagged(definition: &TaskDefinition) -> bool {
    matches!(definition.tag(MESH_TAG), Maybe::Absent) && Subject::new(definition).consul.is_some()
}

fn has_tag(definition: &TaskDefinition) -> bool {
    matches!(definition.tag(MESH_TAG), Maybe::Known(tag) if tag.value.text() == Some("true"))
}

/// `assumed-role/deploy/run-812` of the ARN of a principal.
fn without_account(arn: &str) -> &str {
    arn.splitn(6, ':').nth(5).unwrap_or(arn)
}
