//! The commands in the script of a client agent: the files that they write, the variables, and the flags.

use std::collections::HashSet;

use super::{
    agent_configuration::{Setting, parse},
    agent_script::{AGENT, AgentScript, path_of},
    go_flag::go_flag,
    here_document::{Division, divide},
};
use audit_read::definition::Field;
use document::HOLE;

/// Whether a text has unknown parts, lines that the shell fills in, or here-documents of HCL, which no rule reads.
fn may_be_anything(text: &str) -> bool {
    let is_filled_in = |line: &str| line.trim_start().starts_with(['$', '`']) || line.contains("<<");
    text.contains(HOLE) || text.lines().any(is_filled_in)
}

impl AgentScript<'_> {
    /// The script as the shell divides it, with its comments.
    pub fn division(&self) -> Division<'_> {
        let script = self.script().and_then(Field::known).map_or("", |text| text.0.as_str());
        divide(if self.has_shell() { script } else { "" })
    }

    /// The texts of the files that the script writes and the agent reads, with the paths, and whether the shell replaces
    /// nothing in them.
    pub fn configurations<'v>(&self, division: &Division<'v>) -> Vec<(&'v str, &'v str, bool)> {
        let read: HashSet<&str> = self.text.split("-config-file").skip(1).map(path_of).collect();
        let documents = division.documents.iter().filter_map(|document| {
            let path = document.path()?;
            read.contains(path).then_some((path, document.text, document.is_quoted))
        });
        documents.collect()
    }

    /// All settings of these files, in the order in which they are written.
    ///
    /// # Errors
    /// The path of a file with a mistake in its syntax, and the mistake.
    pub fn settings<'v>(configurations: &[(&'v str, &str, bool)]) -> Result<Setting, (&'v str, &'static str)> {
        let mut all = Vec::new();
        for (path, text, _) in configurations {
            match parse(text) {
                Ok(settings) => all.extend(settings.settings().iter().cloned()),
                Err(_) if may_be_anything(text) => {}
                Err(error) => return Err((path, error)),
            }
        }
        Ok(Setting::Map(all))
    }

    /// The names of the variables that it uses, in the order of the text. Those with a default are not among them.
    pub fn variables(&self) -> Vec<&str> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let after = |(at, _): (usize, &str)| self.text.get(at + 1..).unwrap_or_default();
        let name = |rest: &'_ str| -> Option<(usize, usize)> {
            let braced = rest.strip_prefix('{').unwrap_or(rest);
            let length = braced.find(|c| !is_of_name(c)).unwrap_or(braced.len());
            let is_whole = braced.len() == rest.len() || braced.get(length..).is_some_and(|end| end.starts_with('}'));
            let starts = braced.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            (is_whole && starts).then_some((rest.len() - braced.len(), length))
        };
        let names = self.text.match_indices('$').map(after).filter_map(|rest| {
            let (start, length) = name(rest)?;
            rest.get(start..start + length)
        });
        names.collect()
    }

    /// The names of the variables that it sets: `NAME=`, `read NAME`, `for NAME`.
    pub fn assigned(&self) -> HashSet<&str> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = self.text.match_indices('=').filter_map(|(at, _)| {
            let text = self.text.get(..at)?;
            let start = text.rfind(|c| !is_of_name(c)).map_or(0, |at| at + 1);
            text.get(start..)
        });
        let after =
            ["read ", "read -r ", "for ", "getopts "].into_iter().flat_map(|word| self.text.split(word).skip(1));
        let named = after.map(|rest| rest.split(|c| !is_of_name(c)).next().unwrap_or_default());
        before.chain(named).filter(|name| !name.is_empty()).collect()
    }

    /// The names of the flags of the command that starts the agent.
    pub fn agent_flags(&self) -> Vec<&str> {
        let starts = self.text.split(['\n', ';', '&', '|']).filter_map(|command| command.split_once(AGENT));
        let words = starts.flat_map(|(_, words)| words.split_whitespace());
        words.filter_map(|word| go_flag(word.trim_matches(['"', '\''])).map(|(name, _)| name)).collect()
    }

    /// The flags of that command, with one dash, that another flag follows at once.
    pub fn agent_flags_without_value(&self) -> Vec<&str> {
        let starts = self.text.split(['\n', ';', '&', '|']).filter_map(|command| command.split_once(AGENT));
        let mut found = Vec::new();
        for (_, words) in starts {
            let words: Vec<&str> = words.split_whitespace().collect();
            for pair in words.windows(2) {
                let [flag, next] = pair else { continue };
                let name = go_flag(flag).filter(|(_, value)| value.is_none()).map(|(name, _)| name);
                found.extend(name.filter(|_| next.starts_with('-') && next.len() > 1));
            }
        }
        found
    }

    /// The words of the commands `consul login`.
    pub fn logins(&self) -> Vec<Vec<&str>> {
        let commands = self.text.split(['\n', ';', '&', '|']).filter_map(|command| command.split_once("consul login"));
        commands
            .map(|(_, words)| words.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect())
            .collect()
    }

    /// What follows each mention of a text.
    pub fn after<'s>(&'s self, needle: &'s str) -> impl Iterator<Item = &'s str> {
        self.text.split(needle).skip(1)
    }

    /// How often it mentions a text.
    pub fn count(&self, needle: &str) -> usize {
        self.text.matches(needle).count()
    }

    /// The paths of the files that `-config-file` names.
    pub fn config_files(&self) -> Vec<&str> {
        self.text.split("-config-file").skip(1).map(path_of).collect()
    }

    /// Whether the last command starts the agent in the background.
    pub fn starts_agent_in_background(&self) -> bool {
        // After another command, such as wait or tail, the script goes on.
        let mut lines = self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.next_back().is_some_and(|line| {
            let starts = line.contains(AGENT) && !line.starts_with("echo");
            starts && line.ends_with('&') && !line.ends_with("&&")
        })
    }
}
