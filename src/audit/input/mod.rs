//! Where task definitions come from.

mod ecs_json;
mod problem;

use std::{fs, io::Read, sync::Arc};

pub use self::{
    ecs_json::{ecs_definition, is_ecs_definition},
    problem::InputProblem,
};
use super::{
    Material,
    document::{Route, parse_json},
    source::SourceFile,
};

/// What was read, and what could not be.
#[derive(Debug, Default)]
pub struct Gathered {
    /// What there is to look at.
    pub material: Material,
    /// What could not be read.
    pub problems: Vec<InputProblem>,
    /// How many files were read.
    pub files_read: usize,
}

/// Reads the files at `paths`; `-` is `stdin`.
pub fn gather(paths: &[String], stdin: &mut dyn Read) -> Gathered {
    let mut gathered = Gathered::default();
    for path in paths {
        let mut text = String::new();
        let read = match path.as_str() {
            "-" => stdin.read_to_string(&mut text).map(drop),
            path => fs::read_to_string(path).map(|read| text = read),
        };
        let name = if path == "-" { "<stdin>" } else { path };
        match read {
            Ok(()) => gathered.take(SourceFile::new(name, text)),
            Err(error) => gathered.problems.push(InputProblem::of_file(name, error.to_string())),
        }
    }
    gathered
}

impl Gathered {
    fn take(&mut self, file: SourceFile) {
        self.files_read += 1;
        let file = Arc::new(file);
        let read = parse_json(&file.text, &Route::default())
            .map_err(|error| (error.span, error.reason))
            .and_then(|node| ecs_definition(file.clone(), &node).map_err(|error| (error.span, error.to_string())));
        match read {
            Ok(definition) => self.material.definitions.push(definition),
            Err((span, reason)) => {
                let position = Some(file.position(span.start));
                self.problems.push(InputProblem { file: file.name.clone(), position, reason });
            }
        }
    }
}
