//! The spelling of keys in each format.

use super::api::Shape;

/// The spelling of a task definition's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// ECS's JSON: `networkMode`.
    Ecs,
    /// Terraform's own language: containers are spelled as in ECS's JSON, the arguments around them are not.
    Terraform,
    /// The output of `terraform show -json`: spelled as in ECS's JSON.
    TerraformPlan,
    /// The arguments of App Mesh's resources in Terraform: `http_route`.
    TerraformAppMesh,
    /// CloudFormation: `NetworkMode`. Numbers and booleans may be strings.
    CloudFormation,
    /// CloudFormation's properties of App Mesh, which has abbreviations in capitals: `HTTP2`.
    CloudFormationAppMesh,
}

/// The arguments around containers, as ECS and as Terraform spells them. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition>
const ARGUMENTS: [(&str, &str); 6] = [
    ("networkMode", "network_mode"),
    ("requiresCompatibilities", "requires_compatibilities"),
    ("taskRoleArn", "task_role_arn"),
    ("executionRoleArn", "execution_role_arn"),
    ("proxyConfiguration", "proxy_configuration"),
    ("propagateTags", "propagate_tags"),
];

/// The keys that differ by more than their first letter, as ECS and as CloudFormation spells them. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html>
const CAPITALS: &[(&str, &str)] = &[
    ("properties", "ProxyConfigurationProperties"),
    ("efsVolumeConfiguration", "EFSVolumeConfiguration"),
    ("s3filesVolumeConfiguration", "S3FilesVolumeConfiguration"),
    ("fsxWindowsFileServerVolumeConfiguration", "FSxWindowsFileServerVolumeConfiguration"),
    ("fileSystemId", "FilesystemId"),
    ("iam", "IAM"),
    ("placementStrategy", "PlacementStrategies"),
];

/// The properties of App Mesh in capitals, as the API and as CloudFormation spell them. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_AppMesh.html>
const CAPITALS_OF_APP_MESH: &[(&str, &str)] = &[
    ("acm", "ACM"),
    ("awsCloudMap", "AWSCloudMap"),
    ("dns", "DNS"),
    ("grpc", "GRPC"),
    ("http", "HTTP"),
    ("http2", "HTTP2"),
    ("sds", "SDS"),
    ("tcp", "TCP"),
    ("tls", "TLS"),
];

/// The keys of containers and of their parts that texts name, as ECS spells them. No word of prose and no field of
/// consul-ecs's configuration is spelled so.
const KEYS: [&str; 14] = [
    "containerName",
    "containerPath",
    "dependsOn",
    "entryPoint",
    "healthCheck",
    "hostPort",
    "linuxParameters.capabilities.add",
    "mountPoints",
    "portMappings",
    "readOnly",
    "restartPolicy",
    "sourceVolume",
    "startTimeout",
    "stopTimeout",
];

impl Dialect {
    /// `key`, as ECS spells it, in this spelling.
    pub fn spell(self, key: &str) -> String {
        match self {
            Self::Ecs | Self::Terraform | Self::TerraformPlan => return key.to_owned(),
            Self::TerraformAppMesh => return snake_case(key),
            Self::CloudFormation | Self::CloudFormationAppMesh => {}
        }
        if let Some((_, capital)) = self.capitals().iter().find(|(ecs, _)| *ecs == key) {
            return (*capital).to_owned();
        }
        let mut chars = key.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
    }

    /// The keys that differ by more than their first letter, as ECS or App Mesh and as this format spells them.
    fn capitals(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CloudFormation => CAPITALS,
            Self::CloudFormationAppMesh => CAPITALS_OF_APP_MESH,
            Self::Ecs | Self::Terraform | Self::TerraformPlan | Self::TerraformAppMesh => &[],
        }
    }

    /// Whether a key of a file is `name`, as ECS spells it, in this spelling.
    pub(crate) fn is_spelling_of(self, key: &str, name: &str) -> bool {
        match self {
            Self::Ecs => key == name,
            Self::Terraform | Self::TerraformPlan => key.eq_ignore_ascii_case(name),
            Self::TerraformAppMesh => key == snake_case(name),
            Self::CloudFormation | Self::CloudFormationAppMesh => {
                match self.capitals().iter().find(|(ecs, _)| *ecs == name) {
                    Some((_, capital)) => key == *capital,
                    None => {
                        key.eq_ignore_ascii_case(name)
                            && key.get(1..) == name.get(1..)
                            && key.starts_with(|c: char| c.is_ascii_uppercase())
                    }
                }
            }
        }
    }

    /// `value` with all of its keys in this spelling, but for those that are the user's.
    pub fn spell_value(self, value: serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| {
                    let has_own_keys = Shape::with_own_keys().any(|own| key == own || key == self.spell(own));
                    (self.spell(&key), if has_own_keys { value } else { self.spell_value(value) })
                })
                .collect(),
            serde_json::Value::Array(items) => items.into_iter().map(|item| self.spell_value(item)).collect(),
            scalar => scalar,
        }
    }

    /// `text`, which names arguments as ECS does, with the names of this format.
    pub fn spell_arguments(self, text: String) -> String {
        match self {
            Self::Terraform => ARGUMENTS.iter().fold(text, |text, (ecs, own)| replace_words(&text, ecs, own)),
            Self::CloudFormation | Self::CloudFormationAppMesh => {
                let keys = ARGUMENTS.iter().map(|(ecs, _)| *ecs).chain(KEYS);
                keys.fold(text, |text, key| replace_words(&text, key, &self.spell_path(key)))
            }
            Self::Ecs | Self::TerraformPlan | Self::TerraformAppMesh => text,
        }
    }

    /// Keys with dots between them, as ECS spells them, in this spelling.
    fn spell_path(self, path: &str) -> String {
        path.split('.').map(|key| self.spell(key)).collect::<Vec<_>>().join(".")
    }

    /// How to define a volume that has only a name.
    pub fn help_to_add_volume(self, name: &str) -> String {
        match self {
            Self::Ecs | Self::TerraformPlan | Self::TerraformAppMesh => {
                format!("add {{ \"name\": \"{name}\" }} to volumes")
            }
            Self::Terraform => format!("add volume {{ name = \"{name}\" }}"),
            Self::CloudFormation | Self::CloudFormationAppMesh => format!("add {{ Name: {name} }} to Volumes"),
        }
    }

    /// Whether keys match in any case: Terraform's provider reads `container_definitions` so. Source:
    /// <https://pkg.go.dev/encoding/json#Unmarshal>
    pub(super) fn matches_keys_in_any_case(self) -> bool {
        matches!(self, Self::Terraform | Self::TerraformPlan)
    }

    /// Whether numbers and booleans may be written as strings.
    pub fn is_lenient(self) -> bool {
        matches!(self, Self::CloudFormation | Self::CloudFormationAppMesh)
    }
}

/// `virtualNodeName` is `virtual_node_name`.
fn snake_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// `text` with `own` in place of each `name` that is not a part of a longer word or path.
pub(super) fn replace_words(text: &str, name: &str, own: &str) -> String {
    let is_inside = |c: char| c.is_alphanumeric();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(name) {
        out.push_str(before);
        let is_a_part = out.ends_with(|c: char| is_inside(c) || c == '.') || after.starts_with(is_inside);
        out.push_str(if is_a_part { name } else { own });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_have_terraform_s_names_in_its_language() {
        let spelled = |dialect: Dialect| dialect.spell_arguments("set networkMode to awsvpc".to_owned());
        assert_eq!(spelled(Dialect::Terraform), "set network_mode to awsvpc");
        assert_eq!(spelled(Dialect::CloudFormation), "set NetworkMode to awsvpc");
        assert_eq!(spelled(Dialect::Ecs), "set networkMode to awsvpc");
    }

    #[test]
    fn abbreviations_are_in_capitals_only_in_app_mesh() {
        for (dialect, key, name, is_spelling) in [
            (Dialect::CloudFormationAppMesh, "TLS", "tls", true),
            (Dialect::CloudFormationAppMesh, "Tls", "tls", false),
            (Dialect::CloudFormationAppMesh, "HttpRoute", "httpRoute", true),
            (Dialect::CloudFormationAppMesh, "AWSCloudMap", "awsCloudMap", true),
            (Dialect::CloudFormation, "Tls", "tls", true),
            (Dialect::CloudFormation, "TLS", "tls", false),
        ] {
            assert_eq!(dialect.is_spelling_of(key, name), is_spelling, "{dialect:?} {key}");
        }
    }

    #[test]
    fn fields_of_the_configuration_stay_as_they_are() {
        let text = "set proxy.healthCheckPort to 22000, and readOnly to true";
        let spelled = Dialect::CloudFormation.spell_arguments(text.to_owned());
        assert_eq!(spelled, "set proxy.healthCheckPort to 22000, and ReadOnly to true");
    }

    #[test]
    fn keys_are_spelled_but_not_those_of_the_user() {
        let logging = json!({ "logConfiguration": { "logDriver": "awslogs", "options": { "awslogs-group": "web" } } });
        let spelled = json!({ "LogConfiguration": { "LogDriver": "awslogs", "Options": { "awslogs-group": "web" } } });
        assert_eq!(Dialect::CloudFormation.spell_value(logging.clone()), spelled);
        assert_eq!(Dialect::CloudFormation.spell_value(spelled.clone()), spelled, "what is spelled stays so");
        assert_eq!(Dialect::Ecs.spell_value(logging.clone()), logging);
    }
}
