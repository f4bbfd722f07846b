//! The files that an editor shows, and what the auditor says of them. A JSON or YAML file is judged on its own, a Terraform
//! source with its module. What is open counts instead of the file on disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use audit::{
    audit,
    finding::Finding,
    ignore::{self, Config, Sorted},
    report::{Report, Reported, reported},
    severity::Threshold,
};
use audit_read::input::{Gathered, read_open, tree_of};
use document::{InputProblem, Position, SourceFile};
use gen_lsp_types::Uri;
use terraform::{Tree, is_source_name};

use crate::config::NAME;

/// What is judged at once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// A file in JSON or YAML.
    File(PathBuf),
    /// The directory of a Terraform module.
    Module(PathBuf),
    Configuration(PathBuf),
}

impl Unit {
    fn of(path: &Path) -> Option<Self> {
        Some(match path.file_name()?.to_str()? {
            NAME => Self::Configuration(path.to_owned()),
            name if is_source_name(name) => Self::Module(path.parent()?.to_owned()),
            _ => Self::File(path.to_owned()),
        })
    }

    fn directory(&self) -> &Path {
        match self {
            Self::File(path) | Self::Configuration(path) => path.parent().unwrap_or(path),
            Self::Module(path) => path,
        }
    }
}

/// A file that is open in the editor.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) uri: Uri,
    pub(super) version: i32,
    pub(super) file: Arc<SourceFile>,
}

/// What the auditor says of a unit.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) gathered: Gathered,
    pub(super) sorted: Sorted,
    /// The findings as reports show them, without secrets, each with the index of the first one that it stands for.
    reported: Vec<(usize, Reported)>,
}

impl Judged {
    /// The findings that count, each as it is and as reports show it. A mistake in several definitions is one finding.
    pub(super) fn findings(&self) -> impl Iterator<Item = (&Finding, &Reported)> {
        self.reported.iter().filter_map(|(first, reported)| Some((self.sorted.findings.get(*first)?, reported)))
    }

    /// What could not be read.
    pub(super) fn problems(&self) -> impl Iterator<Item = &InputProblem> {
        self.gathered.problems.iter().chain(&self.sorted.problems)
    }

    /// The report with the timelines, which is drawn on request only.
    pub(super) fn report(&self) -> Report {
        Report::new(&self.gathered, &self.sorted, Threshold::Never)
    }
}

/// The files that the editor shows, and the folders that it has open.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// The folders that the editor has open.
    folders: Vec<PathBuf>,
    pub(super) documents: BTreeMap<PathBuf, Document>,
    pub(super) tree: Tree,
    pub(super) judged: BTreeMap<Unit, Judged>,
}

impl Project {
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        Self { tree: tree_of(folders.clone()).remembering(), folders, ..Self::default() }
    }

    /// A file is opened or edited. Returns what has to be judged again.
    pub(super) fn edit(&mut self, path: &Path, uri: Uri, version: i32, text: String) -> BTreeSet<Unit> {
        let file = Arc::new(SourceFile::new(path.to_string_lossy(), text));
        self.tree.open(Arc::clone(&file));
        self.documents.insert(path.to_owned(), Document { uri, version, file });
        self.concerned(path)
    }

    /// A file is closed: the file on disk counts again. Returns what has to be judged again.
    pub(super) fn close(&mut self, path: &Path) -> BTreeSet<Unit> {
        self.documents.remove(path);
        self.tree.close(&path.to_string_lossy());
        self.concerned(path)
    }

    /// What has to be judged when a file changes: its unit; with the configuration file, everything; with a file of values
    /// or a template, the modules above it; with a module, those that call it.
    fn concerned(&self, path: &Path) -> BTreeSet<Unit> {
        let own = Unit::of(path);
        let calls = |unit: &Unit, directory: &Path| {
            let callee = fs::canonicalize(directory);
            callee.is_ok_and(|callee| {
                self.judged.get(unit).is_some_and(|judged| judged.gathered.called.contains(&callee))
            })
        };
        let is_concerned = |unit: &Unit| match &own {
            None | Some(Unit::Configuration(_)) => true,
            Some(Unit::File(path)) => matches!(unit, Unit::Module(directory) if path.starts_with(directory)),
            Some(Unit::Module(directory)) => calls(unit, directory),
        };
        self.units().into_iter().filter(is_concerned).chain(own.clone()).collect()
    }

    /// All units with an open file.
    pub(super) fn units(&self) -> BTreeSet<Unit> {
        self.documents.keys().filter_map(|path| Unit::of(path)).collect()
    }

    /// The open files of a unit.
    pub(super) fn files_of(&self, unit: &Unit) -> impl Iterator<Item = PathBuf> {
        self.documents.keys().filter(|path| Unit::of(path).as_ref() == Some(unit)).cloned()
    }

    /// The folder that has a file: what the editor has open, else the file's directory.
    pub(super) fn folder_of<'p>(&'p self, path: &'p Path) -> Option<&'p Path> {
        let folder = self.folders.iter().find(|folder| path.starts_with(folder));
        folder.map(PathBuf::as_path).or_else(|| path.parent())
    }

    /// Judges a unit, or forgets it if none of its files is open.
    pub(super) fn judge(&mut self, unit: &Unit) {
        match self.units().contains(unit).then(|| self.judgement(unit)).flatten() {
            Some(judged) => drop(self.judged.insert(unit.clone(), judged)),
            None => drop(self.judged.remove(unit)),
        }
    }

    fn judgement(&self, unit: &Unit) -> Option<Judged> {
        let directory = unit.directory();
        let file = match unit {
            Unit::File(path) | Unit::Configuration(path) => Arc::clone(&self.documents.get(path)?.file),
            Unit::Module(directory) => Arc::new(SourceFile::new(directory.join("main.tf").to_string_lossy(), "")),
        };
        Some(match self.config(directory) {
            Ok(_) if matches!(unit, Unit::Configuration(_)) => Judged::default(),
            Ok(config) if config.excludes(&file.name, directory) => return None,
            Ok(config) => {
                let gathered = read_open(&file, &self.tree);
                let sorted = ignore::sort(audit(&gathered.material), &gathered.material, &config, directory);
                let reported = reported(&gathered.material, &sorted.findings);
                Judged { gathered, sorted, reported }
            }
            // As `check`, which judges nothing without it.
            Err(problem) => {
                let gathered = Gathered { problems: vec![problem], ..Gathered::default() };
                Judged { gathered, ..Judged::default() }
            }
        })
    }

    /// The configuration file that counts for a directory: the nearest one from there upwards, saved or not.
    pub(super) fn configuration(&self, directory: &Path) -> Option<PathBuf> {
        let mut paths = directory.ancestors().map(|directory| directory.join(NAME));
        paths.find(|path| self.documents.contains_key(path) || path.is_file())
    }

    fn config(&self, directory: &Path) -> Result<Config, InputProblem> {
        let Some(path) = self.configuration(directory) else { return Ok(Config::default()) };
        Config::read(SourceFile::clone(&self.source(&path)), path.parent().unwrap_or(directory))
            .map_err(|error| InputProblem { file: error.file, position: Some(error.position), reason: error.reason })
    }

    /// A file: as the editor shows it, else as it is on disk.
    pub(super) fn source(&self, path: &Path) -> Arc<SourceFile> {
        match self.documents.get(path) {
            Some(document) => Arc::clone(&document.file),
            None => Arc::new(SourceFile::new(path.to_string_lossy(), fs::read_to_string(path).unwrap_or_default())),
        }
    }

    /// How editors call a file.
    pub(super) fn uri(&self, path: &Path) -> Option<Uri> {
        self.documents.get(path).map(|document| document.uri.clone()).or_else(|| Uri::from_file_path(path).ok())
    }

    /// The findings in a file, each with what was judged with it.
    pub(super) fn findings_in<'p>(
        &'p self,
        path: &'p Path,
    ) -> impl Iterator<Item = (&'p Judged, &'p Finding, &'p Reported)> {
        let is_there = move |finding: &Finding| Path::new(&finding.file.name) == path;
        let of = |judged: &'p Judged| judged.findings().map(move |(finding, reported)| (judged, finding, reported));
        self.judged.values().flat_map(of).filter(move |(_, finding, _)| is_there(finding))
    }
}

/// The first character of a file.
pub(super) const TOP: Position = Position { line: 1, column: 1 };
