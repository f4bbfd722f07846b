//! Directories of Terraform sources: all files of a directory are one module. Source:
//! <https://developer.hashicorp.com/terraform/language/files>

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use document::{InputProblem, SourceFile};

use crate::{
    interest::Interest,
    syntax::{Attribute, Block, Body},
    tree::Tree,
};

/// A module before it is evaluated.
#[derive(Debug, Default)]
pub struct Directory {
    /// Its path. Relative sources of its calls start here.
    pub path: PathBuf,
    /// Its files. Places in a file count its bytes.
    pub files: Vec<Arc<SourceFile>>,
    pub(crate) variables: BTreeMap<String, Block>,
    pub outputs: BTreeMap<String, Block>,
    pub locals: BTreeMap<String, Attribute>,
    /// Values of variables from `terraform.tfvars` and `*.auto.tfvars`.
    pub(crate) values: BTreeMap<String, Attribute>,
    pub resources: Vec<Block>,
    /// Data sources.
    pub data: Vec<Block>,
    pub calls: Vec<Block>,
    pub providers: Vec<Block>,
    /// Whether one of its files is not in Terraform's language.
    pub is_partial: bool,
    /// Whether Terragrunt or Terramate may generate further files of it.
    pub(crate) is_generated: bool,
    /// Whether it is one text whose other files are not read.
    pub is_alone: bool,
}

impl Directory {
    /// The module of these files. `values` are files with values of variables, in the order in which Terraform reads
    /// them. Files that cannot be read become problems, and the others are read nevertheless.
    pub(crate) fn of(
        sources: Vec<Arc<SourceFile>>,
        values: Vec<Arc<SourceFile>>,
        tree: &Tree,
        interest: &Interest,
        problems: &mut Vec<InputProblem>,
    ) -> Self {
        let mut directory = Self::default();
        // Override files change what the others declare, so they come last.
        let (overrides, sources): (Vec<_>, Vec<_>) = sources.into_iter().partition(|file| is_override(&file.name));
        let mut read = |directory: &mut Self, file: Arc<SourceFile>| {
            let body = tree.body(&file, directory.files.len());
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
                    if interest.includes(block) {
                        twice.push(declared_twice(&file, block, &address));
                    }
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

    /// The file with this number.
    pub fn file(&self, index: usize) -> Arc<SourceFile> {
        self.files.get(index).cloned().unwrap_or_else(|| Arc::new(SourceFile::new("", "")))
    }

    pub(crate) fn declare(&mut self, body: Body) {
        for block in body.blocks {
            match block.kind.as_str() {
                "resource" => self.resources.push(block),
                "data" => self.data.push(block),
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
        format!("{address} is already declared; this second declaration is not read, because Terraform refuses it");
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
