//! Who may call a service, and by which intention.

use observe::{Answer, Datacenter, Intention, IntentionAction};

use super::{permission::in_words, report::Caller};

/// The intentions about a service, in order of precedence, and at the end what the default policy says.
pub fn callers(intentions: &[Intention], datacenter: &Answer<Datacenter>) -> Vec<Caller> {
    let caller = |intention: &Intention| Caller {
        source: intention.source_name.clone(),
        action: match intention.action {
            Some(IntentionAction::Allow) => "allow",
            Some(IntentionAction::Deny) => "deny",
            None => "by permissions",
        }
        .to_owned(),
        intention: in_words(intention),
    };
    let otherwise = datacenter.as_ref().ok().map(|datacenter| Caller {
        source: "*".to_owned(),
        action: if datacenter.allows_calls_by_default { "allow" } else { "deny" }.to_owned(),
        intention: "default policy".to_owned(),
    });
    intentions.iter().map(caller).chain(otherwise).collect()
}
