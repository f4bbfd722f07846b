//! The command of `consul-client`: usually a shell script that writes the agent's configuration and starts the agent.

use std::collections::HashSet;

use super::go_flag::is_switched_on;
use audit_read::definition::{Container, Field, Text};
use document::HOLE;

/// The directory in which a client agent puts the program `consul` for mesh-init.
pub const BINARY_DIRECTORY: &str = "/bin/consul-inject";

/// What starts an agent.
pub(super) const AGENT: &str = "consul agent";

/// The script of a Consul client agent, or the agent's own arguments.
///
/// Only its text is analysed. A setting that is not in the text counts as missing only if no other source could contain
/// it.
#[derive(Debug)]
pub struct AgentScript<'d> {
    /// All words, one per line, without comment lines.
    pub(super) text: String,
    /// The words of the entry point and the command.
    words: Vec<&'d Field<Text>>,
}

impl<'d> AgentScript<'d> {
    /// The script of `container`; `None` if any of it is unknown.
    pub fn of(container: &'d Container) -> Option<Self> {
        let lists = [&container.entry_point, &container.command];
        if lists.iter().any(|list| !list.is_complete) {
            return None;
        }
        let words: Vec<&Field<Text>> = lists.into_iter().flat_map(|list| &list.items).collect();
        let mut text = String::new();
        for word in &words {
            for line in word.known()?.0.replace("\\\r\n", " ").replace("\\\n", " ").lines() {
                if !line.trim_start().starts_with(['#']) && !line.trim_start().starts_with("//") {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        (!words.is_empty()).then_some(Self { text, words })
    }

    /// The word with the script: the longest one.
    pub fn script(&self) -> Option<&'d Field<Text>> {
        self.words.iter().copied().max_by_key(|word| word.known().map_or(0, |text| text.0.len()))
    }

    /// Whether there is a script: a word with several lines or commands that contains `consul agent`.
    pub fn is_script(&self) -> bool {
        self.script().and_then(Field::known).is_some_and(|text| {
            let text = text.0.trim();
            text.contains(AGENT) && text.contains([' ', '\n'])
        })
    }

    /// Whether a shell runs the script: `sh -c`, with any path and other flags.
    pub fn has_shell(&self) -> bool {
        let texts: Vec<&str> = self.words.iter().filter_map(|word| word.known()).map(|text| text.0.as_str()).collect();
        let after = texts.iter().skip_while(|word| !is_shell(word)).skip(1);
        let mut options = after.take_while(|word| !word.contains(char::is_whitespace));
        options.any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
    }

    /// Whether it contains `needle`.
    pub fn mentions(&self, needle: &str) -> bool {
        self.text.contains(needle)
    }

    /// Whether it uses the environment variable `name` without setting it.
    pub fn needs_variable(&self, name: &str) -> bool {
        let is_used = self.text.match_indices('$').any(|(at, _)| {
            let rest = self.text.get(at + 1..).unwrap_or_default();
            let braced = rest.strip_prefix('{').unwrap_or(rest);
            // `${NAME:-}` and similar forms work without the variable.
            let has_default = rest.starts_with('{') && !braced.starts_with(&format!("{name}}}"));
            let after = braced.strip_prefix(name).map(|rest| rest.chars().next());
            !has_default && after.is_some_and(|next| !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'))
        });
        is_used && !self.text.contains(&format!("{name}=")) && !self.text.contains(&format!("read {name}"))
    }

    /// Whether the script starts the agent with `exec`; `None` if it does not start the agent.
    pub fn starts_agent_with_exec(&self) -> Option<bool> {
        let commands = self.text.split(['\n', ';', '&', '|', '(', '{']);
        let starts = commands.filter_map(|command| {
            let (before, _) = command.rsplit_once(AGENT)?;
            let mut words = before.split_whitespace();
            let is_text = matches!(words.clone().next(), Some("echo" | "printf" | "log"));
            let has_exec = words.any(|word| word == "exec");
            (has_exec || !is_text).then_some(has_exec)
        });
        starts.reduce(|one, other| one || other)
    }

    /// Whether the script starts the agent with one of these switches on.
    pub fn starts_agent_with(&self, switches: &[&str]) -> bool {
        let starts = self.text.split(['\n', ';', '&', '|']).filter_map(|command| command.split_once(AGENT));
        starts.into_iter().any(|(_, words)| switches.iter().any(|name| is_switched_on(words.split_whitespace(), name)))
    }

    /// Whether this text is certainly the complete configuration of the agent: it has no unknown parts, and writes all
    /// files that the agent reads.
    pub fn is_all(&self) -> bool {
        if self.text.contains(HOLE) || self.starts_agent_with_exec().is_none() || self.mentions("-config-dir") {
            return false;
        }
        let after = |mark| self.text.split(mark).skip(1).map(path_of);
        let written: HashSet<&str> = after(">").chain(after("tee ")).collect();
        after("-config-file").all(|file| written.contains(file))
    }

    /// The value of a setting of the agent's configuration, in HCL or JSON: `leave_on_terminate = true`. The last one
    /// counts.
    pub fn setting(&self, name: &str) -> Option<&str> {
        setting_of(&self.text, name)
    }

    /// The value of a setting in a block: `http` in `addresses { http = "127.0.0.1" }`. `None` if there is no such
    /// block, or it cannot be read; `Some(None)` if the block does not have the setting.
    pub fn setting_in(&self, block: &str, name: &str) -> Option<Option<&str>> {
        let (mut found, mut rest) = (None, self.text.as_str());
        while let Some((_, after)) = rest.split_once(block) {
            rest = after;
            let after = after.trim_start_matches(['"', '\\', '=', ':', ' ', '\t', '\n']);
            let Some(opened) = after.strip_prefix('{') else { continue };
            let Some((inside, next)) = opened.split_once('}') else { break };
            // Consul merges blocks of the same name.
            found = Some(setting_of(inside, name).or(found.flatten()));
            rest = next;
        }
        found
    }

    /// Whether a setting is an empty list: `retry_join = [ ]`.
    pub fn has_empty_list(&self, name: &str) -> bool {
        let compact: String = self.text.split_whitespace().collect();
        [format!("{name}=[]"), format!("{name}\":[]")].iter().any(|empty| compact.contains(empty))
    }

    /// The value of a flag of the agent: `-advertise 10.0.0.1`, with one dash or two. The last one counts.
    pub fn flag(&self, name: &str) -> Option<&str> {
        let flag = format!("-{name}");
        self.text.rmatch_indices(&flag).find_map(|(at, _)| {
            let rest = self.text.get(at + flag.len()..)?;
            let value = rest.strip_prefix(['=', ' ', '\n'])?.trim_start_matches(['"', '\'', ' ']);
            value.split(['"', '\'', '\n', ' ', ';']).next()
        })
    }
}

/// The path that a text begins with.
pub(super) fn path_of(text: &str) -> &str {
    let path = text.trim_start_matches(['=', ' ', '\n', '"', '\'']);
    path.split(['"', '\'', '\n', ' ', '\t', ';']).next().unwrap_or_default()
}

/// The last value of a setting.
fn setting_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.rmatch_indices(name).find_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return None;
        }
        let rest = text.get(at + name.len()..)?.trim_start_matches(['"', '\\']).trim_start();
        let value = rest.strip_prefix(['=', ':'])?.trim_start_matches([' ', '\t', '"', '\\']);
        value.split(['"', '\'', '\n', ',', ' ', '\\', '}', ';']).next()
    })
}

/// The shell, and the line that it runs, if these words are `sh -c LINE`; busybox may be before the shell.
pub fn line_of_shell<'w>(words: &[&'w str]) -> Option<(&'w str, &'w str)> {
    let words = match words {
        [first, rest @ ..] if first.rsplit('/').next() == Some("busybox") => rest,
        words => words,
    };
    let [shell, flags, line, ..] = words else { return None };
    let runs_a_line = flags.starts_with('-') && !flags.starts_with("--") && flags.ends_with('c');
    (is_shell(shell) && runs_a_line).then_some((*shell, *line))
}

/// Whether a word is the name or path of a shell.
pub fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash" | "dash"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::tests;
    use audit_read::definition::TaskDefinition;

    fn definition(entry_point: &[&str], command: &[&str]) -> TaskDefinition {
        let json = json!({ "family": "f", "containerDefinitions": [
            { "name": "consul-client", "entryPoint": entry_point, "command": command },
        ] });
        tests::definition(&json.to_string())
    }

    fn check<T>(script: &str, read: impl Fn(&AgentScript<'_>) -> T) -> T {
        let definition = definition(&["/bin/sh", "-ec"], &[script]);
        read(&AgentScript::of(&definition.containers.items[0]).unwrap())
    }

    #[test]
    fn the_start_with_exec_is_recognized() {
        for (script, expected) in [
            ("exec consul agent", Some(true)),
            ("a=1 && exec \\\n consul agent", Some(true)),
            ("exec su-exec consul consul agent -server", Some(true)),
            ("set -e\nconsul agent -data-dir /consul", Some(false)),
            ("# exec consul agent\nconsul agent", Some(false)),
            ("echo starting consul agent\n./run.sh", None),
            ("./run.sh", None),
        ] {
            assert_eq!(check(script, |s| Some(s.starts_agent_with_exec())), Some(expected), "{script}");
        }
    }

    /// Each of these takes hours if every match reads the text to one of its ends.
    #[test]
    fn a_long_script_is_read_once() {
        for part in [
            "consul agent ",
            "ports { ",
            "ports{http=ports{http=",
            "http=",
            "-client=",
            "-config-file",
            "> /a -config-file /a ",
            "$TOKEN ${TOKEN:-} ",
            "echo \"$(cat <<A ",
            "retry_join=[",
        ] {
            let text = part.repeat(200_000);
            let is_read = check(&text, |script| {
                let _ = (script.starts_agent_with(&["server"]), script.division().missing_end, script.is_all());
                let _ = (script.needs_variable("TOKEN"), script.has_empty_list("retry_join"));
                (script.starts_agent_with_exec(), script.setting_in("ports", "http"), script.setting("http").is_some())
                    == (part.contains("agent").then_some(false), None, part.contains("http"))
                    && script.flag("client").is_some() == part.contains("client")
            });
            assert!(is_read, "{part}");
        }
        let nested = "ports { http=1 ".repeat(200_000) + "}";
        assert!(check(&nested, |script| script.setting_in("ports", "http") == Some(Some("1"))));
    }

    #[test]
    fn the_files_that_a_script_writes_are_compared_as_a_whole() {
        for (script, expected) in [
            ("tee \"/a.hcl\" < x; exec consul agent -config-file=\"/a.hcl\"", true),
            ("cat x >/a.hcl; exec consul agent -config-file '/a.hcl' -config-file /b.hcl", false),
            ("cat x > /a.hcl.old; exec consul agent -config-file /a.hcl", false),
        ] {
            assert_eq!(check(script, |s| Some(s.is_all())), Some(expected), "{script}");
        }
    }

    #[test]
    fn settings_are_read_in_hcl_and_json_and_as_flags() {
        assert!(check("leave_on_terminate = false\n", |s| s.setting("leave_on_terminate") == Some("false")));
        assert!(check("-hcl 'leave_on_terminate=true'", |s| s.setting("leave_on_terminate") == Some("true")));
        assert!(check("{\"leave_on_terminate\": false}", |s| s.setting("leave_on_terminate") == Some("false")));
        assert!(check("consul agent -advertise \"$IP\"", |s| s.flag("advertise") == Some("$IP")));
        assert!(check("consul agent --advertise=1.2.3.4 x", |s| s.flag("advertise") == Some("1.2.3.4")));
    }

    #[test]
    fn a_setting_is_found_in_its_block() {
        let script = "ports {\n http = 1\n}\naddresses = {\n  dns = \"127.0.0.1\"\n  http = \"0.0.0.0\"\n}\ngrpc = 1\n";
        assert!(check(script, |s| s.setting_in("addresses", "http") == Some(Some("0.0.0.0"))));
        assert!(check(script, |s| s.setting_in("addresses", "grpc") == Some(None)));
        assert!(check(script, |s| s.setting_in("acl", "enabled").is_none()));
    }

    #[test]
    fn the_last_of_several_settings_counts() {
        let script = "leave_on_terminate = true\nports { http = 1 }\nports { grpc = 2 }\nleave_on_terminate = false\n";
        assert!(check(script, |s| s.setting("leave_on_terminate") == Some("false")));
        assert!(check(script, |s| s.setting_in("ports", "http") == Some(Some("1"))));
        assert!(check("ports { http = 1 } ports { http = 2 }", |s| s.setting_in("ports", "http") == Some(Some("2"))));
        assert!(check("consul agent -client=1 -client=2", |s| s.flag("client") == Some("2")));
    }

    #[test]
    fn a_setting_is_a_whole_word() {
        let script = "auto_encrypt = { tls = true }\nencrypt_verify_incoming = true\nencrypt = \"$KEY\"\n";
        assert!(check(script, |s| s.setting("encrypt") == Some("$KEY")));
    }

    #[test]
    fn other_sources_make_the_text_incomplete() {
        for (script, expected) in [
            ("exec consul agent", true),
            ("cat << EOF > /consul/a.hcl\nEOF\nexec consul agent -config-file /consul/a.hcl", true),
            ("exec consul agent -config-file=/etc/consul.hcl", false),
            ("exec consul agent -config-dir /etc/consul", false),
            ("./run.sh", false),
            // An unknown part may be any configuration.
            ("exec consul agent \u{FDD0}", false),
        ] {
            assert_eq!(check(script, |s| Some(s.is_all())), Some(expected), "{script}");
        }
    }

    #[test]
    fn flags_of_the_agent_are_found() {
        let has = |script: &str| check(script, |s| s.starts_agent_with(&["server", "dev"]));
        assert!(
            has("exec consul agent -server -bootstrap")
                && has("consul agent --dev")
                && has("consul agent -server=true")
        );
        assert!(!has("exec consul agent -server-port 1; other -dev"));
        assert!(!has("exec consul agent -server=false -dev=false"));
    }

    #[test]
    fn a_variable_is_needed_unless_the_script_sets_it() {
        for (script, expected) in [
            ("echo $TOKEN", true),
            ("echo \"${TOKEN}\"", true),
            ("echo ${TOKEN:-none}", false),
            ("echo $TOKEN_FILE", false),
            ("export TOKEN=$(cat f); echo $TOKEN", false),
        ] {
            assert_eq!(check(script, |s| s.needs_variable("TOKEN")), expected, "{script}");
        }
    }

    #[test]
    fn a_shell_is_recognized_by_name_and_flag() {
        let has_shell = |entry: &[&str], command: &[&str]| {
            let definition = definition(entry, command);
            AgentScript::of(&definition.containers.items[0]).unwrap().has_shell()
        };
        assert!(has_shell(&["/bin/sh", "-ec"], &["exec consul agent"]));
        assert!(has_shell(&["/bin/bash", "-e", "-c"], &["exec consul agent"]));
        assert!(has_shell(&["bash", "-o", "pipefail", "-ec"], &["exec consul agent"]));
        assert!(has_shell(&[], &["bash", "-c", "exec consul agent"]));
        assert!(has_shell(&["/bin/busybox", "sh", "-ec"], &["exec consul agent"]));
        assert!(!has_shell(&["/bin/busybox", "nohup", "-c"], &["exec consul agent"]));
        assert!(!has_shell(&[], &["exec consul agent"]));
        assert!(!has_shell(&["/bin/sh"], &["exec consul agent -c"]));
        assert!(!has_shell(&["consul"], &["agent"]));
    }
}
