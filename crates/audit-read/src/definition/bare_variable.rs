//! Variables of `Fn::Sub` in texts that no `Fn::Sub` reads.

use document::{Node, Span, Value};
use mesh::consul_ecs::CONFIG_VARIABLE;

/// A text of a CloudFormation template with `${Name}`, which stays in the text as it is.
#[derive(Debug, Clone)]
pub struct BareVariable {
    /// The bytes of the whole value; of a [lost](Self::lost) variable, its own.
    pub span: Span,
    /// What is between the braces: `Name`, `Role.Arn`.
    pub variables: Vec<String>,
}

impl BareVariable {
    fn of(node: &Node) -> Option<Self> {
        let Value::Text(text) = &node.value else { return None };
        let after = text.split("${").skip(1);
        let variables: Vec<String> =
            after.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned()).collect();
        (!variables.is_empty()).then_some(Self { span: node.place.span, variables })
    }

    /// The first variable that the template `declares`, alone and with its own place. Programs in the container may replace others.
    pub(crate) fn lost(&self, source: &str, declares: &dyn Fn(&str) -> bool) -> Option<Self> {
        // `Fn::Sub` makes `${Name}` of `${!Name}`. A text of a parameter's default is elsewhere in the file.
        let source = source.get(self.span.start..self.span.end).filter(|source| !source.contains("${!"))?;
        self.variables.iter().find_map(|variable| {
            let written = format!("${{{variable}}}");
            let at = self.span.start + source.find(&written)?;
            let name = variable.split('.').next().unwrap_or_default();
            let is_lost = declares(name) || variable.starts_with("AWS::");
            is_lost.then(|| Self { span: Span::new(at, at + written.len()), variables: vec![variable.clone()] })
        })
    }

    /// The variables in the values of a task definition that ECS or consul-ecs reads. In commands, health checks and other
    /// variables, a program in the container may replace them.
    pub(super) fn in_definition(node: &Node) -> Vec<Self> {
        let own = ["Family", "TaskRoleArn", "ExecutionRoleArn"].into_iter().filter_map(|key| node.get(key));
        let of_containers = node.items_of("ContainerDefinitions").iter().flat_map(|container| {
            let own = ["Name", "Image"].into_iter().filter_map(|key| container.get(key));
            let secrets = container.items_of("Secrets").iter().filter_map(|secret| secret.get("ValueFrom"));
            let is_configuration =
                |variable: &&Node| variable.get("Name").and_then(Node::text) == Some(CONFIG_VARIABLE);
            let configuration = container.items_of("Environment").iter().filter(is_configuration);
            let values = own.chain(secrets).chain(configuration.filter_map(|variable| variable.get("Value")));
            values.chain(of_log(container)).chain(of_files(container))
        });
        own.chain(of_containers).chain(tags(node)).filter_map(Self::of).collect()
    }

    /// The variables in the values of a role that decide who it is.
    pub(super) fn in_role(node: &Node) -> Vec<Self> {
        let own = ["RoleName", "Path"].into_iter().filter_map(|key| node.get(key));
        own.chain(tags(node)).filter_map(Self::of).collect()
    }
}

/// The values for the log driver. Options of other drivers than `awslogs` may have variables of their own.
fn of_log(container: &Node) -> impl Iterator<Item = &Node> {
    let log = container.get("LogConfiguration");
    let options = log.map(|log| log.entries_of("Options")).unwrap_or_default();
    let options = options.iter().filter(|option| option.key.starts_with("awslogs-")).map(|option| &option.node);
    let secrets = log.map(|log| log.items_of("SecretOptions")).unwrap_or_default();
    options.chain(secrets.iter().filter_map(|secret| secret.get("ValueFrom")))
}

/// What ECS reads before it starts a container: files of variables, and the credentials of a registry.
fn of_files(container: &Node) -> impl Iterator<Item = &Node> {
    let files = container.items_of("EnvironmentFiles").iter().filter_map(|file| file.get("Value"));
    files.chain(container.get("RepositoryCredentials").and_then(|credentials| credentials.get("CredentialsParameter")))
}

/// The values of the tags that Consul or a controller reads.
fn tags(owner: &Node) -> impl Iterator<Item = &Node> {
    let is_read = |tag: &&Node| tag.get("Key").and_then(Node::text).is_some_and(|key| key.starts_with(TAGS));
    owner.items_of("Tags").iter().filter(is_read).filter_map(|tag| tag.get("Value"))
}

/// What the keys of the mesh's tags begin with, on tasks and on roles.
const TAGS: &str = "consul.hashicorp.com";
