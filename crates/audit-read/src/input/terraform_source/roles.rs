//! Task roles of a module, and what their policies allow.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    blocks::{Instance, Reader, instances},
    declarations::{References, Target, target},
    directory::Directory,
    module::Module,
    syntax::{Attribute, Block, Body},
};
use crate::{
    definition::{Dialect, IamRole, grants_no_lookup},
    input::terraform::role_node,
};
use document::{Node, Place};

const ROLE: &str = "aws_iam_role";

/// The role of the same module that an argument refers to, unless it has several instances.
pub(super) fn role(module: &Module<'_>, attribute: &Attribute) -> Option<IamRole> {
    let Target::Resource(name) = target(module, attribute, ROLE)? else { return None };
    let block = module.directory.resources.iter().find(|block| is_called(block, ROLE, &name))?;
    let instances = instances(module, block, 0);
    let [instance] = instances.as_slice() else { return None };
    let reader = Reader { module, block, instance, depth: 0 };
    let values = module.tagged(reader.values(&["path", "tags"], &[]));
    let node = role_node(&values, &Place::fixed(block.name_span()));
    let policies = policies(&reader, &name);
    IamRole::read(module.directory.file(block.file), &node, Dialect::Terraform, policies).ok()
}

/// The resources with the policies of a role, or that attach them. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/iam_role_policy>
const POLICIES: [&str; 3] = ["aws_iam_role_policy", "aws_iam_role_policy_attachment", "aws_iam_policy_attachment"];

/// The resources that may refer to a role and add no policies to it.
const USERS: [&str; 2] = ["aws_ecs_task_definition", "aws_iam_instance_profile"];

/// Where a module refers to its roles.
#[derive(Debug)]
pub(super) struct RoleUses {
    /// The numbers of the resources with a role's policies.
    policies: BTreeMap<String, Vec<usize>>,
    /// The roles that may get policies from elsewhere: through locals, outputs, calls or other resources.
    given_away: BTreeSet<String>,
    /// Whether a policy may belong to any role.
    has_unclear: bool,
}

impl RoleUses {
    pub(super) fn of(directory: &Directory) -> Self {
        let mut uses = Self { policies: BTreeMap::new(), given_away: BTreeSet::new(), has_unclear: false };
        for (number, block) in directory.resources.iter().enumerate() {
            match block.label(0) {
                Some(kind) if POLICIES.contains(&kind) => uses.add_policy(number, block),
                Some(kind) if USERS.contains(&kind) => {}
                _ => uses.give_away(&block.body),
            }
        }
        let others = directory.calls.iter().chain(directory.outputs.values());
        others.chain(&directory.providers).for_each(|block| uses.give_away(&block.body));
        directory.locals.values().for_each(|local| uses.give(local));
        uses
    }

    fn add_policy(&mut self, number: usize, block: &Block) {
        let names = ["role", "roles"].iter().find_map(|name| block.body.attribute(name));
        match names.map(|names| References::of(&names.expression)).as_deref() {
            Some([found])
                if let [kind, name, ..] = found.as_slice()
                    && kind == ROLE =>
            {
                self.policies.entry(name.clone()).or_default().push(number);
            }
            _ => self.has_unclear = true,
        }
    }

    fn give_away(&mut self, body: &Body) {
        body.attributes.iter().for_each(|attribute| self.give(attribute));
        body.blocks.iter().for_each(|block| self.give_away(&block.body));
    }

    fn give(&mut self, attribute: &Attribute) {
        for names in References::of(&attribute.expression) {
            if let [kind, name, ..] = names.as_slice()
                && kind == ROLE
            {
                self.given_away.insert(name.clone());
            }
        }
    }
}

/// The documents of the policies of the role called `name`; `None` if one of them may not be in the module.
fn policies(role: &Reader<'_, '_>, name: &str) -> Option<Vec<Node>> {
    let directory = &role.module.directory;
    let uses = directory.role_uses();
    if directory.is_partial || uses.has_unclear || uses.given_away.contains(name) {
        return None;
    }
    let own = role.values(&["managed_policy_arns"], &["inline_policy"]);
    let is_managed = own
        .get("managed_policy_arns")
        .is_some_and(|arns| arns.is_unknown() || !arns.items().iter().all(grants_no_lookup));
    if is_managed || own.get("inline_policy").is_some_and(Node::is_unknown) {
        return None;
    }
    let inline = own.items_of("inline_policy").iter().map(|block| block.get("policy").cloned());
    let mut documents = inline.collect::<Option<Vec<_>>>()?;
    let numbers = uses.policies.get(name).into_iter().flatten();
    for block in numbers.filter_map(|number| directory.resources.get(*number)) {
        let instance = Instance::only();
        let reader = Reader { module: role.module, block, instance: &instance, depth: 0 };
        documents.extend(match block.body.attribute("policy") {
            Some(policy) => vec![document(&reader, policy)?],
            None => attached(&reader, block.body.attribute("policy_arn")?)?,
        });
    }
    Some(documents)
}

/// The documents of an attached policy: none of a managed one that grants no lookup.
fn attached(reader: &Reader<'_, '_>, arn: &Attribute) -> Option<Vec<Node>> {
    let module = reader.module;
    let Some(Target::Resource(name)) = target(module, arn, "aws_iam_policy") else {
        return grants_no_lookup(&reader.value(arn)).then(Vec::new);
    };
    let block = module.directory.resources.iter().find(|block| is_called(block, "aws_iam_policy", &name))?;
    document(&Reader { block, ..*reader }, block.body.attribute("policy")?).map(|one| vec![one])
}

/// A policy document: the argument itself, or a data source that has only statements.
fn document(reader: &Reader<'_, '_>, policy: &Attribute) -> Option<Node> {
    const KIND: &str = "aws_iam_policy_document";
    let module = reader.module;
    let mut names = References::of(&policy.expression).into_iter();
    match (names.next().as_deref(), names.next()) {
        (Some([data, kind, name, ..]), None) if data == "data" && kind == KIND => {
            let block = module.directory.data.iter().find(|block| is_called(block, KIND, name))?;
            let is_plain = |attribute: &Attribute| ["policy_id", "version"].contains(&attribute.name.as_str());
            block.body.attributes.iter().all(is_plain).then(|| Reader { block, ..*reader }.values(&[], &["statement"]))
        }
        _ => Some(reader.value(policy)),
    }
}

fn is_called(block: &Block, kind: &str, name: &str) -> bool {
    block.label(0) == Some(kind) && block.label(1) == Some(name)
}
