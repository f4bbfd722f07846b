//! Reads task definitions and resources of App Mesh from files, live accounts and plans, as values with places.
//!
//! ```text
//!  input/           ─▶  document         ─▶  definition/, app_mesh/
//!  ECS's JSON,          a tree of values,    what the rules judge: known, absent,
//!  CloudFormation,      each with the        or unknown until deployment
//!  CDK, Terraform       place it stands at
//! ```
//!
//! It judges nothing, and reads files without access to AWS or Consul.

pub mod app_mesh;
pub mod definition;
pub mod input;
pub mod parallel;
pub mod spelling;

use std::sync::Arc;

use document::SourceFile;

use self::{
    app_mesh::Resources,
    definition::{TaskDefinition, Undeclared},
};

/// The input of one run.
#[derive(Debug, Default)]
pub struct Material {
    pub definitions: Vec<TaskDefinition>,
    /// Resources of App Mesh.
    pub resources: Resources,
    /// Undeclared references of no definition and no resource: of services that run none of the definitions, and of calls of modules.
    pub undeclared: Vec<Undeclared>,
}

impl Material {
    /// The task definitions called `choice`: by family, logical ID or address. All of them if there is no choice.
    pub fn chosen(&self, choice: Option<&str>) -> Vec<&TaskDefinition> {
        let is_meant = |definition: &&TaskDefinition| choice.is_none_or(|choice| definition.is_meant_by(choice));
        self.definitions.iter().filter(is_meant).collect()
    }

    /// The files of what was read: the definitions, their services and roles, the resources of App Mesh, and undeclared references. A
    /// file may be there several times.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        let of_definitions = self.definitions.iter().flat_map(|definition| {
            let services = definition.services.iter().map(|service| &service.file);
            let roles = definition.declared_role.iter().chain(&definition.declared_execution_role);
            std::iter::once(&definition.file).chain(services).chain(roles.map(|role| &role.file))
        });
        let of_resources = self.resources.all().iter().map(|resource| &resource.file);
        of_definitions.chain(of_resources).chain(self.all_undeclared().map(|reference| &reference.file))
    }

    /// The undeclared references of everything.
    pub fn all_undeclared(&self) -> impl Iterator<Item = &Undeclared> {
        let of_definitions = self.definitions.iter().flat_map(|definition| &definition.undeclared);
        let of_resources = self.resources.all().iter().flat_map(|resource| &resource.undeclared);
        of_definitions.chain(of_resources).chain(&self.undeclared)
    }

    /// Whether the AWS CDK has synthesised the file called `name`: then an edit of it is lost.
    pub fn is_synthesised(&self, name: &str) -> bool {
        let of_definitions = self.definitions.iter().map(|definition| (definition.is_synthesised, &definition.file));
        let of_resources = self.resources.all().iter().map(|resource| (resource.is_synthesised, &resource.file));
        of_definitions.chain(of_resources).any(|(is_synthesised, file)| is_synthesised && file.name == name)
    }
}
