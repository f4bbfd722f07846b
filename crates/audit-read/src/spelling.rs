//! What a word that is not known most likely means.

/// No name is longer. The distance of two long texts takes long to compute.
const LONGEST: usize = 255;

/// The name that `word` most likely means: at most a third of its letters are wrong. Case, hyphens and underscores do not
/// count: `destination_name`.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    within(word, names, |length| length / 3)
}

/// The name that `word` most likely misspells: one letter is wrong, or two of at least eight. Case, hyphens and
/// underscores do not count. A new name is rarely so near to another one.
pub fn misspelt<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    within(word, names, |length| if length < 8 { (length / 3).min(1) } else { 2 })
}

/// The shortest name with all words of `word`, or all of whose words `word` has: `gossip_key_arn`, `awslogs-prefix`.
pub fn with_words<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let words = |text: &str| -> Vec<String> { text.split(['-', '_']).map(str::to_lowercase).collect() };
    let own = words(word);
    let has_all = |some: &[String], all: &[String]| some.iter().all(|word| all.contains(word));
    let alike = names.into_iter().filter(|name| {
        let name = words(name);
        has_all(&own, &name) || has_all(&name, &own)
    });
    alike.min_by_key(|name| name.len().abs_diff(word.len()))
}

/// The nearest name with at most so many wrong letters, which depend on the length of the word.
fn within<'n>(word: &str, names: impl IntoIterator<Item = &'n str>, most: impl Fn(usize) -> usize) -> Option<&'n str> {
    let meant: String = letters(word).collect();
    let length = meant.chars().count();
    if length > LONGEST {
        return None;
    }
    let most = most(length);
    // Names of another length cannot be near, and comparing lengths is cheap.
    let candidates = names.into_iter().filter(|name| letters(name).count().abs_diff(length) <= most);
    let distances = candidates.map(|name| (strsim::osa_distance(&letters(name).collect::<String>(), &meant), name));
    let near = distances.filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The letters that count.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase)
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
            ("depends-on-".repeat(100).as_str(), None),
            ("", None),
        ] {
            assert_eq!(misspelt(word, names), name, "{word}");
        }
    }

    #[test]
    fn a_word_means_the_name_with_its_words() {
        let names = ["awslogs-stream", "awslogs-stream-prefix", "awslogs-region"];
        for (word, name) in [
            ("awslogs-prefix", Some("awslogs-stream-prefix")),
            ("awslogs-region-name", Some("awslogs-region")),
            ("awslogs-labels", None),
            ("prefixes", None),
        ] {
            assert_eq!(with_words(word, names), name, "{word}");
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
