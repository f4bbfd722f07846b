//! Who may call a service, and by which intention.

use audit::spelling::nearest;
use observe::{Answer, Datacenter, Intention, IntentionAction};

use super::{permission::in_words, report::Caller};

/// Why the name of a destination may be wrong: Consul has no such service, and no intention names it. It may be a name of a config
/// entry, or of a service that has never run.
pub fn unknown_destination(name: &str, intentions: &[Intention], names: &[String]) -> Option<String> {
    let is_known = names.iter().any(|it| it == name) || intentions.iter().any(Intention::names_destination);
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!(". Did you mean {near}?")).unwrap_or_default();
    (!is_known).then(|| format!("Consul has no service {name:?}, and no intention names it{near}"))
}

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
