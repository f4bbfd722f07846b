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

#[cfg(test)]
mod tests {
    use super::*;

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
