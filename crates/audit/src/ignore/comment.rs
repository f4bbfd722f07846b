//! `# ecs-mesh: ignore[rule, …] why` and `# ecs-mesh: ignore-file[rule, …] why`; in JSON with `//`, in JSON and
//! Terraform also `/* … */` on one line.

use super::selection::unknown_rule;
use crate::{document::Position, input::InputProblem, rules::rule, source::SourceFile};

const MARK: &str = "ecs-mesh:";

/// A comment's instruction for one rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Directive {
    /// The rule.
    pub(super) rule: &'static str,
    /// The line that it concerns; all lines if there is none.
    pub(super) line: Option<usize>,
    /// The reason that it gives.
    pub(super) reason: String,
    /// Its position in the file.
    pub(super) position: Position,
    /// Whether it ignored a finding.
    pub(super) is_used: bool,
}

/// The directives in the comments of a file. Comments with errors become problems.
pub(super) fn directives(file: &SourceFile, problems: &mut Vec<InputProblem>) -> Vec<Directive> {
    if !file.text.contains(MARK) {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let meant = concerned_lines(&lines);
    let first_content = lines.iter().position(|line| !is_beside_the_content(line)).unwrap_or(lines.len());
    let mut directives = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((column, rest)) = marked(line) else { continue };
        let position = Position { line: index + 1, column };
        let mut problem = |reason: String| {
            problems.push(InputProblem { file: file.name.clone(), position: Some(position), reason });
        };
        let Some(comment) = Comment::parse(rest) else {
            problem(
                "an ecs-mesh comment has the form ignore[rule, …] reason or ignore-file[rule, …] reason".to_owned(),
            );
            continue;
        };
        if comment.is_for_file && index >= first_content {
            problem("ignore-file must be at the top of the file, above its first value".to_owned());
            continue;
        }
        let about = if comment.is_for_file { None } else { meant.get(index).map(|line| line + 1) };
        for id in comment.rules {
            match rule(id) {
                Some(rule) => directives.push(Directive {
                    rule: rule.id,
                    line: about,
                    reason: comment.reason.to_owned(),
                    position,
                    is_used: false,
                }),
                None => problem(unknown_rule(id)),
            }
        }
    }
    directives
}

struct Comment<'l> {
    is_for_file: bool,
    rules: Vec<&'l str>,
    reason: &'l str,
}

impl<'l> Comment<'l> {
    fn parse(text: &'l str) -> Option<Self> {
        let (verb, rest) = text.trim_start().split_once('[')?;
        let (rules, reason) = rest.split_once(']')?;
        let is_for_file = match verb {
            "ignore" => false,
            "ignore-file" => true,
            _ => return None,
        };
        let rules: Vec<&str> = rules.split(',').map(str::trim).filter(|rule| !rule.is_empty()).collect();
        let reason = reason.trim();
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        (!rules.is_empty()).then_some(Self { is_for_file, rules, reason })
    }
}

/// The column of a comment with the mark, and the text after the mark.
fn marked(line: &str) -> Option<(usize, &str)> {
    let (before, rest) = line.trim_start_matches('\u{feff}').split_once(MARK)?;
    let before = before.trim_end();
    let (opener, rest) = match (before.strip_suffix("//"), before.strip_suffix("/*"), before.strip_suffix('#')) {
        (Some(opener), ..) => (opener, rest),
        (_, Some(opener), _) => (opener, rest.split_once("*/").map_or(rest, |(inside, _)| inside)),
        // YAML's comments need a blank before them: `a#b` is text.
        (.., Some(opener)) if opener.is_empty() || opener.ends_with(char::is_whitespace) => (opener, rest),
        _ => return None,
    };
    (!ends_within_quotes(opener)).then(|| (opener.chars().count() + 1, rest))
}

/// Whether a line ends within a quoted string of JSON or YAML. A quote begins a string only where a value may begin: in
/// `it's` it is an apostrophe.
fn ends_within_quotes(line: &str) -> bool {
    let (mut within, mut before) = (None, ' ');
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match (within, c) {
            (Some('"'), '\\') => drop(characters.next()),
            // Two single quotes are an escaped one.
            (Some('\''), '\'') if characters.peek() == Some(&'\'') => drop(characters.next()),
            (Some(quote), c) if c == quote => within = None,
            (None, '"' | '\'') if before.is_whitespace() || "[{(,:".contains(before) => within = Some(c),
            _ => {}
        }
        before = c;
    }
    within.is_some()
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    line.starts_with('#') || line.starts_with("//") || (line.starts_with("/*") && line.trim_end().ends_with("*/"))
}

fn is_beside_the_content(line: &str) -> bool {
    line.trim().is_empty() || line.trim() == "---" || is_comment(line)
}

/// The line that a comment in each line concerns. A comment on a line of its own concerns the next line that is not a
/// comment.
fn concerned_lines(lines: &[&str]) -> Vec<usize> {
    let mut meant: Vec<usize> = (0..lines.len()).collect();
    let mut below = None;
    for (index, line) in meant.iter_mut().zip(lines).rev() {
        if is_comment(line) {
            *index = below.unwrap_or(*index);
        } else {
            below = Some(*index);
        }
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule, line and reason of each directive, and the problems.
    type Found = (Vec<(&'static str, Option<usize>, String)>, Vec<String>);

    fn read(text: &str) -> Found {
        let mut problems = Vec::new();
        let directives = directives(&SourceFile::new("f", text), &mut problems);
        let directives = directives.into_iter().map(|d| (d.rule, d.line, d.reason)).collect();
        (directives, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_comment_concerns_its_line_or_the_next_one() {
        let text = "a: 1 # ecs-mesh: ignore[consul-network-mode] bridge is wanted\n\
            # ecs-mesh: ignore[consul-proxy-open-files, ecs-dependency-unknown]\n\
            # more words\n\
            b: 2\n";
        let none = || "no reason given".to_owned();
        assert_eq!(
            read(text).0,
            [
                ("consul-network-mode", Some(1), "bridge is wanted".to_owned()),
                ("consul-proxy-open-files", Some(4), none()),
                ("ecs-dependency-unknown", Some(4), none()),
            ]
        );
    }

    #[test]
    fn a_comment_on_the_last_line_concerns_itself() {
        let lines = ["# a", "b: 2", "", "# c", "# d"];
        assert_eq!(concerned_lines(&lines), [1, 1, 2, 3, 4]);
    }

    #[test]
    fn json_comments_are_read() {
        let text = "// ecs-mesh: ignore-file[consul-network-mode] lab\n{\"a\": 1} // ecs-mesh: ignore[ecs-dependency-unknown] x";
        let (directives, problems) = read(text);
        assert_eq!(directives[0], ("consul-network-mode", None, "lab".to_owned()));
        assert_eq!(directives[1], ("ecs-dependency-unknown", Some(2), "x".to_owned()));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn a_comment_may_end_on_its_line() {
        let text = "/* ecs-mesh: ignore[consul-network-mode] lab */\nmode = 1 /* ecs-mesh: ignore[ecs-dependency-unknown] */\n";
        let (directives, problems) = read(text);
        assert_eq!(directives[0], ("consul-network-mode", Some(2), "lab".to_owned()));
        assert_eq!(directives[1], ("ecs-dependency-unknown", Some(2), "no reason given".to_owned()));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn comments_with_errors_are_problems() {
        let problem = |text| read(text).1.join("\n");
        assert_eq!(
            problem("a: 1 # ecs-mesh: ignore[consul-netwrk-mode] x"),
            "f:1:6: there is no rule \"consul-netwrk-mode\"; did you mean consul-network-mode?"
        );
        assert!(
            problem("a: 1\n# ecs-mesh: ignore-file[consul-network-mode]\n").starts_with("f:2:1: ignore-file must be")
        );
        assert!(problem("# ecs-mesh: ignore consul-network-mode\n").contains("has the form ignore[rule"));
        assert_eq!(problem("a: 'see ecs-mesh: ignore'"), "");
    }

    #[test]
    fn quoted_text_is_not_a_comment() {
        let none = (Vec::new(), Vec::new());
        for text in [
            r#"{"a": "http://x // ecs-mesh: ignore[ecs-dependency-unknown] z"}"#,
            r#"{"a": "\"b\" // ecs-mesh: ignore[nonsense] z"}"#,
            r#"a: "db # ecs-mesh: ignore[ecs-dependency-unknown] no""#,
            "a: 'it''s # ecs-mesh: ignore[ecs-dependency-unknown] no'",
        ] {
            assert_eq!(read(text), none, "{text}");
        }
        let kept = "a: it's # ecs-mesh: ignore[ecs-dependency-unknown] yes";
        assert_eq!(read(kept).0.len(), 1, "{kept}");
    }
}
