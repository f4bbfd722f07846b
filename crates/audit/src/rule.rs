//! What a rule is.

use super::{
    app_mesh::{Resource, Resources},
    example::Example,
    finding::{Draft, Findings, Severity},
    subject::Subject,
};

/// A rule: what it looks for, why, and an example of it.
#[derive(Debug)]
pub struct Rule {
    /// Its name: `consul-…`, `appmesh-…` or `ecs-…`.
    pub id: &'static str,
    /// What a correct definition has, in one line.
    pub summary: &'static str,
    /// How bad it is to break it.
    pub severity: Severity,
    /// What it is asked about.
    pub applies: Applies,
    /// What happens at run time where it is broken, in one sentence.
    pub effect: &'static str,
    /// The whole story, in Markdown.
    pub explanation: &'static str,
    /// Where the rule comes from: pages of documentation.
    pub sources: &'static [&'static str],
    /// Definitions that break it, and their repaired twins.
    pub examples: &'static [Example],
    /// Looks for it.
    pub check: Check,
}

impl Rule {
    /// Whether it is about App Mesh, which has ended.
    #[must_use]
    pub fn is_of_app_mesh(&self) -> bool {
        self.id.starts_with("appmesh-")
    }
}

/// What a rule is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// Every task definition.
    EveryTask,
    /// Task definitions of Consul's mesh, in both generations.
    Consul,
    /// Those with a Consul client agent in the task (consul-ecs up to 0.6).
    ConsulClient,
    /// Those with Consul Dataplane (consul-ecs 0.7 and newer).
    ConsulDataplane,
    /// Gateways of Consul's mesh, in both generations.
    ConsulGateway,
    /// Task definitions with App Mesh's proxy.
    AppMesh,
    /// Exported resources of App Mesh.
    AppMeshResources,
    /// All task definitions of a run, taken together.
    AllTasks,
}

impl Applies {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EveryTask => "every task definition",
            Self::Consul => "Consul, both generations",
            Self::ConsulClient => "Consul, client generation (consul-ecs up to 0.6)",
            Self::ConsulDataplane => "Consul, dataplane generation (consul-ecs 0.7 and newer)",
            Self::ConsulGateway => "Consul gateways",
            Self::AppMesh => "App Mesh task definitions",
            Self::AppMeshResources => "exported App Mesh resources",
            Self::AllTasks => "all task definitions of a run together",
        }
    }
}

/// How a rule looks.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// At one task definition.
    Task(fn(&Subject<'_>, &mut Findings)),
    /// At exported resources of App Mesh, and the definitions of the same run.
    Resources(fn(&Resources, &[Subject<'_>], &mut ResourceFindings<'_>)),
    /// At task definitions, beside the exported resources of the same run.
    TasksAmongResources(fn(&[Subject<'_>], &Resources, &mut TaskFindings<'_>)),
    /// At all definitions of a run.
    AllTasks(fn(&[Subject<'_>], &mut TaskFindings<'_>)),
}

/// Where a rule puts what it finds about a resource of App Mesh.
pub type ResourceFindings<'f> = dyn FnMut(&Resource, Draft) + 'f;

/// Where a rule puts what it finds about one of several task definitions.
pub type TaskFindings<'f> = dyn FnMut(&Subject<'_>, Draft) + 'f;
