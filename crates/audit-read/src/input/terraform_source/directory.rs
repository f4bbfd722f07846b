//! A directory of Terraform sources: all of its files are one module. Source:
//! <https://developer.hashicorp.com/terraform/language/files>

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    read::read_body,
    syntax::{Attribute, Block, Body},
};
use crate::{input::InputProblem, source::SourceFile};

/// A module before it is evaluated.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// Its path, where the sources of its calls begin.
    pub(super) path: std::path::PathBuf,
    /// Its files. Places in a file count its bytes.
    pub(super) files: Vec<Arc<SourceFile>>,
    pub(super) variables: BTreeMap<String, Block>,
    pub(super) outputs: BTreeMap<String, Block>,
    pub(super) locals: BTreeMap<String, Attribute>,
    /// Values of variables from `terraform.tfvars` and `*.auto.tfvars`.
    pub(super) values: BTreeMap<String, Attribute>,
    pub(super) resources: Vec<Block>,
    pub(super) calls: Vec<Block>,
    pub(super) providers: Vec<Block>,
    /// Whether one of its files is not in Terraform's language.
    pub(super) is_partial: bool,
}

impl Directory {
    /// The module of these files. `values` are files with values of variables, in the order in which Terraform reads
    /// them. Files that cannot be read become problems, and the others are read nevertheless.
    pub(super) fn of(
        sources: Vec<Arc<SourceFile>>,
        values: Vec<Arc<SourceFile>>,
        problems: &mut Vec<InputProblem>,
    ) -> Self {
        let mut directory = Self::default();
        // Override files change what the others declare, so they come last.
        let (overrides, sources): (Vec<_>, Vec<_>) = sources.into_iter().partition(|file| is_override(&file.name));
        let mut read = |directory: &mut Self, file: Arc<SourceFile>| {
            let body = read_body(&file, directory.files.len());
            let body = body.map_err(|error| problems.push(InputProblem::unreadable(&file, &error))).ok();
            directory.is_partial |= body.is_none();
            directory.files.push(file);
            body.unwrap_or_default()
        };
        let (mut declared, mut twice) = (BTreeSet::new(), Vec::new());
        for file in sources {
            let mut body = read(&mut directory, Arc::clone(&file));
            body.blocks.retain(|block| match address(block) {
                Some(address) if declared.contains(&address) => {
                    twice.push(declared_twice(&file, block, &address));
                    false
                }
                address => {
                    declared.extend(address);
                    true
                }
            });
            directory.declare(body);
        }
        for file in overrides {
            let body = read(&mut directory, file);
            directory.replace(body);
        }
        for file in values {
            let body = read(&mut directory, file);
            directory.values.extend(body.attributes.into_iter().map(|value| (value.name.clone(), value)));
        }
        problems.extend(twice);
        directory
    }

    /// Whether it has resources of App Mesh.
    pub(super) fn has_app_mesh(&self) -> bool {
        self.resources
            .iter()
            .any(|block| block.labels.first().is_some_and(|kind| kind.text.starts_with("aws_appmesh_")))
    }

    /// The file with this number.
    pub(super) fn file(&self, index: usize) -> Arc<SourceFile> {
        self.files.get(index).cloned().unwrap_or_else(|| Arc::new(SourceFile::new("", "")))
    }

    fn declare(&mut self, body: Body) {
        for block in body.blocks {
            match block.kind.as_str() {
                "resource" => self.resources.push(block),
                "module" => self.calls.push(block),
                "provider" => self.providers.push(block),
                "locals" => {
                    self.locals.extend(block.body.attributes.into_iter().map(|local| (local.name.clone(), local)));
                }
                "variable" => add(&mut self.variables, block),
                "output" => add(&mut self.outputs, block),
                _ => {}
            }
        }
    }

    /// Source: <https://developer.hashicorp.com/terraform/language/files/override>
    fn replace(&mut self, body: Body) {
        for block in body.blocks {
            let known = match block.kind.as_str() {
                "resource" => same(&mut self.resources, &block),
                "module" => same(&mut self.calls, &block),
                "variable" => block.label(0).and_then(|name| self.variables.get_mut(name)),
                "output" => block.label(0).and_then(|name| self.outputs.get_mut(name)),
                _ => None,
            };
            match known {
                Some(known) => merge(known, block),
                None => self.declare(Body { attributes: Vec::new(), blocks: vec![block] }),
            }
        }
    }
}

/// The address of a block, which no other block of the module has: `aws_ecs_task_definition.web`, `module.web`, `var.mode`.
fn address(block: &Block) -> Option<String> {
    let name = block.label(0)?;
    match block.kind.as_str() {
        "resource" => Some(format!("{name}.{}", block.label(1)?)),
        "variable" => Some(format!("var.{name}")),
        kind @ ("module" | "output") => Some(format!("{kind}.{name}")),
        _ => None,
    }
}

fn declared_twice(file: &SourceFile, block: &Block, address: &str) -> InputProblem {
    let reason =
        format!("{address} is declared before, and Terraform refuses a second declaration; this one is not read");
    InputProblem::at(file, block.name_span(), reason)
}

fn add(blocks: &mut BTreeMap<String, Block>, block: Block) {
    if let Some(name) = block.label(0).map(str::to_owned) {
        blocks.insert(name, block);
    }
}

fn is_override(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.split('.').next().unwrap_or(name);
    stem == "override" || stem.ends_with("_override")
}

fn same<'b>(blocks: &'b mut [Block], wanted: &Block) -> Option<&'b mut Block> {
    blocks.iter_mut().find(|block| {
        let labels = |block: &Block| block.labels.iter().map(|label| label.text.clone()).collect::<Vec<_>>();
        labels(block) == labels(wanted)
    })
}

/// Arguments and nested blocks of the same type are replaced.
fn merge(known: &mut Block, with: Block) {
    let Body { attributes, blocks } = with.body;
    known.body.attributes.retain(|old| attributes.iter().all(|new| new.name != old.name));
    known.body.attributes.extend(attributes);
    known.body.blocks.retain(|old| blocks.iter().all(|new| new.kind != old.kind));
    known.body.blocks.extend(blocks);
}
