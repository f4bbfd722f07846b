//! Directories of Terraform sources: all files of a directory are one module. Source:
//! <https://developer.hashicorp.com/terraform/language/files>

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    path::{Component, Path, PathBuf},
    rc::Rc,
    sync::{Arc, Mutex},
};

use super::{
    roles::RoleUses,
    syntax::{Attribute, Block, Body, is_source_name, read_body},
};
use document::{InputProblem, ParseError, SourceFile, because, read_text};

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
    /// Data sources.
    pub(super) data: Vec<Block>,
    pub(super) calls: Vec<Block>,
    pub(super) providers: Vec<Block>,
    /// Whether one of its files is not in Terraform's language.
    pub(super) is_partial: bool,
    pub(super) role_uses: OnceCell<RoleUses>,
}

impl Directory {
    /// The module of these files. `values` are files with values of variables, in the order in which Terraform reads
    /// them. Files that cannot be read become problems, and the others are read nevertheless.
    pub(super) fn of(
        sources: Vec<Arc<SourceFile>>,
        values: Vec<Arc<SourceFile>>,
        tree: &Tree,
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
                    if is_read(block) {
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

    /// Whether it has resources of App Mesh.
    pub(super) fn has_app_mesh(&self) -> bool {
        self.resources
            .iter()
            .any(|block| block.labels.first().is_some_and(|kind| kind.text.starts_with("aws_appmesh_")))
    }

    /// Where it refers to its roles.
    pub(super) fn role_uses(&self) -> &RoleUses {
        self.role_uses.get_or_init(|| RoleUses::of(self))
    }

    /// The file with this number.
    pub(super) fn file(&self, index: usize) -> Arc<SourceFile> {
        self.files.get(index).cloned().unwrap_or_else(|| Arc::new(SourceFile::new("", "")))
    }

    pub(super) fn declare(&mut self, body: Body) {
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

/// Whether a block may change what is read: a resource of another service does not.
fn is_read(block: &Block) -> bool {
    let is_of = |kind: &str| ["aws_ecs_", "aws_appmesh_"].iter().any(|service| kind.starts_with(service));
    block.kind != "resource" || block.label(0).is_some_and(is_of)
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

/// Files of a directory without any of these words are not reported if they cannot be read.
const WORDS: [&str; 3] = ["aws_ecs_task_definition", "aws_ecs_service", "consul-ecs"];

/// The directories of a run.
#[derive(Debug)]
pub(super) struct Directories {
    /// The directory tree that is checked; without one, no other file is read.
    pub(super) tree: Option<Tree>,
    known: RefCell<BTreeMap<PathBuf, Rc<Directory>>>,
    problems: RefCell<Vec<InputProblem>>,
}

impl Directories {
    pub(super) fn new(tree: Option<Tree>) -> Self {
        Self { tree, known: RefCell::default(), problems: RefCell::default() }
    }

    /// The module in a directory. What cannot be read is a problem if the directory `is_named` or has one of the words.
    pub(super) fn load(&self, path: &Path, is_named: bool) -> Rc<Directory> {
        let identity = identity(path);
        if let Some(known) = self.known.borrow().get(&identity) {
            return Rc::clone(known);
        }
        let Some(tree) = &self.tree else { return Rc::default() };
        let shown = path.to_string_lossy().into_owned();
        let mut problems = Vec::new();
        let mut sources = tree.files(path, &shown, is_source_name, &mut problems);
        // OpenTofu reads `main.tofu` instead of `main.tf`.
        let is_tofu = |file: &&Arc<SourceFile>| file.name.contains(".tofu");
        let replaced: BTreeSet<String> =
            sources.iter().filter(is_tofu).map(|file| file.name.replace(".tofu", ".tf")).collect();
        sources.retain(|file| !replaced.contains(&file.name));
        let is_relevant = is_named || sources.iter().any(|file| WORDS.iter().any(|word| file.text.contains(word)));
        let values = tree.files(path, &shown, is_values_name, &mut problems);
        let mut directory = Directory::of(sources, values, tree, &mut problems);
        path.clone_into(&mut directory.path);
        if is_relevant {
            self.problems.borrow_mut().extend(problems);
        }
        let directory = Rc::new(directory);
        self.known.borrow_mut().insert(identity, Rc::clone(&directory));
        directory
    }

    /// What could not be read so far.
    pub(super) fn take_problems(&self) -> Vec<InputProblem> {
        self.problems.take()
    }
}

/// A file with values that Terraform reads by itself. Source:
/// <https://developer.hashicorp.com/terraform/language/values/variables#variable-definitions-tfvars-files>
fn is_values_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "terraform.tfvars"
        || name == "terraform.tfvars.json"
        || name.ends_with(".auto.tfvars")
        || name.ends_with(".auto.tfvars.json")
}

/// The path without links, to compare it with others.
pub(super) fn identity(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of a file without links in its directory. The file need not exist.
fn file_identity(path: &Path) -> PathBuf {
    let directory = path.parent().map(identity).unwrap_or_default();
    path.file_name().map(|name| directory.join(name)).unwrap_or(directory)
}

/// The path of the source of a call, as users read it: `stacks/prod` and `../../modules/web` are `modules/web`.
pub(super) fn joined(caller: &Path, source: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in caller.join(source).components() {
        match part {
            Component::ParentDir if joined.file_name().is_some() => drop(joined.pop()),
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

/// The directory tree that is checked.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The directories that the user named, without links.
    roots: Vec<PathBuf>,
    /// Texts that count instead of the files on disk, by their paths without links: what an editor has not saved.
    open: BTreeMap<PathBuf, Arc<SourceFile>>,
    /// What was read of files before; `None` if each is read once.
    bodies: Option<Arc<Mutex<Bodies>>>,
}

/// The content of files by their names, with the text and the number that each file had.
type Bodies = BTreeMap<String, (Arc<SourceFile>, usize, Body)>;

/// Why a file next to a module is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not exist or cannot be read.
    Missing,
    /// It is outside of the directories that are checked.
    Outside,
}

impl Tree {
    /// The tree below these directories.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        let roots = roots.into_iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
        Self { roots, ..Self::default() }
    }

    /// The tree, which keeps the content of files until their texts change: for an editor, which asks after each keystroke.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.bodies = Some(Arc::default());
        self
    }

    /// The content of a file, which has this number in its module.
    fn body(&self, file: &Arc<SourceFile>, index: usize) -> Result<Body, ParseError> {
        let Some(mut bodies) = self.bodies.as_ref().and_then(|bodies| bodies.lock().ok()) else {
            return read_body(file, index);
        };
        if let Some((known, number, body)) = bodies.get(&file.name)
            && (number, &known.text) == (&index, &file.text)
        {
            return Ok(body.clone());
        }
        let body = read_body(file, index)?;
        bodies.insert(file.name.clone(), (Arc::clone(file), index, body.clone()));
        Ok(body)
    }

    /// The tree with one more directory.
    #[must_use]
    pub(super) fn with(mut self, root: &Path) -> Self {
        self.roots.push(identity(root));
        self
    }

    /// Puts a text in the place of the file that has its name, which need not exist.
    pub fn open(&mut self, file: Arc<SourceFile>) {
        self.open.insert(file_identity(Path::new(&file.name)), file);
    }

    /// The file on disk counts again.
    pub fn close(&mut self, name: &str) {
        self.open.remove(&file_identity(Path::new(name)));
    }

    /// The text that counts instead of the file at `path`.
    pub fn opened(&self, path: &Path) -> Option<&Arc<SourceFile>> {
        self.open.get(&file_identity(path))
    }

    /// The path of something in the tree.
    pub(super) fn find(&self, base: &Path, relative: &str) -> Result<PathBuf, Refusal> {
        let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
        let path = fs::canonicalize(base.join(relative)).map_err(|_| Refusal::Missing)?;
        if self.roots.iter().any(|root| path.starts_with(root)) { Ok(path) } else { Err(Refusal::Outside) }
    }

    /// The text of a file in the tree.
    pub(super) fn read(&self, base: &Path, relative: &str) -> Result<String, Refusal> {
        let path = self.find(base, relative)?;
        if let Some(open) = self.open.get(&path) {
            return Ok(open.text.clone());
        }
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let mut file = File::open(&path).ok().filter(|_| is_file).ok_or(Refusal::Missing)?;
        read_text(relative, &mut file).map(|file| file.text).map_err(|_| Refusal::Missing)
    }

    /// The files of a directory whose names are `wanted`, sorted by name. `shown` is its path in reports.
    pub(super) fn files(
        &self,
        path: &Path,
        shown: &str,
        wanted: impl Fn(&str) -> bool,
        problems: &mut Vec<InputProblem>,
    ) -> Vec<Arc<SourceFile>> {
        let path = identity(path);
        let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
        let on_disk = entries.map(|entry| entry.file_name());
        let open = self.open.keys().filter(|open| open.parent() == Some(&path)).filter_map(|open| open.file_name());
        let names = on_disk.chain(open.map(OsStr::to_owned)).filter_map(|name| name.into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| !name.starts_with('.') && wanted(name)).collect();
        let mut files = Vec::new();
        for name in names {
            let shown = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            let path = path.join(&name);
            let open = self.open.get(&path).map(|open| SourceFile::new(shown.as_str(), open.text.as_str()));
            match open.map_or_else(|| read(&path, &shown), Ok) {
                Ok(file) => files.push(Arc::new(file)),
                Err(problem) => problems.push(problem),
            }
        }
        files
    }
}

fn read(path: &Path, shown: &str) -> Result<SourceFile, InputProblem> {
    let mut file = File::open(path).map_err(|error| InputProblem::of(shown, because(&error)))?;
    read_text(shown, &mut file)
}
