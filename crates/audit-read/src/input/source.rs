//! One text in any of the formats.

use std::{path::PathBuf, sync::Arc};

use super::{
    cloudformation, ecs_json, notation, problem::InputProblem, shared_families::mark_shared_families, terraform,
    terraform_source, words::has_word,
};
use crate::{
    Material,
    app_mesh::Resource,
    definition::TaskDefinition,
    document::{Node, Span},
    source::SourceFile,
};

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
pub(super) fn read_all(
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
    if !is_named && !has_word(&file.text) {
        return;
    }
    let first = material.definitions.len();
    match notation::documents(file) {
        Some(documents) => read_documents(file, &documents, is_named, material, problems),
        None if !is_named && is_kubernetes(&file.text) => {}
        None => match notation::parse(file) {
            Ok((_, node)) => {
                let is_known_format = read_node(file, &node, material, problems);
                if !is_known_format && is_named {
                    problems.push(InputProblem::of(&file.name, unknown_format(&node)));
                }
            }
            Err(error) => problems.push(InputProblem::unreadable(file, &error)),
        },
    }
    mark_shared_families(material.definitions.get_mut(first..).unwrap_or_default());
}

/// Reads each document of a YAML file on its own. Documents of other formats are skipped; one of a named file must have
/// a known format.
fn read_documents(
    file: &Arc<SourceFile>,
    documents: &[Span],
    is_named: bool,
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    let (first, problems_before) = (material.definitions.len(), problems.len());
    let mut is_known_format = false;
    for (index, document) in documents.iter().enumerate() {
        let text = file.text.get(document.start..document.end).unwrap_or_default();
        if !has_word(text) || is_kubernetes(text) {
            continue;
        }
        let before = material.definitions.len();
        match notation::parse_one(file, *document, index) {
            Ok(node) => is_known_format |= read_node(file, &node, material, problems),
            Err(error) => problems.push(InputProblem::unreadable(file, &error)),
        }
        let definitions = material.definitions.get_mut(first..).unwrap_or_default();
        if let Some((earlier, own)) = definitions.split_at_mut_checked(before - first) {
            number_addresses(earlier, own, index);
        }
    }
    if !is_known_format && is_named && problems.len() == problems_before {
        problems.push(InputProblem::of(&file.name, UNKNOWN_FORMAT));
    }
}

/// Adds the number of their document to definitions whose address does not distinguish them from those of earlier ones.
fn number_addresses(earlier: &[TaskDefinition], own: &mut [TaskDefinition], index: usize) {
    for definition in own {
        if definition.address.is_empty() {
            definition.address = format!("document {}", index + 1);
        } else if earlier.iter().any(|other| other.address == definition.address) {
            definition.address = format!("{}, document {}", definition.address, index + 1);
        }
    }
}

/// Manifests of Kubernetes, and the templates of Helm that become some: those of the App Mesh controller have words of
/// App Mesh.
fn is_kubernetes(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{FEFF}'));
    lines.any(|line| line.starts_with("apiVersion:"))
}

/// Reads a text of which the file on disk may be an older one. Terraform sources are read with the other files of their
/// directory and, below `roots`, with the modules that they call.
pub fn read_edited(
    file: &Arc<SourceFile>,
    roots: &[PathBuf],
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    if !terraform_source::is_source_name(&file.name) {
        return read_all(file, true, material, problems);
    }
    let read = terraform_source::read_edited(file, roots);
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
    UNKNOWN_FORMAT
}

const UNKNOWN_FORMAT: &str = "not an ECS task definition, CloudFormation template, output of Terraform's `show -json` or App Mesh export; in directories, such files are skipped";
