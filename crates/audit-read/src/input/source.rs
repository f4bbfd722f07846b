//! One text in any of the formats.

use std::{path::Path, sync::Arc};

use super::{
    cloudformation,
    gathered::{Gathered, mark_shared_families},
    terraform_show, terraform_source,
    words::{has_word, near_miss},
};
use crate::{
    Material,
    app_mesh::Resource,
    definition::{Dialect, Mismatch, TaskDefinition},
};
use document::{Entry, InputProblem, Node, SourceFile, Span, Value, documents, parse, parse_one};
use terraform::{Tree, is_source_name};

/// Reads one text into `material`. A text of another format is an error only if the user named the file.
///
/// # Errors
/// The first problem. Everything without a problem is in `material` nevertheless.
#[expect(clippy::needless_pass_by_value, reason = "what is read shares the file")]
pub fn read_source(file: Arc<SourceFile>, is_named: bool, material: &mut Material) -> Result<(), InputProblem> {
    let mut gathered = Gathered { material: std::mem::take(material), ..Gathered::default() };
    gathered.read(&file, is_named);
    *material = gathered.material;
    gathered.problems.into_iter().next().map_or(Ok(()), Err)
}

/// Reads texts that may be newer than the files on disk. Terraform sources are of one directory; they are read with its other
/// files and, in `tree`, with the modules that they call.
pub fn read_edited(files: &[Arc<SourceFile>], tree: &Tree) -> Gathered {
    let (sources, others): (Vec<_>, Vec<_>) = files.iter().cloned().partition(|file| is_source_name(&file.name));
    let mut gathered = terraform_source::read_edited(sources, tree);
    for file in &others {
        gathered.read(file, true);
    }
    gathered
}

/// Reads what an editor shows: of a Terraform source the whole module, with the modules of `tree` that it calls. A text of
/// another format is no problem. Other files may have the mesh resources that it names.
pub fn read_open(file: &Arc<SourceFile>, tree: &Tree) -> Gathered {
    if is_source_name(&file.name) {
        return terraform_source::read_module(Path::new(&file.name).parent().unwrap_or(Path::new("")), tree);
    }
    let mut gathered = Gathered { files_read: 1, ..Gathered::default() };
    gathered.read(file, false);
    gathered.material.resources.is_partial = true;
    gathered
}

impl Gathered {
    /// Reads one text. A text of another format is a problem only if the user named the file.
    pub(super) fn read(&mut self, file: &Arc<SourceFile>, is_named: bool) {
        if is_source_name(&file.name) {
            return self.add(terraform_source::read_text(Arc::clone(file)));
        }
        let found = |gathered: &Self| (gathered.material.definitions.len(), gathered.material.resources.all().len());
        let before = found(self);
        if is_named || has_word(&file.text) {
            self.read_text(file, is_named);
        }
        if found(self) == before && !is_kubernetes(&file.text) {
            self.unchecked.extend(near_miss(file));
        }
    }

    fn read_text(&mut self, file: &Arc<SourceFile>, is_named: bool) {
        let first = self.material.definitions.len();
        match documents(file) {
            Some(documents) => self.read_documents(file, &documents, is_named),
            None if !is_named && is_kubernetes(&file.text) => {}
            None => match parse(file) {
                Ok((_, node)) => {
                    if !self.read_node(file, &node) && is_named {
                        self.problems.push(InputProblem::of(&file.name, unknown_format(&node)));
                    }
                }
                Err(error) => self.problems.push(InputProblem::unreadable(file, &error)),
            },
        }
        mark_shared_families(self.material.definitions.get_mut(first..).unwrap_or_default());
    }

    /// Reads each document of a YAML file on its own. Documents of other formats are skipped; one of a named file must
    /// have a known format.
    fn read_documents(&mut self, file: &Arc<SourceFile>, documents: &[Span], is_named: bool) {
        let (first, problems_before) = (self.material.definitions.len(), self.problems.len());
        let mut is_known_format = false;
        for (index, document) in documents.iter().enumerate() {
            let text = file.text.get(document.start..document.end).unwrap_or_default();
            if !has_word(text) || is_kubernetes(text) {
                continue;
            }
            let before = self.material.definitions.len();
            match parse_one(file, *document, index) {
                Ok(node) => is_known_format |= self.read_node(file, &node),
                Err(error) => self.problems.push(InputProblem::unreadable(file, &error)),
            }
            let definitions = self.material.definitions.get_mut(first..).unwrap_or_default();
            if let Some((earlier, own)) = definitions.split_at_mut_checked(before - first) {
                number_addresses(earlier, own, index);
            }
        }
        if !is_known_format && is_named && self.problems.len() == problems_before {
            self.problems.push(InputProblem::of(&file.name, UNKNOWN_FORMAT));
        }
    }

    /// Returns whether the file has one of the formats.
    fn read_node(&mut self, file: &Arc<SourceFile>, node: &Node) -> bool {
        if cloudformation::is_template(node) {
            cloudformation::read_template(file, node, self);
            return true;
        }
        if terraform_show::is_shown(node) {
            terraform_show::read_shown(file, node, self);
            return true;
        }
        let (each, is_list) =
            if node.items().is_empty() { (std::slice::from_ref(node), false) } else { (node.items(), true) };
        let mut is_known_format = false;
        for (index, definition) in each.iter().enumerate().filter(|(_, item)| is_ecs_definition(item)) {
            is_known_format = true;
            let number = if is_list { format!("[{index}]") } else { String::new() };
            let (definition, mismatches) = ecs_definition(file.clone(), definition);
            self.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, &number)));
            let address = |one: &TaskDefinition| if one.address.is_empty() { number } else { one.address.clone() };
            let definition = definition.map(|one| TaskDefinition { address: address(&one), ..one });
            self.material.definitions.extend(definition);
        }
        let resources = Resource::all_in(file, node);
        is_known_format |= !resources.is_empty();
        self.material.resources.extend(resources);
        is_known_format
    }
}

/// Adds the number of the document to the address of a definition that shares it with an earlier document.
fn number_addresses(earlier: &[TaskDefinition], own: &mut [TaskDefinition], index: usize) {
    for definition in own {
        if definition.address.is_empty() {
            definition.address = format!("document {}", index + 1);
        } else if earlier.iter().any(|other| other.address == definition.address) {
            definition.address = format!("{}, document {}", definition.address, index + 1);
        }
    }
}

/// A key at the beginning of a line of each of Kubernetes' manifests.
const API_VERSION: &str = "apiVersion:";

/// Manifests of Kubernetes, and the templates of Helm that become manifests. The manifests of the App Mesh controller
/// have words of App Mesh.
fn is_kubernetes(text: &str) -> bool {
    // Most files do not have it, and a search is faster than to look at each line.
    text.contains(API_VERSION) && text.lines().any(|line| line.trim_start_matches('\u{FEFF}').starts_with(API_VERSION))
}

fn unknown_format(node: &Node) -> &'static str {
    if node.get("terraform_version").is_some() && node.get("lineage").is_some() {
        return "a raw Terraform state: use the output of `terraform show -json`";
    }
    UNKNOWN_FORMAT
}

const UNKNOWN_FORMAT: &str = "not an ECS task definition, CloudFormation template, output of Terraform's `show -json` or App Mesh export; in directories, such files are skipped";

/// Whether a file contains a task definition.
fn is_ecs_definition(node: &Node) -> bool {
    node.get("containerDefinitions").is_some()
        || node.get("taskDefinition").is_some_and(|inner| inner.get("containerDefinitions").is_some())
}

/// Reads a task definition as [`TaskDefinition::read`] does, with or without the outer `taskDefinition` of
/// `describe-task-definition`, which prints the tags next to it.
pub fn ecs_definition(file: Arc<SourceFile>, node: &Node) -> (Option<TaskDefinition>, Vec<Mismatch>) {
    match node.get("taskDefinition") {
        Some(inner) => {
            let mut inner = inner.clone();
            let tags = node.entries().iter().find(|entry| entry.key == "tags");
            if let (Value::Map(entries), Some(tags)) = (&mut inner.value, tags) {
                entries.retain(|entry: &Entry| entry.key != "tags");
                entries.push(tags.clone());
            }
            TaskDefinition::read(file, address(&inner), &inner, Dialect::Ecs)
        }
        None => TaskDefinition::read(file, address(node), node, Dialect::Ecs),
    }
}

fn address(node: &Node) -> String {
    node.get("taskDefinitionArn").and_then(Node::text).unwrap_or_default().to_owned()
}
