//! The effects of actions on what is observed next.

use super::*;

/// A secret that the controller wrote just now.
fn written(state: SecretState) -> StoredSecret {
    StoredSecret { state, is_ours: true, version: None, written_at: Some(now()) }
}

/// Applies actions to the observed state, as the controller does.
pub(super) fn carry_out(observed: &mut Observed, actions: &[Action]) {
    for action in actions {
        match action {
            Action::Provision(holder) => {
                observed.provisioned.insert(holder.clone());
                if let Some(secret) = observed.secrets.get_mut(holder)
                    && let SecretState::Retiring(pair, _) = &secret.state
                {
                    *secret = written(SecretState::Active(pair.clone()));
                }
            }
            Action::ShowOrphan(holder, token) => {
                observed.provisioned.insert(holder.clone());
                observed.secrets.insert(holder.clone(), written(naming(token.accessor, false).state));
            }
            Action::DeleteOrphan(_, token, _) => observed.tokens.retain(|seen| seen.accessor != token.accessor),
            Action::MarkCritical(instance, reason) => {
                let check = HealthCheck::maintenance(instance, *reason);
                observed
                    .checks
                    .retain(|seen| !(seen.node == check.node && seen.id == check.id && seen.tenancy == check.tenancy));
                observed.checks.push(check);
            }
            Action::EndDrain(check) => observed.checks.retain(|seen| !seen.is_same_as(check)),
            Action::DeleteLoginToken(token) => observed.tokens.retain(|seen| seen.accessor != token.accessor),
            Action::Deregister(gone) => {
                observed.instances.retain(|seen| seen != gone);
                for leftover in &mut observed.leftover_nodes {
                    leftover.node.instances.retain(|seen| seen != gone);
                }
            }
            Action::ForceLeave(agent) => observed.agents.retain(|seen| seen != agent),
            Action::Hide(holder, idle) | Action::Revoke(holder, idle) => {
                let secret = observed.secrets.get_mut(holder).unwrap();
                match secret.state.clone() {
                    SecretState::Active(pair) => {
                        *secret = written(SecretState::Retiring(pair, idle.retirement.clone()));
                    }
                    SecretState::Retiring(pair, _) => {
                        *secret = written(SecretState::Empty);
                        observed.tokens.retain(|seen| seen.accessor != pair.accessor);
                    }
                    SecretState::Missing | SecretState::Empty => panic!("nothing to retire"),
                }
            }
            // Repairs compare running tasks, which are no part of this observation.
            Action::Repair(_)
            | Action::CorrectHealth(_)
            | Action::DeregisterNode(_)
            | Action::AwaitAgent(_)
            | Action::CheckIdleness(_) => {}
        }
    }
    // A node is deregistered only if it has no services.
    observed.leftover_nodes.retain(|seen| {
        let is_planned = actions.iter().any(|action| {
            matches!(action, Action::DeregisterNode(node) if node.cluster == seen.cluster && node.tenancy == seen.tenancy)
        });
        !(is_planned && seen.node.instances.is_empty() && seen.node.others.is_empty())
    });
}
