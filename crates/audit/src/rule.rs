//! What a rule is.

use std::fmt;

use audit_read::app_mesh::{Resource, ResourceKind, Resources};

use super::{
    draft::{Draft, Findings},
    page::{Page, Texts},
    subject::{Feature, Generation, Subject},
};

/// A rule: what it checks, and the page that explains it.
#[derive(Debug)]
pub struct Rule {
    /// Its ID: `consul-…`, `appmesh-…` or `ecs-…`.
    pub id: &'static str,
    /// What it checks.
    pub applies: Applies,
    /// The check itself.
    pub check: RuleFunction,
    /// Its page, with all of its texts.
    pub page: Page,
}

impl Rule {
    /// A rule that finds at most one defect in a task definition.
    pub const fn once_per_task(page: Page, applies: Applies, check: fn(&Subject<'_>) -> Option<Draft>) -> Self {
        Self::new(page, applies, RuleFunction::OncePerTask(check))
    }

    /// A rule that finds any number of defects in a task definition.
    pub const fn of_task(page: Page, applies: Applies, check: fn(&Subject<'_>, &mut Findings)) -> Self {
        Self::new(page, applies, RuleFunction::Task(check))
    }

    /// A rule that finds at most one defect in an App Mesh resource of these kinds.
    pub const fn once_per_resource(
        page: Page,
        kinds: &'static [ResourceKind],
        check: fn(&Resources, &Resource) -> Option<Draft>,
    ) -> Self {
        Self::new(page, Applies::AppMeshResources, RuleFunction::OncePerResource(kinds, check))
    }

    /// A rule that checks all App Mesh resources of a run together.
    pub const fn of_resources(page: Page, check: fn(&Resources, &[Subject<'_>], &mut ResourceFindings<'_>)) -> Self {
        Self::new(page, Applies::AppMeshResources, RuleFunction::Resources(check))
    }

    /// A rule that checks all task definitions of a run together.
    pub const fn of_tasks(
        page: Page,
        applies: Applies,
        check: fn(&[Subject<'_>], &Resources, &mut TaskFindings<'_>),
    ) -> Self {
        Self::new(page, applies, RuleFunction::Tasks(check))
    }

    const fn new(page: Page, applies: Applies, check: RuleFunction) -> Self {
        Self { id: page.id, applies, check, page }
    }

    /// What its page says.
    pub fn texts(&self) -> &Texts {
        self.page.texts()
    }
}

/// What a rule checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// Every task definition.
    EveryTask,
    /// Task definitions of Consul's mesh, in both generations.
    Consul,
    /// The same, if it is known what a running mesh has.
    ConsulWithMesh,
    /// Task definitions of Consul's mesh, and of consul-ecs's controller.
    ConsulAndController,
    /// Task definitions of consul-ecs's controller.
    Controller,
    /// Those with a Consul client agent in the task.
    ConsulClient,
    ConsulDataplane,
    /// The same, and the controller of consul-ecs.
    ConsulDataplaneAndController,
    /// Gateways of Consul's mesh, in both generations.
    ConsulGateway,
    /// Task definitions with App Mesh's proxy.
    AppMesh,
    AppMeshResources,
    /// All task definitions of a run together.
    AllTasks,
}

/// As users read it.
impl fmt::Display for Applies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clients = Generation::Client.releases().example();
        let dataplanes = Feature::Dataplane.releases().since;
        match self {
            Self::EveryTask => write!(f, "every task definition"),
            Self::Consul => write!(f, "Consul, both generations"),
            Self::ConsulWithMesh => write!(f, "Consul, both generations, with `--mesh`"),
            Self::ConsulAndController => write!(f, "Consul, both generations, and the controller of consul-ecs"),
            Self::Controller => write!(f, "the controller of consul-ecs"),
            Self::ConsulClient => write!(f, "Consul, client generation (consul-ecs up to {clients})"),
            Self::ConsulDataplane => write!(f, "Consul, dataplane generation (consul-ecs {dataplanes} and newer)"),
            Self::ConsulDataplaneAndController => {
                write!(f, "{}, and {}", Self::ConsulDataplane, Self::Controller)
            }
            Self::ConsulGateway => write!(f, "Consul gateways"),
            Self::AppMesh => write!(f, "App Mesh task definitions"),
            Self::AppMeshResources => write!(f, "App Mesh resources"),
            Self::AllTasks => write!(f, "all task definitions of a run together"),
        }
    }
}

/// The function of a rule, by what it reads.
#[derive(Debug, Clone, Copy)]
pub enum RuleFunction {
    /// One task definition, for a single defect.
    OncePerTask(fn(&Subject<'_>) -> Option<Draft>),
    /// One task definition.
    Task(fn(&Subject<'_>, &mut Findings)),
    /// One resource of App Mesh of these kinds, among the others of the run.
    OncePerResource(&'static [ResourceKind], fn(&Resources, &Resource) -> Option<Draft>),
    /// All resources of App Mesh, and the task definitions of the same run.
    Resources(fn(&Resources, &[Subject<'_>], &mut ResourceFindings<'_>)),
    /// All task definitions of a run, and its resources of App Mesh.
    Tasks(fn(&[Subject<'_>], &Resources, &mut TaskFindings<'_>)),
}

/// Takes a rule's findings about resources of App Mesh.
pub type ResourceFindings<'f> = dyn FnMut(&Resource, Draft) + 'f;

/// Takes a rule's findings about several task definitions.
pub type TaskFindings<'f> = dyn FnMut(&Subject<'_>, Draft) + 'f;
