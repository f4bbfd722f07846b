//! References to what a template does not declare: CloudFormation refuses the template.

use std::sync::Arc;

use super::{app_mesh::kind, resource::is_synthesised, scope::Scope};
use crate::definition::{DECLARE, Dialect, Undeclared};
use document::{Node, SourceFile, Span, Value};

/// Transforms that add no parameters and no resources.
const HARMLESS: [&str; 3] = ["AWS::LanguageExtensions", "AWS::SecretsManager-2020-07-23", "AWS::CodeDeployBlueGreen"];

/// Words of templates with more resources than they show.
const OPEN: [&str; 5] = ["Fn::ForEach", "Fn::Transform", "!Transform", "AWS::Include", "::MODULE"];

/// Whether a template shows all that it declares. One without a version may be a part of another one.
pub(super) fn is_whole(file: &SourceFile, template: &Node) -> bool {
    let is_harmless = |one: &Node| one.text().is_some_and(|name| HARMLESS.contains(&name));
    let transforms = template.get("Transform");
    let is_plain = transforms.is_none_or(|node| match &node.value {
        Value::List(items) => items.iter().all(is_harmless),
        _ => is_harmless(node),
    });
    let is_template = template.get("AWSTemplateFormatVersion").is_some() || is_synthesised(template);
    is_template && is_plain && !OPEN.iter().any(|word| file.text.contains(word))
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
const PSEUDO: [&str; 8] =
    ["AccountId", "NoValue", "NotificationARNs", "Partition", "Region", "StackId", "StackName", "URLSuffix"];

impl Scope<'_, '_> {
    /// Notes that `Ref` or `Fn::Sub` names no parameter and no resource.
    pub(super) fn check_name(&self, name: &str, span: Span) {
        if let Some(pseudo) = name.strip_prefix("AWS::").filter(|pseudo| !PSEUDO.contains(pseudo) && is_id(pseudo)) {
            let reason = format!("CloudFormation has no parameter AWS::{pseudo}");
            return self.note(span, reason, "use one of AWS's pseudo parameters", PSEUDO.iter());
        }
        let template = self.template;
        let is_declared = template.parameters.contains_key(name) || template.resources.contains_key(name);
        if !is_declared && is_id(name) {
            let names = template.parameters.keys().chain(template.resources.keys());
            self.note(span, format!("the template has no parameter or resource {name}"), DECLARE, names);
        }
    }

    /// Notes that a reference names no resource of the template: `DependsOn`, or an attribute.
    pub(super) fn check_resource(&self, id: &str, span: Span) {
        if !self.template.resources.contains_key(id) && is_id(id) {
            let names = self.template.resources.keys();
            self.note(span, format!("the template has no resource {id}"), DECLARE, names);
        }
    }

    /// Notes a text with a parameter of AWS that nothing replaces.
    pub(super) fn check_text(&self, text: &str, span: Span) {
        if self.template.whole.is_some() && text.contains("${AWS::") {
            let reason = "the text has a parameter of AWS, but no Fn::Sub replaces it".to_owned();
            self.note(span, reason, "write !Sub before the text", [].into_iter());
        }
    }

    pub(super) fn check_condition(&self, name: &str, span: Span) {
        if !self.template.conditions.contains_key(name) && is_id(name) {
            let names = self.template.conditions.keys();
            self.note(span, format!("the template has no condition {name}"), DECLARE, names);
        }
    }

    /// Notes that `Fn::FindInMap` names no mapping, or a second key that no part of it has, unless it has a default.
    pub(super) fn check_mapping(&self, [map, first, second]: [&str; 3], has_default: bool, span: Span) {
        let mappings = &self.template.mappings;
        match mappings.get(map) {
            _ if has_default => {}
            None => self.note(span, format!("the template has no mapping {map}"), DECLARE, mappings.keys()),
            // The first key may be the default of a parameter, such as a region.
            Some(found) if found.get(first).is_none() => {}
            Some(found) if found.children().into_iter().all(|part| part.get(second).is_none()) => {
                self.note(span, format!("the mapping {map} has no key {second}"), DECLARE, [].into_iter());
            }
            Some(_) => {}
        }
    }

    /// Notes that a resource has no such attribute.
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
        if !known.iter().any(|own| own == attribute) {
            let help = format!("use Ref, or {}", known.join(" or "));
            self.note(span, format!("{id} is an {name}, which has no attribute {attribute}"), &help, [].into_iter());
        }
    }

    fn note<'n>(&self, span: Span, reason: String, help: &str, names: impl Iterator<Item = &'n &'n str>) {
        if let Some(file) = &self.template.whole
            && self.template.seen.borrow_mut().insert((span, reason.clone()))
        {
            let names = names.map(|name| (*name).to_owned()).collect();
            let reference = Undeclared { file: Arc::clone(file), span, reason, help: help.to_owned(), names };
            self.template.undeclared.borrow_mut().push(reference);
        }
    }
}

/// Whether a text can be a logical ID, and not a placeholder of another program.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
