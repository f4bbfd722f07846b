//! One text, in whichever of our formats it is.

use std::{collections::BTreeMap, sync::Arc};

use super::{cloudformation, ecs_json, notation, problem::InputProblem, terraform};
use crate::{Material, app_mesh::Resource, definition::TaskDefinition, document::Node, source::SourceFile};

/// One of these words stands in every text of our formats that holds something to check. A file that nobody named and that
/// has none is not even parsed: it may be of any format, or of none.
const WORDS: [&str; 4] = ["ontainerDefinitions", "AWS::ECS::TaskDefinition", "aws_ecs_task_definition", "meshName"];

/// Reads one text into `material`. What is of none of our formats is a problem only if the user named it.
///
/// # Errors
/// The first thing in it that cannot be checked; what can be is in `material` all the same.
#[expect(clippy::needless_pass_by_value, reason = "what is read shares the file")]
pub fn read_source(file: Arc<SourceFile>, is_named: bool, material: &mut Material) -> Result<(), InputProblem> {
    let mut problems = Vec::new();
    read_all(&file, is_named, material, &mut problems);
    problems.into_iter().next().map_or(Ok(()), Err)
}

/// Reads one text into `material`, and everything in it that cannot be checked into `problems`.
pub(crate) fn read_all(
    file: &Arc<SourceFile>,
    is_named: bool,
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    if !is_named && !WORDS.iter().any(|word| file.text.contains(word)) {
        return;
    }
    let first = material.definitions.len();
    match notation::parse(file) {
        Ok((_, node)) => {
            let is_ours = read_node(file, &node, material, problems);
            if !is_ours && is_named {
                problems.push(InputProblem::of(&file.name, none_of_ours(&node)));
            }
        }
        Err(error) => problems.push(InputProblem::unreadable(file, &error)),
    }
    tell_apart(material.definitions.get_mut(first..).unwrap_or_default());
}

/// Marks those of one file that only their addresses tell apart.
fn tell_apart(definitions: &mut [TaskDefinition]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for definition in definitions.iter() {
        *seen.entry(definition.name()).or_default() += 1;
    }
    for definition in definitions {
        definition.shares_family = seen.get(&definition.name()).is_some_and(|count| *count > 1);
    }
}

/// Answers whether the file is of one of our formats.
fn read_node(file: &Arc<SourceFile>, node: &Node, material: &mut Material, problems: &mut Vec<InputProblem>) -> bool {
    if cloudformation::is_template(node) {
        cloudformation::read_template(file, node, material, problems);
        return true;
    }
    if terraform::is_shown(node) {
        terraform::read_shown(file, node, material, problems);
        return true;
    }
    let (each, is_list) =
        if node.items().is_empty() { (std::slice::from_ref(node), false) } else { (node.items(), true) };
    let mut is_ours = false;
    for (index, definition) in each.iter().enumerate().filter(|(_, item)| ecs_json::is_ecs_definition(item)) {
        is_ours = true;
        let number = if is_list { format!("[{index}]") } else { String::new() };
        match ecs_json::ecs_definition(file.clone(), definition) {
            Ok(mut definition) => {
                if definition.address.is_empty() {
                    definition.address = number;
                }
                material.definitions.push(definition);
            }
            Err(mismatch) => problems.push(InputProblem::mismatch(file, &number, &mismatch)),
        }
    }
    let resources = Resource::all_in(file, node);
    is_ours |= !resources.is_empty();
    material.resources.all.extend(resources);
    is_ours
}

fn none_of_ours(node: &Node) -> &'static str {
    if node.get("terraform_version").is_some() && node.get("lineage").is_some() {
        return "a raw Terraform state: give me what `terraform show -json` prints";
    }
    if node.get("resource").is_some_and(|resources| resources.get("aws_ecs_task_definition").is_some()) {
        return terraform::SOURCE_IS_NOT_READ;
    }
    "is none of: ECS task definition, CloudFormation template, Terraform `show -json`, App Mesh export; in directories, such files are skipped"
}

/// Why a file is not read, where its name says enough.
pub(super) fn refused_by_name(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_source = [".tf", ".tf.json", ".tofu"].iter().any(|extension| name.ends_with(extension));
    is_source.then_some(terraform::SOURCE_IS_NOT_READ)
}
