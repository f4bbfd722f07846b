//! The timeline of a task definition.

use super::{
    model::{Lane, Timeline},
    start::{Starts, events},
    stop::stop_order,
};
use crate::subject::Subject;
use audit_read::definition::TaskDefinition;

impl Timeline {
    pub fn of(definition: &TaskDefinition) -> Self {
        let subject = Subject::new(definition);
        let starts = Starts::of(definition);
        let mut lanes: Vec<Lane> = definition
            .containers
            .items
            .iter()
            .enumerate()
            .map(|(index, container)| starts.lane(index, container, &subject))
            .collect();
        let start = events(&lanes);
        let stop = stop_order(&mut lanes, &subject, &starts);
        Self { name: definition.label(), lanes, start, stop, is_complete: definition.containers.is_complete }
    }
}
