//! What a word that is not known most likely means.

/// The name that `word` most likely means: at most a third of its letters are wrong. Case, hyphens and underscores do not
/// count: `destination_name`.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let bare = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let meant = bare(word);
    let distances = names.into_iter().map(|name| (strsim::osa_distance(&bare(name), &meant), name));
    let near = distances.filter(|(distance, _)| distance * 3 <= meant.chars().count());
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The name that `word` most likely misspells: one letter is wrong, or two of at least eight. Case, hyphens and
/// underscores do not count. A new name is rarely so near to another one.
pub fn misspelt<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let bare = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let meant = bare(word);
    let length = meant.chars().count();
    let most = if length < 8 { 1 } else { 2 };
    let near = |name: &str| strsim::osa_distance(&bare(name), &meant);
    let distances = names.into_iter().map(|name| (near(name), name));
    let near = distances.filter(|(distance, _)| *distance <= most && distance * 3 <= length);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_has_at_most_two_wrong_letters() {
        let names = ["containerPort", "dependsOn", "healthCheck", "portMappings", "cpu"];
        for (word, name) in [
            ("healthcheck", Some("healthCheck")),
            ("dependOn", Some("dependsOn")),
            ("port_mapping", Some("portMappings")),
            ("depnedsOn", Some("dependsOn")),
            // ECS got it later.
            ("containerPortRange", None),
            ("gpu", Some("cpu")),
            ("gpus", None),
            ("", None),
        ] {
            assert_eq!(misspelt(word, names), name, "{word}");
        }
    }

    #[test]
    fn a_word_means_the_name_with_the_fewest_other_letters() {
        let names = ["bootstrapDir", "consulServers", "gateway", "healthSyncContainers", "transparentProxy"];
        for (word, name) in [
            ("bootstrap_dir", Some("bootstrapDir")),
            ("consulServer", Some("consulServers")),
            ("healthSyncContiners", Some("healthSyncContainers")),
            ("transparent_proxies", Some("transparentProxy")),
            ("gatway", Some("gateway")),
            ("extra", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), name, "{word}");
        }
    }
}
