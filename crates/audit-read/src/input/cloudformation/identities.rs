//! What references to secrets, parameters and roles of a template come to. What only the deployment decides is unknown.

use document::{HOLE, Node, Value};

use super::scope::Scope;

/// The properties that refer to secrets, roles and groups of logs by ARN or name.
pub(super) const ARNS: [&str; 3] = ["ValueFrom", "Resource", "awslogs-group"];

impl Scope<'_, '_> {
    /// The value of `Ref` of a secret or parameter in a property of [`ARNS`].
    pub(super) fn referenced(&self, id: &str) -> Option<Value> {
        let (kind, name) = self.identity(id)?;
        let text = match kind {
            // Without a name, CloudFormation generates one of the logical ID. Six characters follow the name.
            "AWS::SecretsManager::Secret" => {
                let name = name.unwrap_or_else(|| format!("{HOLE}{id}{HOLE}"));
                format!("arn:{HOLE}:secretsmanager:{HOLE}:{HOLE}:secret:{name}-{HOLE}")
            }
            "AWS::SSM::Parameter" => name?,
            "AWS::Logs::LogGroup" => name.unwrap_or_else(|| format!("{HOLE}{id}{HOLE}")),
            _ => return None,
        };
        Some(Value::Text(text))
    }

    /// The value of the attribute `Arn` of a role or of a group of logs in such a property.
    pub(super) fn arn_of(&self, id: &str, attribute: &str) -> Option<Value> {
        let (kind, name) = self.identity(id).filter(|_| attribute == "Arn")?;
        if kind == "AWS::Logs::LogGroup" {
            let name = name.unwrap_or_else(|| format!("{HOLE}{id}{HOLE}"));
            return Some(Value::Text(format!("arn:{HOLE}:logs:{HOLE}:{HOLE}:log-group:{name}:*")));
        }
        if kind != "AWS::IAM::Role" {
            return None;
        }
        let path = match self.template.resources.get(id)?.get("Properties")?.get("Path") {
            None => "/".to_owned(),
            Some(path) => path.text().map_or_else(|| HOLE.to_string(), str::to_owned),
        };
        let name = name.unwrap_or_else(|| HOLE.to_string());
        Some(Value::Text(format!("arn:{HOLE}:iam::{HOLE}:role{path}{name}")))
    }

    /// The type of a resource, and its name, if a literal says it; `None` outside of such a property.
    fn identity(&self, id: &str) -> Option<(&str, Option<String>)> {
        let resource = self.template.resources.get(id).filter(|_| self.names_resources.get())?;
        let properties = resource.get("Properties");
        let literal = |key: &str| properties.and_then(|properties| properties.get(key)).and_then(Node::text);
        let has = |key: &str| properties.is_some_and(|properties| properties.get(key).is_some());
        let name = ["Name", "RoleName", "LogGroupName"].into_iter().find(|key| has(key));
        let name = name.map(|key| literal(key).map_or_else(|| HOLE.to_string(), str::to_owned));
        Some((resource.get("Type")?.text()?, name))
    }
}
