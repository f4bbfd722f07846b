//! Reads the modules of a run: those that no other module calls, and the modules that they call.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use super::{
    blocks::Reader,
    calls::{Callee, callee},
    consul_ecs::{self, Kind, Release},
    directory::Directory,
    frame::Frame,
    instances::{Instance, instances},
    module::Module,
    resources::{definition, service},
    syntax::{Block, is_source_name},
    targets::{Target, target},
    tree::Tree,
    values::unknown,
    world::{Cause, World},
};
use crate::{
    definition::TaskDefinition,
    document::Span,
    input::{InputProblem, paths::FoundFile, shared_families::mark_shared_families},
    source::SourceFile,
};

/// Calls of modules nested deeper than this are not read.
const MAX_CALLS: usize = 12;

/// Files of a directory without any of these words are not reported if they cannot be read.
const WORDS: [&str; 3] = ["aws_ecs_task_definition", "aws_ecs_service", "consul-ecs"];

/// What Terraform sources contain.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) definitions: Vec<TaskDefinition>,
    /// What could not be read.
    pub(crate) problems: Vec<InputProblem>,
    /// What cannot be checked without a plan.
    pub(crate) notes: Vec<InputProblem>,
    /// The number of files.
    pub(crate) files: usize,
    /// Whether they have resources of App Mesh, which are not read.
    pub(crate) has_app_mesh: bool,
}

/// Reads a text on its own: no other file is read.
pub(in crate::input) fn read_text(file: Arc<SourceFile>) -> Read {
    let mut read = Read { files: 1, ..Read::default() };
    let directory = Rc::new(Directory::of(vec![file], Vec::new(), &mut read.problems));
    let mut run = Run { edited: None, world: World::new(None), known: BTreeMap::new(), visited: BTreeSet::new(), read };
    run.root(&directory, None);
    run.read
}

/// Reads the directories of `files`. Definitions in files of these directories that are not among `files` are left
/// out, but what they declare is used. Nothing outside of `roots` is read.
pub(in crate::input) fn read_directories(files: &[FoundFile], roots: Vec<PathBuf>) -> Read {
    read_with(files, roots, None)
}

/// Reads a file with the others of its directory, but with this text instead of that on disk.
pub(in crate::input) fn read_edited(file: &Arc<SourceFile>) -> Read {
    let path = PathBuf::from(&file.name);
    let root = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("."),
    };
    if !path.is_file() {
        return read_text(Arc::clone(file));
    }
    let found = FoundFile { path, name: file.name.clone(), is_named: true };
    read_with(&[found], vec![root], Some(file))
}

fn read_with(files: &[FoundFile], roots: Vec<PathBuf>, edited: Option<&Arc<SourceFile>>) -> Read {
    let mut run = Run {
        edited: edited.cloned(),
        world: World::new(Some(Tree::new(roots))),
        known: BTreeMap::new(),
        visited: BTreeSet::new(),
        read: Read { files: files.len(), ..Read::default() },
    };
    let mut groups: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let parent = file.path.parent().unwrap_or(Path::new(""));
        groups.entry(parent).or_default().insert(file.name.clone());
    }
    let named: BTreeSet<&str> = files.iter().filter(|file| file.is_named).map(|file| file.name.as_str()).collect();
    let groups: Vec<Group> = groups
        .into_iter()
        .map(|(path, checked)| {
            let is_named = checked.iter().any(|name| named.contains(name.as_str()));
            Group { path: path.to_owned(), directory: run.load(path, is_named), checked }
        })
        .collect();
    run.read.has_app_mesh = groups.iter().any(|group| group.directory.has_app_mesh());
    let called: BTreeSet<PathBuf> = groups.iter().flat_map(|group| run.called_by(&group.directory)).collect();
    // Modules that are called only by each other are read on their own.
    for is_called in [false, true] {
        for group in &groups {
            let identity = identity(&group.path);
            if called.contains(&identity) == is_called && !run.visited.contains(&identity) {
                run.root(&group.directory, Some(&group.checked));
            }
        }
    }
    run.read
}

/// A directory of which files are checked.
struct Group {
    path: PathBuf,
    directory: Rc<Directory>,
    /// The names of the files whose definitions are checked.
    checked: BTreeSet<String>,
}

struct Run {
    /// A file whose text counts instead of that on disk.
    edited: Option<Arc<SourceFile>>,
    world: World,
    known: BTreeMap<PathBuf, Rc<Directory>>,
    /// The directories of modules that were called.
    visited: BTreeSet<PathBuf>,
    read: Read,
}

/// A definition, and what services of its module call it.
struct Found {
    target: Target,
    definition: TaskDefinition,
}

impl Run {
    /// The module in a directory.
    fn load(&mut self, path: &Path, is_named: bool) -> Rc<Directory> {
        let identity = identity(path);
        if let Some(known) = self.known.get(&identity) {
            return Rc::clone(known);
        }
        let shown = path.to_string_lossy().into_owned();
        let mut problems = Vec::new();
        let mut sources = Tree::files(path, &shown, is_source_name, &mut problems);
        if let Some(edited) = &self.edited
            && let Some(source) = sources.iter_mut().find(|source| source.name == edited.name)
        {
            *source = Arc::clone(edited);
        }
        // OpenTofu reads `main.tofu` instead of `main.tf`.
        let is_tofu = |file: &&Arc<SourceFile>| file.name.contains(".tofu");
        let replaced: BTreeSet<String> =
            sources.iter().filter(is_tofu).map(|file| file.name.replace(".tofu", ".tf")).collect();
        sources.retain(|file| !replaced.contains(&file.name));
        let is_relevant = is_named || sources.iter().any(|file| WORDS.iter().any(|word| file.text.contains(word)));
        let values = Tree::files(path, &shown, is_values_name, &mut problems);
        let mut directory = Directory::of(sources, values, &mut problems);
        path.clone_into(&mut directory.path);
        ".".clone_into(&mut directory.relative);
        if is_relevant {
            self.read.problems.extend(problems);
        }
        let directory = Rc::new(directory);
        self.known.insert(identity, Rc::clone(&directory));
        directory
    }

    /// The directories that a module calls.
    fn called_by(&self, directory: &Rc<Directory>) -> Vec<PathBuf> {
        let module = Module::root(&self.world, Rc::clone(directory));
        let callees = directory.calls.iter().map(|call| callee(&module, call));
        callees.filter_map(|callee| if let Callee::Directory(path) = callee { Some(path) } else { None }).collect()
    }

    /// Reads a module that no other module calls.
    fn root(&mut self, directory: &Rc<Directory>, checked: Option<&BTreeSet<String>>) {
        let world = std::mem::replace(&mut self.world, World::new(None));
        let mut module = Module::root(&world, Rc::clone(directory));
        module.default_tags = default_tags(&module);
        let definitions = self.module(&module, checked, 0);
        if world.is_exhausted() {
            let name = directory.files.first().map(|file| file.name.clone()).unwrap_or_default();
            self.read.problems.push(InputProblem::of(name, "its expressions produce too much"));
        }
        drop(module);
        self.world = world.renewed();
        let mut definitions: Vec<TaskDefinition> = definitions.into_iter().map(|found| found.definition).collect();
        mark_shared_families(&mut definitions);
        self.read.definitions.append(&mut definitions);
    }

    fn module(&mut self, module: &Module<'_>, checked: Option<&BTreeSet<String>>, depth: usize) -> Vec<Found> {
        let directory = Rc::clone(&module.directory);
        let is_checked =
            |block: &&Block| checked.is_none_or(|checked| checked.contains(&directory.file(block.file).name));
        let mut found = Vec::new();
        let resources =
            |kind: &'static str| directory.resources.iter().filter(move |block| block.label(0) == Some(kind));
        for block in resources("aws_ecs_task_definition").filter(is_checked) {
            for instance in instances(module, block) {
                found.extend(self.definition(module, block, &instance));
            }
        }
        for call in directory.calls.iter().filter(is_checked) {
            self.call(module, call, depth, &mut found);
        }
        for block in resources("aws_ecs_service") {
            self.service(module, block, &mut found);
        }
        found
    }

    fn definition(&mut self, module: &Module<'_>, block: &Block, instance: &Instance) -> Option<Found> {
        let (read, cause) = module.world.with_cause(|| definition(module, block, instance));
        match read {
            Ok(definition) => {
                if definition.containers.items.is_empty() && !definition.containers.is_complete {
                    self.note(&definition, block.name_span(), cause);
                }
                let name = block.label(1).unwrap_or_default().to_owned();
                Some(Found { target: Target::Resource(name), definition })
            }
            Err(problem) => {
                self.read.problems.push(problem);
                None
            }
        }
    }

    /// Says that the containers of a definition are not known.
    fn note(&mut self, definition: &TaskDefinition, span: Span, cause: Option<Cause>) {
        let (file, span, because) = match cause {
            Some(cause) => (cause.file, cause.span, format!(" because {}", cause.reason)),
            None => (Arc::clone(&definition.file), span, String::new()),
        };
        let reason = format!("{}: its containers are not known{because}; {CHECK_THE_PLAN}", definition.address);
        self.read.notes.push(InputProblem::at(&file, span, reason));
    }

    fn call(&mut self, module: &Module<'_>, call: &Block, depth: usize, found: &mut Vec<Found>) {
        let name = call.label(0).unwrap_or_default();
        let file = module.directory.file(call.file);
        let mut unread = |reason: String| {
            let reason = format!("{}: {reason}; {CHECK_THE_PLAN}", module.address_of(&format!("module.{name}")));
            self.read.notes.push(InputProblem::at(&file, call.name_span(), reason));
        };
        match callee(module, call) {
            Callee::Irrelevant => {}
            Callee::Unread(reason) => unread(reason),
            Callee::ConsulEcs(kind, release) => {
                for instance in instances(module, call) {
                    let reader = Reader { module, block: call, instance: &instance };
                    self.consul_ecs(&reader, kind, release, name, found);
                }
            }
            Callee::Directory(_) if depth >= MAX_CALLS => unread("calls are nested too deeply".to_owned()),
            Callee::Directory(path) => {
                let shown = shown_path(&module.directory.path, call, &path);
                self.visited.insert(identity(&path));
                let directory = self.load(&shown, true);
                for instance in instances(module, call) {
                    let inner = super::calls::inner(module, call, &instance, Rc::clone(&directory));
                    let inside = self.module(&inner, None, depth + 1);
                    let target = |found: Found| Found { target: Target::Module(name.to_owned()), ..found };
                    found.extend(inside.into_iter().map(target));
                }
            }
        }
    }

    /// Reads what one of `HashiCorp`'s modules makes.
    fn consul_ecs(
        &mut self,
        reader: &Reader<'_, '_>,
        kind: Kind,
        release: Release,
        name: &str,
        found: &mut Vec<Found>,
    ) {
        let module = reader.module;
        let address = module.address_of(&format!("module.{name}{}", reader.instance.suffix));
        let file = module.directory.file(reader.block.file);
        let made = || consul_ecs::definition(reader, kind, release, address.clone());
        let (definition, cause) = module.world.with_cause(made);
        let mut definition = match definition {
            Ok(definition) => definition,
            Err(mismatch) => return self.read.problems.push(InputProblem::mismatch(&file, &address, &mismatch)),
        };
        if !definition.containers.is_complete {
            self.note(&definition, reader.block.name_span(), cause);
        }
        match consul_ecs::service(reader, kind, release, format!("{address}.aws_ecs_service.this")) {
            Some(Ok(service)) => definition.services.push(service),
            Some(Err(mismatch)) => self.read.problems.push(InputProblem::mismatch(&file, &address, &mismatch)),
            None => {}
        }
        found.push(Found { target: Target::Module(name.to_owned()), definition });
    }

    /// Adds a service to the definitions that it runs.
    fn service(&mut self, module: &Module<'_>, block: &Block, found: &mut [Found]) {
        let Some(attribute) = block.body.attribute("task_definition") else { return };
        let family = module.evaluate(&attribute.expression, Frame::of(attribute.file)).unwrap_or(unknown(block.span));
        let wanted = target(module, attribute);
        let is_run = |one: &&mut Found| match &wanted {
            Some(wanted) => one.target == *wanted,
            None => family.text().is_some() && one.definition.family.text() == family.text(),
        };
        let mut run: Vec<&mut Found> = found.iter_mut().filter(is_run).collect();
        // Instances of one resource have one target; a module may declare several definitions.
        let addresses: BTreeSet<&str> =
            run.iter().map(|one| one.definition.address.split('[').next().unwrap_or_default()).collect();
        if addresses.len() != 1 {
            return;
        }
        for instance in instances(module, block).into_iter().take(1) {
            match service(module, block, &instance) {
                Ok(service) => run.iter_mut().for_each(|one| one.definition.services.push(service.clone())),
                Err(problem) => self.read.problems.push(problem),
            }
        }
    }
}

/// What to do about what the sources do not determine.
const CHECK_THE_PLAN: &str =
    "check the plan: terraform plan -out plan.out && terraform show -json plan.out | ecs-mesh check -";

/// The tags that the provider adds to all resources. With several providers, it is not known whose.
fn default_tags(module: &Module<'_>) -> Option<crate::document::Node> {
    let providers = module.directory.providers.iter().filter(|block| block.label(0) == Some("aws"));
    let providers: Vec<&Block> = providers.collect();
    let tags: Vec<&Block> = providers.iter().flat_map(|provider| provider.body.blocks("default_tags")).collect();
    let first = tags.first()?;
    let span = first.span;
    let attribute = first.body.attribute("tags").filter(|_| providers.len() == 1);
    let value = attribute.and_then(|attribute| module.evaluate(&attribute.expression, Frame::of(attribute.file)));
    Some(value.unwrap_or_else(|| unknown(span)))
}

/// A file with values that Terraform reads by itself.
fn is_values_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "terraform.tfvars"
        || name == "terraform.tfvars.json"
        || name.ends_with(".auto.tfvars")
        || name.ends_with(".auto.tfvars.json")
}

/// The path of a called directory as users read it.
fn shown_path(caller: &Path, call: &Block, path: &Path) -> PathBuf {
    let source = call.body.attribute("source").and_then(|attribute| match &attribute.expression {
        super::syntax::Expression::Native(native) => native.as_str().map(str::to_owned),
        super::syntax::Expression::Json(json) => json.text().map(str::to_owned),
    });
    let Some(source) = source else { return path.to_owned() };
    let mut shown = PathBuf::new();
    for part in caller.join(source).components() {
        match part {
            std::path::Component::ParentDir if shown.file_name().is_some() => drop(shown.pop()),
            std::path::Component::CurDir => {}
            part => shown.push(part),
        }
    }
    shown
}

/// The path without links, to compare it with others.
fn identity(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
