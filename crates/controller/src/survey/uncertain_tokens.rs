//! Service tokens that are skipped, because it is not certain that they are this deployment's or that no task reads them.

use mesh::{
    arn::ClusterArn,
    mark::HolderMark,
    secret::StoredSecret,
    token::{ListedToken, TokenHolder},
    token_mode::TokenMode,
};

use super::findings::{Skipped, Survey};
use crate::scope::Scope;

/// What is certain about a service token.
enum Certainty {
    Certain,
    /// Its secret could not be read, which is a problem in the report.
    Unread,
    /// The reason why it is skipped.
    Uncertain(String),
}

/// Removes uncertain tokens from what was observed.
pub(super) fn skip(scope: &Scope, survey: &mut Survey) {
    let Survey { observed, skipped, out_of_reach, .. } = survey;
    let secrets = &observed.secrets;
    observed.tokens.retain(|token| {
        let Some((mark, cluster)) = service_mark(scope, token) else { return true };
        let Some(holder) = scope.names.holder_of(&mark, &token.tenancy) else { return true };
        let certainty = match secrets.get(&holder) {
            Some(secret) => certainty(scope, token, &mark, &holder, secret),
            None if out_of_reach.contains(&holder) => {
                Certainty::Uncertain(out_of_reach_of_role(&scope.names.of(&holder)))
            }
            None => Certainty::Unread,
        };
        match certainty {
            Certainty::Certain => true,
            Certainty::Unread => mark.has_arn_of(&scope.clusters),
            Certainty::Uncertain(why) => {
                let what = format!("token {} of {holder}", token.accessor);
                skipped.push(Skipped { cluster, what, why });
                false
            }
        }
    });
}

fn out_of_reach_of_role(secret: &str) -> String {
    format!(
        "the secret {secret} does not exist or has another creator, so with TokenMode=auth-method the role may not read it; \
         delete the token if no task reads it"
    )
}

fn service_mark(scope: &Scope, token: &ListedToken) -> Option<(HolderMark, ClusterArn)> {
    let mark = HolderMark::parse(&token.description).filter(|mark| mark.service.is_some())?;
    let cluster = scope.clusters.cluster_named_by(&mark.cluster)?;
    Some((mark, cluster))
}

fn certainty(
    scope: &Scope,
    token: &ListedToken,
    mark: &HolderMark,
    holder: &TokenHolder,
    secret: &StoredSecret,
) -> Certainty {
    // Another account may have a cluster of that name.
    if !mark.has_arn_of(&scope.clusters) && !secret.names(token.accessor) {
        let why = "it names the cluster without an account, and the secret does not contain it";
        return Certainty::Uncertain(why.to_owned());
    }
    // A token of consul-ecs's controller, whose secret may have another prefix, so that a task may read it.
    let is_elsewhere = mark.secret.is_none() && !secret.names(token.accessor);
    if scope.mode == TokenMode::Auto && is_elsewhere {
        let name = scope.names.of(holder);
        let why = format!("the secret {name} does not contain it, and another one may; delete it if no task reads it");
        return Certainty::Uncertain(why);
    }
    Certainty::Certain
}
