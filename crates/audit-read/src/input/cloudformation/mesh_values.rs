//! The values of `Ref` and `Fn::GetAtt` for resources of App Mesh, which follow from the resources' own properties.
//! Source: the return values in <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_AppMesh.html>

use super::{app_mesh::kind, scope::Scope};
use crate::{
    app_mesh::ResourceKind,
    definition::Dialect,
    document::{HOLE, Node, Value},
};

/// Properties that refer to each other in a longer chain are unknown. A node's mesh, for example, is a chain of two.
const MAX_CHAIN: usize = 4;

impl Scope<'_, '_> {
    /// `Ref` and the attribute `Arn`: the ARN of a virtual node or virtual gateway, which Envoy gets. Its partition,
    /// region and account are unknown.
    pub(super) fn mesh_arn(&self, id: &str) -> Option<Value> {
        let kind = self.mesh_kind(id)?;
        if !matches!(kind, ResourceKind::VirtualNode | ResourceKind::VirtualGateway) {
            return None;
        }
        let part = |key: &str| match self.own_property(id, key).map(|node| node.value) {
            Some(Value::Text(text)) => text,
            _ => HOLE.to_string(),
        };
        let (mesh, name) = (part(ResourceKind::Mesh.name_key()), part(kind.name_key()));
        Some(Value::Text(format!("arn:{HOLE}:appmesh:{HOLE}:{HOLE}:mesh/{mesh}/{}/{name}", kind.key())))
    }

    /// `Fn::GetAtt` with the name of the resource itself, of its mesh, or of the router or gateway that it belongs to.
    pub(super) fn mesh_attribute(&self, id: &str, attribute: &str) -> Option<Value> {
        if attribute == "Arn" {
            return self.mesh_arn(id);
        }
        let kind = self.mesh_kind(id)?;
        let names = [Some(ResourceKind::Mesh), kind.owner(), Some(kind)];
        let name = names.into_iter().flatten().find(|it| Dialect::CloudFormation.spell(it.name_key()) == attribute)?;
        self.own_property(id, name.name_key()).map(|node| node.value).filter(|value| matches!(value, Value::Text(_)))
    }

    fn mesh_kind(&self, id: &str) -> Option<ResourceKind> {
        kind(self.template.resources.get(id)?.get("Type")?.text()?)
    }

    /// A property of another resource, called `key` in the API. Without it, CloudFormation generates a name.
    fn own_property(&self, id: &str, key: &str) -> Option<Node> {
        let property = self.template.resources.get(id)?.get("Properties")?.get(&Dialect::CloudFormation.spell(key))?;
        let depth = self.depth.get();
        if depth >= MAX_CHAIN {
            return None;
        }
        self.depth.set(depth + 1);
        let resolved = self.resolve(property);
        self.depth.set(depth);
        Some(resolved)
    }
}
