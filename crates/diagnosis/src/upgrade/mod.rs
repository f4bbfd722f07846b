//! What an upgrade of Consul's servers needs: the revisions that do not go with the target, and what to do, in order.
//!
//! What goes together is in the table of [`audit::versions`].
//!
//! ```text
//!  rows of the inventory ─▶ Releases ─▶ fit: do they go with a line of Consul?
//!  Consul now, target    ─▶ hops: the lines between, at most two at a time
//!                           pair: the releases that go with both ends of a hop
//!                              └──▶ Plan: for each hop the controllers, the tasks, the servers, and the client agents
//! ```

mod fit;
mod hops;
mod pair;
mod release;
mod report;
mod servers;
mod steps;
#[cfg(test)]
mod tests;

use audit::versions::{Line, Program, lines_of, table};

pub use self::report::{Blocker, RowName, UpgradeReport, UpgradeStep};
use self::{
    fit::{Fit, Releases},
    steps::Plan,
};
use crate::inventory::InventoryRow;

/// Why an upgrade cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The table does not have the line.
    #[error("Consul {line} is not in the table of {}, which has {}", table().as_of, all_lines())]
    NotInTheTable {
        /// The line.
        line: Line,
    },
    /// The servers are newer than the target.
    #[error("Consul's servers have {from}, which is newer than {target}: there is no plan for a downgrade")]
    Downgrade {
        /// The line of the servers.
        from: Line,
        /// The target.
        target: Line,
    },
}

fn all_lines() -> String {
    lines_of(Program::Consul).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What an upgrade of Consul's servers to `target` needs. `from` is what they have now; without it, no order is known.
///
/// # Errors
/// The table does not have one of the lines, or `from` is newer.
pub fn upgrade(rows: &[InventoryRow], from: Option<Line>, target: Line) -> Result<UpgradeReport, UpgradeError> {
    let known = lines_of(Program::Consul);
    if let Some(line) = [Some(target), from].into_iter().flatten().find(|line| !known.contains(line)) {
        return Err(UpgradeError::NotInTheTable { line });
    }
    if let Some(from) = from.filter(|from| *from > target) {
        return Err(UpgradeError::Downgrade { from, target });
    }
    let all: Vec<(RowName, Releases)> =
        rows.iter().filter_map(|row| Some((RowName::of(row), Releases::of(row)?))).collect();
    let (mut blockers, mut unknown) = (Vec::new(), Vec::new());
    for (row, releases) in &all {
        match releases.fit(target) {
            Fit::Goes => {}
            Fit::Not(reasons) => blockers.push(Blocker { row: row.clone(), reasons }),
            Fit::Unknown(reasons) => unknown.push(Blocker { row: row.clone(), reasons }),
        }
    }
    let steps = from.map(|from| Plan::new(&all, &known, from, target).steps).unwrap_or_default();
    Ok(UpgradeReport {
        target: target.to_string(),
        from: from.map(|line| line.to_string()),
        table_as_of: table().as_of.to_string(),
        revisions: all.len(),
        blockers,
        unknown,
        steps,
    })
}
