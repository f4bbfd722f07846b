//! One text in any of the formats.

use std::sync::Arc;

use super::{
    cloudformation, ecs_json, notation, problem::InputProblem, shared_families::mark_shared_families, terraform,
    terraform_source,
};
use crate::{Material, app_mesh::Resource, document::Node, source::SourceFile};

/// Every text with something to check contains one of these words. A file in a directory that contains none of them is
/// not parsed.
const WORDS: [&str; 4] = ["ontainerDefinitions", "AWS::ECS::TaskDefinition", "aws_ecs_task_definition", "meshName"];

/// Reads one text into `material`. A text of another format is an error only if the user named the file.
///
/// # Errors
/// The first problem. Everything without a problem is in `material` nevertheless.
#[expect(clippy::needless_pass_by_value, reason = "what is read shares the file")]
pub fn read_source(file: Arc<SourceFile>, is_named: bool, material: &mut Material) -> Result<(), InputProblem> {
    let mut problems = Vec::new();
    read_all(&file, is_named, material, &mut problems);
    problems.into_iter().next().map_or(Ok(()), Err)
}

/// Reads one text into `material`, and all of its problems into `problems`.
pub(crate) fn read_all(
    file: &Arc<SourceFile>,
    is_named: bool,
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    if terraform_source::is_source_name(&file.name) {
        let read = terraform_source::read_text(Arc::clone(file));
        material.definitions.extend(read.definitions);
        problems.extend(read.problems);
        return;
    }
    if !is_named && !WORDS.iter().any(|word| file.text.contains(word)) {
        return;
    }
    let first = material.definitions.len();
    match notation::parse(file) {
        Ok((_, node)) => {
            let is_known_format = read_node(file, &node, material, problems);
            if !is_known_format && is_named {
                problems.push(InputProblem::of(&file.name, unknown_format(&node)));
            }
        }
        Err(error) => problems.push(InputProblem::unreadable(file, &error)),
    }
    mark_shared_families(material.definitions.get_mut(first..).unwrap_or_default());
}

/// Reads a text of which the file on disk may be an older one. Terraform sources are read with the other files of their
/// directory.
pub(crate) fn read_edited(file: &Arc<SourceFile>, material: &mut Material, problems: &mut Vec<InputProblem>) {
    if !terraform_source::is_source_name(&file.name) {
        return read_all(file, true, material, problems);
    }
    let read = terraform_source::read_edited(file);
    material.definitions.extend(read.definitions);
    problems.extend(read.problems);
}

/// Returns whether the file has one of the formats.
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
    let mut is_known_format = false;
    for (index, definition) in each.iter().enumerate().filter(|(_, item)| ecs_json::is_ecs_definition(item)) {
        is_known_format = true;
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
    is_known_format |= !resources.is_empty();
    material.resources.all.extend(resources);
    is_known_format
}

fn unknown_format(node: &Node) -> &'static str {
    if node.get("terraform_version").is_some() && node.get("lineage").is_some() {
        return "a raw Terraform state: use the output of `terraform show -json`";
    }
    "not an ECS task definition, CloudFormation template, output of Terraform's `show -json` or App Mesh export; in directories, such files are skipped"
}
