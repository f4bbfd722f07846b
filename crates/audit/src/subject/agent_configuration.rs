//! The configuration of a Consul agent, in HCL or JSON. Only literal settings are kept. Source:
//! <https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file>

use std::str::Chars;

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A string, as written: the shell may replace its variables.
    Text(String),
    /// A number, `true`, `false`, or a word.
    Word(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Setting {
    /// The value of a string or word without variables of the shell.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Word(text) => (!text.contains(['$', '`'])).then_some(text.as_str()),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The settings of a map, also if a list is around it, as in JSON.
    pub fn settings(&self) -> &[(String, Self)] {
        match self {
            Self::Map(settings) => settings,
            Self::List(items) => items.first().map(Self::settings).unwrap_or_default(),
            Self::Text(_) | Self::Word(_) => &[],
        }
    }

    /// The items of a list, or the value itself.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            other => std::slice::from_ref(other),
        }
    }

    /// The last value at a path: `ports.grpc`. Consul merges maps of the same name.
    pub fn at(&self, path: &str) -> Option<&Self> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let mut found = self.settings().iter().rev().filter(|(name, _)| name == first).map(|(_, value)| value);
        match rest {
            Some(rest) => found.find_map(|value| value.at(rest)),
            None => found.next(),
        }
    }
}

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 16;

/// Reads a configuration.
///
/// # Errors
/// What is wrong with its syntax.
pub(super) fn parse(text: &str) -> Result<Setting, &'static str> {
    let mut parser = Parser { rest: text.chars() };
    parser.skip_space();
    // JSON has braces around all of it.
    let is_json = parser.eat('{');
    let settings = parser.settings(is_json, 0)?;
    Ok(Setting::Map(settings))
}

struct Parser<'t> {
    rest: Chars<'t>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.rest.next();
        }
        is_next
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|next| is_wanted(*next)) {
            taken.push(next);
            self.rest.next();
        }
        taken
    }

    /// Skips white space, commas and comments.
    fn skip_space(&mut self) {
        loop {
            self.take_while(|c| c.is_whitespace() || c == ',');
            let rest = self.rest.as_str();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, after)| after).chars();
            } else {
                return;
            }
        }
    }

    /// The settings up to the end of their map, or of the text.
    fn settings(&mut self, has_brace: bool, depth: usize) -> Result<Vec<(String, Setting)>, &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let mut settings = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None if has_brace => return Err("a brace is not closed"),
                None => return Ok(settings),
                Some('}') if has_brace => {
                    self.rest.next();
                    return Ok(settings);
                }
                Some('}') => return Err("a brace is closed that was not opened"),
                Some(_) => settings.push(self.setting(depth)?),
            }
        }
    }

    fn setting(&mut self, depth: usize) -> Result<(String, Setting), &'static str> {
        let name = match self.peek() {
            Some('"') => self.string()?,
            _ => self.take_while(|c| c.is_alphanumeric() || "_-.$".contains(c)),
        };
        if name.is_empty() {
            return Err("a setting has no name");
        }
        self.take_while(|c| c == ' ' || c == '\t');
        // `service "web" { }`: the label is a part of the name.
        while self.peek() == Some('"') {
            self.string()?;
            self.take_while(|c| c == ' ' || c == '\t');
        }
        let has_sign = self.eat('=') || self.eat(':');
        self.take_while(|c| c.is_whitespace() && (has_sign || c != '\n'));
        if !has_sign && self.peek() != Some('{') {
            return Err("a setting has no value");
        }
        Ok((name, self.value(depth + 1)?))
    }

    fn value(&mut self, depth: usize) -> Result<Setting, &'static str> {
        match self.peek() {
            Some('"') => self.string().map(Setting::Text),
            Some('{') => {
                self.rest.next();
                self.settings(true, depth).map(Setting::Map)
            }
            Some('[') => {
                self.rest.next();
                self.list(depth).map(Setting::List)
            }
            _ => {
                let word = self.take_while(|c| !c.is_whitespace() && !",]}#\"{[=".contains(c));
                if word.is_empty() { Err("a setting has no value") } else { Ok(Setting::Word(word)) }
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Setting>, &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None => return Err("a bracket is not closed"),
                Some(']') => {
                    self.rest.next();
                    return Ok(items);
                }
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
    }

    /// A string, which ends in its line.
    fn string(&mut self) -> Result<String, &'static str> {
        let mut text = String::new();
        self.rest.next();
        while let Some(next) = self.rest.next() {
            match next {
                '"' => return Ok(text),
                '\n' => break,
                '\\' => text.extend(self.rest.next()),
                // What the shell replaces may have quotes of its own.
                '$' if matches!(self.peek(), Some('(' | '{')) => {
                    text.push(next);
                    text.push_str(&self.expansion());
                }
                _ => text.push(next),
            }
        }
        Err("a quote is not closed in its line")
    }

    /// `(command "$x")` or `{NAME}`, up to the end of what it opens.
    fn expansion(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0_usize;
        for next in self.rest.by_ref() {
            text.push(next);
            match next {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_each_notation() {
        for text in [
            "datacenter = \"dc1\"\nports { grpc = 8502 http = 1 }\nretry_join = [\"a\", \"b\"]",
            "# here\ndatacenter = \"dc1\"\nports = {\n  grpc = 8502\n}\nretry_join = [\n  \"a\",\n  \"b\",\n]\n",
            "{ \"datacenter\": \"dc1\", \"ports\": { \"grpc\": 8502 }, \"retry_join\": [\"a\", \"b\"] }",
            "ports { http = 2 }\nports { grpc = 8502 }\ndatacenter = \"x\"\ndatacenter = \"dc1\" // the last\nretry_join = [\"a\", \"b\"]",
        ] {
            let settings = parse(text).unwrap();
            let literal = |path: &str| settings.at(path).and_then(Setting::literal);
            assert_eq!((literal("datacenter"), literal("ports.grpc")), (Some("dc1"), Some("8502")), "{text}");
            assert_eq!(settings.at("retry_join").map(|list| list.items().len()), Some(2), "{text}");
        }
    }

    #[test]
    fn what_the_shell_replaces_is_no_literal() {
        let settings = parse("a = \"$X\"\nb = \"${X:-\"y\"}\"\nc = \"$(cat \"f\")\"\nd = $FLAG\n").unwrap();
        for name in ["a", "b", "c", "d"] {
            assert!(settings.at(name).is_some_and(|value| value.literal().is_none()), "{name}");
        }
    }

    #[test]
    fn mistakes_in_the_syntax_are_found() {
        for text in [
            "a = \"x\nb = 1",
            "a {\n b = 1\n",
            "a = 1\n}",
            "a = [1, 2\nb",
            "a\nb = 1",
            "a =\n}",
            "= 1",
            "a = {\n b = \n}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
