//! References to what a template does not declare: CloudFormation refuses the template.

use std::{collections::BTreeMap, sync::Arc};

use super::{app_mesh::kind, resource::is_synthesised, scope::Scope};
use crate::{
    definition::{DECLARE, Dialect, Undeclared},
    spelling::misspelt,
};
use document::{Node, SourceFile, Span, Value};

/// Transforms that add no parameters and no resources.
const HARMLESS: [&str; 3] = ["AWS::LanguageExtensions", "AWS::SecretsManager-2020-07-23", "AWS::CodeDeployBlueGreen"];

/// The sections of a template. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html>
const SECTIONS: [&str; 11] = [
    "AWSTemplateFormatVersion",
    "Conditions",
    "Description",
    "Hooks",
    "Mappings",
    "Metadata",
    "Outputs",
    "Parameters",
    "Resources",
    "Rules",
    "Transform",
];

/// The functions of CloudFormation that add no parameters and no resources. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>
const FUNCTIONS: [&str; 23] = [
    "And",
    "Base64",
    "Cidr",
    "Contains",
    "EachMemberEquals",
    "EachMemberIn",
    "Equals",
    "FindInMap",
    "GetAZs",
    "GetAtt",
    "If",
    "ImportValue",
    "Join",
    "Length",
    "Not",
    "Or",
    "RefAll",
    "Select",
    "Split",
    "Sub",
    "ToJsonString",
    "ValueOf",
    "ValueOfAll",
];

/// Words that modules and the Serverless Framework write. Their templates have more resources than they show. Source:
/// <https://www.serverless.com/framework/docs/providers/aws/guide/variables>
const OPEN: [&str; 9] = ["::MODULE", "${self:", "${sls:", "${opt:", "${file(", "${env:", "${param:", "${ssm:", "${cf:"];

/// Whether a template shows all that it declares. One without a version may be a part of another one.
pub(super) fn is_whole(template: &Node, is_completed: bool) -> bool {
    let is_template = template.get("AWSTemplateFormatVersion").is_some() || is_synthesised(template);
    is_template && !is_completed
}

/// Whether a macro or another program completes a template: it has something that CloudFormation alone does not know.
pub(super) fn is_completed(file: &SourceFile, template: &Node) -> bool {
    let is_harmless = |one: &Node| one.text().is_some_and(|name| HARMLESS.contains(&name));
    let is_plain = template.get("Transform").is_none_or(|node| match &node.value {
        Value::List(items) => items.iter().all(is_harmless),
        _ => is_harmless(node),
    });
    let has_other_section = || template.entries().iter().any(|entry| !SECTIONS.contains(&entry.key.as_str()));
    let has_word = || OPEN.iter().any(|word| file.text.contains(word));
    !is_plain || has_other_section() || has_word() || has_other_function(template)
}

fn has_other_function(node: &Node) -> bool {
    let is_other = |key: &str| key.strip_prefix("Fn::").is_some_and(|name| !FUNCTIONS.contains(&name));
    node.entries().iter().any(|entry| is_other(&entry.key) || has_other_function(&entry.node))
        || node.items().iter().any(has_other_function)
}

/// The names that a reference may misspell.
pub(super) struct Names {
    /// Parameters and resources.
    values: Arc<[String]>,
    resources: Arc<[String]>,
    conditions: Arc<[String]>,
    mappings: Arc<[String]>,
}

impl Names {
    pub(super) fn of(
        parameters: &BTreeMap<&str, &Node>,
        mappings: &BTreeMap<&str, &Node>,
        conditions: &BTreeMap<&str, &Node>,
        resources: &BTreeMap<&str, &Node>,
    ) -> Self {
        let names = |section: &BTreeMap<&str, &Node>| -> Arc<[String]> {
            section.keys().map(|name| (*name).to_owned()).collect()
        };
        Self {
            values: parameters.keys().chain(resources.keys()).map(|name| (*name).to_owned()).collect(),
            resources: names(resources),
            conditions: names(conditions),
            mappings: names(mappings),
        }
    }
}

/// The attributes of the types that definitions refer to. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html>
const ATTRIBUTES: [(&str, &[&str]); 12] = [
    ("AWS::EC2::SecurityGroup", &["GroupId", "Id", "VpcId"]),
    ("AWS::ECR::Repository", &["Arn", "RepositoryUri"]),
    ("AWS::ECS::Cluster", &["Arn"]),
    ("AWS::ECS::Service", &["Name", "ServiceArn"]),
    ("AWS::ECS::TaskDefinition", &["TaskDefinitionArn"]),
    ("AWS::EFS::AccessPoint", &["AccessPointId", "Arn"]),
    (
        "AWS::ElasticLoadBalancingV2::TargetGroup",
        &["LoadBalancerArns", "TargetGroupArn", "TargetGroupFullName", "TargetGroupName"],
    ),
    ("AWS::IAM::Role", &["Arn", "RoleId"]),
    ("AWS::Logs::LogGroup", &["Arn"]),
    ("AWS::SSM::Parameter", &["Arn", "Type", "Value"]),
    ("AWS::SecretsManager::Secret", &["Id"]),
    ("AWS::ServiceDiscovery::Service", &["Arn", "Id", "Name"]),
];

/// The attributes of all resources of App Mesh.
const OF_APP_MESH: [&str; 6] = ["Arn", "Id", "MeshName", "MeshOwner", "ResourceOwner", "Uid"];

/// The parameters of AWS. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/pseudo-parameter-reference.html>
const PSEUDO: [&str; 8] = [
    "AWS::AccountId",
    "AWS::NoValue",
    "AWS::NotificationARNs",
    "AWS::Partition",
    "AWS::Region",
    "AWS::StackId",
    "AWS::StackName",
    "AWS::URLSuffix",
];

impl Scope<'_, '_> {
    /// Notes that `Ref` or `Fn::Sub` names no parameter and no resource.
    pub(super) fn check_name(&self, name: &str, span: Span) {
        let template = self.template;
        if name.strip_prefix("AWS::").is_some_and(is_id) && !PSEUDO.contains(&name) {
            let reason = format!("CloudFormation has no parameter {name}");
            let missing = Missing { name, reason, help: "use one of AWS's pseudo parameters" };
            self.note(span, missing, &PSEUDO.map(str::to_owned).into());
        } else if !template.declares(name) && is_id(name) {
            self.note(span, Missing::of("parameter or resource", name), &template.names.values);
        }
    }

    /// Notes that a reference names no resource of the template: `DependsOn`, or an attribute.
    pub(super) fn check_resource(&self, id: &str, span: Span) {
        if !self.template.resources.contains_key(id) && is_id(id) {
            self.note(span, Missing::of("resource", id), &self.template.names.resources);
        }
    }

    pub(super) fn check_condition(&self, name: &str, span: Span) {
        if !self.template.conditions.contains_key(name) && is_id(name) {
            self.note(span, Missing::of("condition", name), &self.template.names.conditions);
        }
    }

    /// Notes that `Fn::FindInMap` names no mapping. Its keys may be the defaults of parameters, such as a region.
    pub(super) fn check_mapping(&self, map: &str, span: Span) {
        if !self.template.mappings.contains_key(map) && is_id(map) {
            self.note(span, Missing::of("mapping", map), &self.template.names.mappings);
        }
    }

    /// Notes that a resource has no such attribute, but one with a similar name. Another one may be new, except for the ARN,
    /// which is what `Ref` returns.
    pub(super) fn check_attribute(&self, id: &str, attribute: &str, span: Span) {
        self.check_resource(id, span);
        let kind_of = |id: &str| self.template.resources.get(id)?.get("Type")?.text();
        let Some(name) = kind_of(id).filter(|_| is_id(attribute)) else { return };
        let known: Vec<String> = match (ATTRIBUTES.iter().find(|(kind, _)| *kind == name), kind(name)) {
            (Some((_, attributes)), _) => attributes.iter().map(|attribute| (*attribute).to_owned()).collect(),
            (None, Some(kind)) => {
                let names = [Some(kind), kind.owner()].into_iter().flatten();
                let names = names.map(|kind| Dialect::CloudFormation.spell(kind.name_key()));
                OF_APP_MESH.iter().map(|attribute| (*attribute).to_owned()).chain(names).collect()
            }
            (None, None) => return,
        };
        let is_wrong = attribute == "Arn" || misspelt(attribute, known.iter().map(String::as_str)).is_some();
        if is_wrong && !known.iter().any(|own| own == attribute) {
            let help = format!("use Ref, or {}", known.join(" or "));
            let reason = format!("{id} is an {name}, which has no attribute {attribute}");
            self.note(span, Missing { name: "", reason, help: &help }, &Arc::default());
        }
    }

    /// Notes what is missing, unless it is known. `names` are what it may misspell.
    fn note(&self, span: Span, missing: Missing<'_>, names: &Arc<[String]>) {
        if self.template.is_whole && self.template.seen.borrow_mut().insert(missing.reason.clone()) {
            self.template.undeclared.borrow_mut().push(Undeclared {
                file: Arc::clone(&self.template.file),
                span,
                reason: missing.reason,
                help: missing.help.to_owned(),
                name: missing.name.to_owned(),
                names: Arc::clone(names),
            });
        }
    }
}

/// What a reference names, why it is wrong, and how to correct it.
struct Missing<'n> {
    name: &'n str,
    reason: String,
    help: &'n str,
}

impl<'n> Missing<'n> {
    /// A name that should be one of the template's parameters, resources and so on.
    fn of(what: &str, name: &'n str) -> Self {
        Self { name, reason: format!("the template has no {what} {name}"), help: DECLARE }
    }
}

/// Whether a text can be a logical ID, and not a placeholder of another program.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
