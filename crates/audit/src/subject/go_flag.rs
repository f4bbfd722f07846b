//! Flags of programs in Go: one dash or two, and the last of several counts. Source: <https://pkg.go.dev/flag>

/// The name of a flag, and its value behind `=`.
pub fn go_flag(word: &str) -> Option<(&str, Option<&str>)> {
    let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    Some(flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value))))
}

/// Whether a switch is certainly on. A number other than 0 counts too: `-bootstrap-expect=3`.
pub fn is_switched_on<'w>(words: impl IntoIterator<Item = &'w str>, name: &str) -> bool {
    let flags = words.into_iter().filter_map(go_flag);
    let last = flags.filter(|(found, _)| *found == name).last();
    last.is_some_and(|(_, value)| value.is_none_or(is_true))
}

fn is_true(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']);
    matches!(value, "t" | "T" | "true" | "TRUE" | "True") || value.parse::<u64>().is_ok_and(|number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_switch_counts() {
        for (words, expected) in [
            ("-server", true),
            ("--server", true),
            ("-server=true", true),
            ("-server=1", true),
            ("-server=\"T\"", true),
            ("-server=false -server", true),
            ("-server=false", false),
            ("--server=0", false),
            ("-server -server=F", false),
            ("-server=$IS_SERVER", false),
            ("-server-port 1", false),
            ("server", false),
            ("---server", false),
        ] {
            assert_eq!(is_switched_on(words.split(' '), "server"), expected, "{words}");
        }
    }
}
