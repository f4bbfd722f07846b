//! Terraform sources: `*.tf`, `*.tofu` and `*.tf.json`. Source:
//! <https://developer.hashicorp.com/terraform/language>
//!
//! ```text
//!  terraform           ─▶  declarations
//!  values of blocks,       task definitions, their roles,
//!  known or unknown        and services that run them
//! ```
//!
//! Every value has its place in the file of the task definition. A value from another file has the place of the reference
//! to it. `consul_ecs` is `HashiCorp`'s modules, as sources of our own.

mod blocks;
mod consul_ecs;
mod declarations;
mod roles;
mod targets;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use document::{InputProblem, SourceFile};
use terraform::{Callee, Directory, Evaluation, Interest, Module, Tree, identity};

pub use self::{consul_ecs::mesh_task, declarations::CHECK_THE_PLAN};
use self::{declarations::Declarations, roles::Roles};
use crate::{
    definition::TaskDefinition,
    input::{
        gathered::{Gathered, mark_shared_families},
        paths::FoundFile,
    },
    spelling::misspelt,
};

/// The attributes of what definitions refer to. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs>
const ATTRIBUTES: [(&str, &str); 3] = [
    (
        "aws_cloudwatch_log_group",
        "arn deletion_protection_enabled id kms_key_id log_group_class name name_prefix region retention_in_days \
         skip_destroy tags tags_all",
    ),
    (
        "aws_iam_role",
        "arn assume_role_policy create_date description force_detach_policies id inline_policy managed_policy_arns \
         max_session_duration name name_prefix path permissions_boundary tags tags_all unique_id",
    ),
    (
        "aws_secretsmanager_secret",
        "arn description force_overwrite_replica_secret id kms_key_id name name_prefix policy recovery_window_in_days \
         region replica rotation_enabled rotation_lambda_arn rotation_rules tags tags_all type",
    ),
];

/// Whether an attribute is like a known one. The provider gets new attributes often, so another one may be new.
fn misspells_attribute(kind: &str, attribute: &str) -> bool {
    let known = ATTRIBUTES.iter().find(|(own, _)| *own == kind).map(|(_, names)| names.split_whitespace());
    known.is_some_and(|mut known| misspelt(attribute, known.clone()).is_some() && known.all(|own| own != attribute))
}

/// What is read of a module.
const INTEREST: Interest = Interest {
    resources: &["aws_ecs_", "aws_appmesh_"],
    words: &["aws_ecs_task_definition", "aws_ecs_service", "consul-ecs"],
    misspells: misspells_attribute,
    provides: |source, version| consul_ecs::called(source, version).is_some(),
};

/// Reads a text on its own: no other file is read.
pub(super) fn read_text(file: Arc<SourceFile>) -> Gathered {
    let evaluation = Evaluation::new(None, INTEREST);
    let directory = evaluation.alone(file);
    let read = Gathered { problems: evaluation.take_problems(), ..Gathered::default() };
    let mut run = Run::new(&evaluation, read);
    run.root(&directory, None);
    // The other files of its directory may have any other resource.
    run.read.material.resources.is_partial = true;
    run.read
}

/// Reads files with the others of their directory, but with these texts instead of those on disk. Nothing outside of `tree`
/// and of this directory is read.
pub(super) fn read_edited(files: Vec<Arc<SourceFile>>, tree: &Tree) -> Gathered {
    let mut read = Gathered::default();
    let mut tree = tree.clone();
    let mut found = Vec::new();
    for file in files {
        let path = PathBuf::from(&file.name);
        if !path.is_file() && tree.opened(&path).is_none() {
            read.add(read_text(file));
            continue;
        }
        tree = tree.with(path.parent().unwrap_or(Path::new("")));
        found.push(FoundFile { path, name: file.name.clone(), is_named: true });
        tree.open(file);
    }
    if !found.is_empty() {
        read.add(read_directories(&found, tree));
    }
    read
}

/// Reads the module in a directory, with the modules of `tree` that it calls.
pub(super) fn read_module(path: &Path, tree: &Tree) -> Gathered {
    let evaluation = Evaluation::new(Some(tree.clone().with(path)), INTEREST);
    let directory = evaluation.load(path, false);
    let read = Gathered { files_read: directory.files.len(), ..Gathered::default() };
    let mut run = Run::new(&evaluation, read);
    run.root(&directory, None);
    run.read.problems.extend(evaluation.take_problems());
    Gathered { called: run.visited, ..run.read }
}

/// Reads the directories of `files`. Definitions in files of these directories that are not among `files` are left
/// out, but what they declare is used. Nothing outside of `tree` is read.
pub(super) fn read_directories(files: &[FoundFile], tree: Tree) -> Gathered {
    let evaluation = Evaluation::new(Some(tree), INTEREST);
    let groups = groups(files, &evaluation);
    let read = Gathered { files_read: files.len(), ..Gathered::default() };
    let mut run = Run::new(&evaluation, read);
    let called: BTreeSet<PathBuf> = groups.iter().flat_map(|group| run.called_by(&group.directory)).collect();
    // Modules that are called only by each other are read on their own.
    for is_called in [false, true] {
        for group in &groups {
            let identity = identity(&group.directory.path);
            if called.contains(&identity) == is_called && !run.visited.contains(&identity) {
                run.root(&group.directory, Some(&group.checked));
            }
        }
    }
    run.read.problems.extend(evaluation.take_problems());
    run.read
}

/// A directory with files to check.
struct Group {
    directory: Rc<Directory>,
    /// The names of the files whose definitions are checked.
    checked: BTreeSet<String>,
}

fn groups(files: &[FoundFile], evaluation: &Evaluation) -> Vec<Group> {
    let mut groups: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let parent = file.path.parent().unwrap_or(Path::new(""));
        groups.entry(parent).or_default().insert(file.name.clone());
    }
    let named: BTreeSet<&str> = files.iter().filter(|file| file.is_named).map(|file| file.name.as_str()).collect();
    let group = |(path, checked): (&Path, BTreeSet<String>)| {
        let is_named = checked.iter().any(|name| named.contains(name.as_str()));
        Group { directory: evaluation.load(path, is_named), checked }
    };
    groups.into_iter().map(group).collect()
}

struct Run<'w> {
    evaluation: &'w Evaluation,
    roles: Roles,
    /// The directories of modules that were called, without links.
    visited: BTreeSet<PathBuf>,
    read: Gathered,
}

impl<'w> Run<'w> {
    fn new(evaluation: &'w Evaluation, read: Gathered) -> Self {
        Self { evaluation, roles: Roles::default(), visited: BTreeSet::new(), read }
    }

    /// The directories that a module calls, without links.
    fn called_by(&self, directory: &Rc<Directory>) -> Vec<PathBuf> {
        let module = Module::root(self.evaluation, Rc::clone(directory));
        let callees = directory.calls.iter().map(|call| module.callee(call));
        callees.filter_map(|callee| if let Callee::Directory(path, _) = callee { Some(path) } else { None }).collect()
    }

    /// Reads a module that no other module calls.
    fn root(&mut self, directory: &Rc<Directory>, checked: Option<&BTreeSet<String>>) {
        let module = Module::root(self.evaluation, Rc::clone(directory));
        let mut declarations = Declarations::new(&self.roles);
        declarations.read(&module, checked);
        if self.evaluation.is_exhausted() {
            let name = directory.files.first().map(|file| file.name.clone()).unwrap_or_default();
            self.read.problems.push(InputProblem::of(name, "its expressions produce too much"));
        }
        declarations.settle_undeclared(directory, checked);
        let (is_checked, mut definitions): (Vec<bool>, Vec<TaskDefinition>) =
            declarations.found.into_iter().map(|found| (found.is_checked, found.definition)).unzip();
        mark_shared_families(&mut definitions);
        let checked = definitions.into_iter().zip(is_checked).filter(|(_, is_checked)| *is_checked);
        self.read.material.definitions.extend(checked.map(|(definition, _)| definition));
        self.read.material.undeclared.append(&mut declarations.undeclared);
        self.read.material.resources.add(declarations.app_mesh);
        self.read.problems.append(&mut declarations.problems);
        self.read.unchecked.append(&mut declarations.unchecked);
        self.visited.append(&mut declarations.visited);
    }
}
