//! What every operation shares.

use std::sync::Arc;

use jiff::Timestamp;
use mesh::{scope::Scope, settings::PlanSettings};
use observe::Observer;

use crate::{
    announcement::Announcer,
    edges::{Edges, Entropy, Queue},
};

/// The settings, who reads, and the stack's own queue and announcements. It cannot write outside of the stack.
pub(crate) struct Context {
    pub(crate) scope: Arc<Scope>,
    pub(crate) observer: Observer,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) announcer: Announcer,
}

impl Context {
    pub(crate) fn new(scope: Scope, edges: Edges) -> Self {
        let Edges { reads, queue, entropy, events, writes: _ } = edges;
        let scope = Arc::new(scope);
        let announcer = Announcer::new(events, scope.mode, scope.announces_routine);
        Self { observer: Observer::new(Arc::clone(&scope), reads), queue, entropy, announcer, scope }
    }

    /// The settings of a plan for events, now.
    pub(crate) fn plan_settings(&self) -> PlanSettings<'_> {
        self.scope.plan_settings(self.now())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.observer.clock.now()
    }
}
