//! Reads task definitions and resources of App Mesh from files, live accounts and plans, as values with places.
//!
//! ```text
//!  input/           ─▶  document/        ─▶  definition/, app_mesh/
//!  ECS's JSON,          a tree of values,    what the rules judge: known, absent,
//!  CloudFormation,      each with the        or unknown until deployment
//!  CDK, Terraform       place it stands at
//! ```
//!
//! It judges nothing, and reads files without access to AWS or Consul.

pub mod app_mesh;
pub mod definition;
pub mod document;
pub mod input;
pub mod parallel;
pub mod source;

use self::{app_mesh::Resources, definition::TaskDefinition};

/// The input of one run.
#[derive(Debug, Default)]
pub struct Material {
    pub definitions: Vec<TaskDefinition>,
    /// Resources of App Mesh.
    pub resources: Resources,
}

impl Material {
    /// The task definitions called `choice`: by family, logical ID or address. All of them if there is no choice.
    pub fn chosen(&self, choice: Option<&str>) -> Vec<&TaskDefinition> {
        let is_meant = |definition: &&TaskDefinition| choice.is_none_or(|choice| definition.is_meant_by(choice));
        self.definitions.iter().filter(is_meant).collect()
    }

    /// Whether the AWS CDK has synthesised the file called `name`: then an edit of it is lost.
    pub fn is_synthesised(&self, name: &str) -> bool {
        let of_definitions = self.definitions.iter().map(|definition| (definition.is_synthesised, &definition.file));
        let of_resources = self.resources.all.iter().map(|resource| (resource.is_synthesised, &resource.file));
        of_definitions.chain(of_resources).any(|(is_synthesised, file)| is_synthesised && file.name == name)
    }
}
