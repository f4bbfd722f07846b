//! The roles of a module's task definitions, and what their policies allow.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use document::{HOLE, Node, Place, SourceFile};
use terraform::{Attribute, Block, Body, Directory, Instance, Module, Reader, references};

use super::targets::{Target, target};
use crate::{
    definition::{Dialect, IamRole, PolicyDocument},
    input::terraform_attributes::role_node,
};

const ROLE: &str = "aws_iam_role";

/// The roles of the modules of a run.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Where each module refers to its roles.
    uses: RefCell<Vec<(Rc<Directory>, Rc<RoleUses>)>>,
}

impl Roles {
    /// The role of the same module that an argument refers to, unless it has several instances.
    pub(super) fn role(&self, module: &Module<'_>, attribute: &Attribute) -> Option<IamRole> {
        let Target::Resource(name) = target(module, attribute, ROLE)? else { return None };
        let block = module.directory().resources.iter().find(|block| is_called(block, ROLE, &name))?;
        let instances = module.instances(block);
        let [instance] = instances.as_slice() else { return None };
        let reader = module.reader(block, instance);
        let values = module.tagged(reader.values(&["name", "path", "tags"], &[]));
        let node = role_node(&values, &Place::fixed(block.name_span()));
        let file = module.directory().file(block.file);
        let trust = block.body.attribute("assume_role_policy");
        let trust = trust.and_then(|policy| document(module, block, reader, policy));
        let policies = policies(module, &file, reader, &name, &self.uses(module.directory()));
        let is_by_name = |names: &Vec<String>| names.last().is_some_and(|last| ["name", "id"].contains(&last.as_str()));
        let is_named = references(&attribute.expression).iter().any(is_by_name);
        IamRole::read(file, &node, Dialect::Terraform, trust, policies, is_named)
    }

    /// Where a module refers to its roles.
    fn uses(&self, directory: &Rc<Directory>) -> Rc<RoleUses> {
        let mut all = self.uses.borrow_mut();
        if let Some((_, known)) = all.iter().find(|(known, _)| Rc::ptr_eq(known, directory)) {
            return Rc::clone(known);
        }
        let uses = Rc::new(RoleUses::of(directory));
        all.push((Rc::clone(directory), Rc::clone(&uses)));
        uses
    }
}

/// The resources with the policies of a role, or that attach them. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/iam_role_policy>
const POLICIES: [&str; 3] = ["aws_iam_role_policy", "aws_iam_role_policy_attachment", "aws_iam_policy_attachment"];

/// The resources that may refer to a role and add no policies to it.
const USERS: [&str; 4] = ["aws_ecs_task_definition", "aws_iam_instance_profile", "aws_iam_policy", ROLE];

/// Where a module refers to its roles.
#[derive(Debug)]
struct RoleUses {
    /// The numbers of the resources with a role's policies.
    policies: BTreeMap<String, Vec<usize>>,
    /// The numbers of those that name their role by a literal, with that name.
    by_name: Vec<(String, usize)>,
    /// The roles that may get policies from elsewhere: through locals, outputs, calls or other resources.
    given_away: BTreeSet<String>,
    /// Whether a policy may belong to any role.
    has_unclear: bool,
}

impl RoleUses {
    fn of(directory: &Directory) -> Self {
        let mut uses =
            Self { policies: BTreeMap::new(), by_name: Vec::new(), given_away: BTreeSet::new(), has_unclear: false };
        for (number, block) in directory.resources.iter().enumerate() {
            match block.label(0) {
                Some(kind) if POLICIES.contains(&kind) => uses.add_policy(number, block),
                Some(kind) if USERS.contains(&kind) => {}
                _ => uses.give_away(&block.body),
            }
        }
        // The policy of a secret or key may name the role.
        let statements =
            directory.data.iter().flat_map(|block| &block.body.blocks).flat_map(|block| &block.body.blocks);
        statements.filter(|block| block.kind == "principals").for_each(|block| uses.give_away(&block.body));
        let others = directory.calls.iter().chain(directory.outputs.values());
        others.chain(&directory.providers).for_each(|block| uses.give_away(&block.body));
        directory.locals.values().for_each(|local| uses.give(local));
        uses
    }

    fn add_policy(&mut self, number: usize, block: &Block) {
        let names = ["role", "roles"].iter().find_map(|name| block.body.attribute(name));
        match names.map(|names| references(&names.expression)).as_deref() {
            Some([found])
                if let [kind, name, ..] = found.as_slice()
                    && kind == ROLE =>
            {
                self.policies.entry(name.clone()).or_default().push(number);
            }
            Some([]) if let Some(name) = names.and_then(|names| names.expression.literal()) => {
                self.by_name.push((name.to_owned(), number));
            }
            _ => self.has_unclear = true,
        }
    }

    fn give_away(&mut self, body: &Body) {
        body.attributes.iter().for_each(|attribute| self.give(attribute));
        body.blocks.iter().for_each(|block| self.give_away(&block.body));
    }

    fn give(&mut self, attribute: &Attribute) {
        for names in references(&attribute.expression) {
            if let [kind, name, ..] = names.as_slice()
                && kind == ROLE
            {
                self.given_away.insert(name.clone());
            }
        }
    }
}

/// The documents of the policies of the role called `name`; `None` if one of them may not be in the module.
fn policies(
    module: &Module<'_>,
    file: &Arc<SourceFile>,
    role: Reader<'_>,
    name: &str,
    uses: &RoleUses,
) -> Option<Vec<PolicyDocument>> {
    let directory = module.directory();
    if directory.is_partial || uses.has_unclear || uses.given_away.contains(name) {
        return None;
    }
    let own = role.values(&["managed_policy_arns", "name"], &["inline_policy"]);
    // A policy of a role by its name is one of another role, unless the names are the same.
    let own_name = own.get("name").and_then(Node::text).filter(|name| !name.contains(HOLE));
    if own_name.is_none() && !uses.by_name.is_empty() {
        return None;
    }
    let by_name = uses.by_name.iter().filter(|(name, _)| Some(name.as_str()) == own_name).map(|(_, number)| number);
    if ["managed_policy_arns", "inline_policy"].iter().any(|name| own.get(name).is_some_and(Node::is_unknown)) {
        return None;
    }
    let managed = own.items_of("managed_policy_arns").iter().map(|arn| PolicyDocument::managed(file, arn));
    let inline = own
        .items_of("inline_policy")
        .iter()
        .map(|block| block.get("policy").cloned().map(|node| PolicyDocument::new(file, node)));
    let mut documents = managed.chain(inline).collect::<Option<Vec<_>>>()?;
    let numbers = uses.policies.get(name).into_iter().flatten().chain(by_name);
    for block in numbers.filter_map(|number| directory.resources.get(*number)) {
        let instance = Instance::only();
        let reader = module.reader(block, &instance);
        documents.extend(match block.body.attribute("policy") {
            Some(policy) => vec![document(module, block, reader, policy)?],
            None => vec![attached(module, block, reader, block.body.attribute("policy_arn")?)?],
        });
    }
    Some(documents)
}

/// The document of an attached policy: of this module, or one of AWS's managed ones.
fn attached(module: &Module<'_>, owner: &Block, reader: Reader<'_>, arn: &Attribute) -> Option<PolicyDocument> {
    let Some(Target::Resource(name)) = target(module, arn, "aws_iam_policy") else {
        return PolicyDocument::managed(&module.directory().file(owner.file), &reader.value(arn));
    };
    let found = module.directory().resources.iter().find(|block| is_called(block, "aws_iam_policy", &name));
    let Some(block) = found else { return undeclared(reader, arn) };
    document(module, block, reader.of(block), block.body.attribute("policy")?)
}

/// The data source of a policy document.
const DOCUMENT: &str = "aws_iam_policy_document";

/// A policy document: the argument itself, or a data source that has only statements.
fn document(module: &Module<'_>, owner: &Block, reader: Reader<'_>, policy: &Attribute) -> Option<PolicyDocument> {
    let of = |block: &Block, node| PolicyDocument::new(&module.directory().file(block.file), node);
    let mut names = references(&policy.expression).into_iter();
    match (names.next().as_deref(), names.next()) {
        (Some([data, kind, name, ..]), None) if data == "data" && kind == DOCUMENT => {
            let found = module.directory().data.iter().find(|block| is_called(block, DOCUMENT, name));
            let Some(block) = found else { return undeclared(reader, policy) };
            let is_plain = |attribute: &Attribute| ["policy_id", "version"].contains(&attribute.name.as_str());
            block.body.attributes.iter().all(is_plain).then(|| of(block, reader.of(block).values(&[], &["statement"])))
        }
        _ => Some(of(owner, reader.value(policy))),
    }
}

/// No document, because nothing declares it: its evaluation notes that.
fn undeclared(reader: Reader<'_>, reference: &Attribute) -> Option<PolicyDocument> {
    reader.value(reference);
    None
}

fn is_called(block: &Block, kind: &str, name: &str) -> bool {
    block.label(0) == Some(kind) && block.label(1) == Some(name)
}
