//! `# ecs-mesh: ignore[rule, …] why` and `# ecs-mesh: ignore-file[rule, …] why`; in JSON with `//`, in JSON and
//! Terraform also `/* … */` on one line.

use super::selection::unknown_rule;
use crate::rules::rule;
use document::{Comments, InputProblem, Position, SourceFile, Span};

const MARK: &str = "ecs-mesh:";

/// What begins and ends comments.
const DELIMITERS: [char; 3] = ['#', '/', '*'];

/// A comment's instruction for one rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) rule: &'static str,
    /// The line that it concerns; all lines if there is none.
    pub(super) line: Option<usize>,
    /// The strings of several lines that begin on this line, which can have no comments of their own.
    pub(super) texts: Vec<Span>,
    /// The reason that it gives.
    pub(super) reason: String,
    /// The position of its comment.
    pub(super) position: Position,
    /// Whether it ignored a finding.
    pub(super) is_used: bool,
}

impl Directive {
    /// Whether it concerns what is at `byte`, which is on `line`.
    pub(super) fn concerns(&self, byte: usize, line: impl FnOnce() -> usize) -> bool {
        let Some(wanted) = self.line else { return true };
        self.texts.iter().any(|text| text.start <= byte && byte < text.end) || wanted == line()
    }
}

/// The directives in the comments of a file. Comments with errors become problems.
pub(super) fn directives(file: &SourceFile, problems: &mut Vec<InputProblem>) -> Vec<Directive> {
    if !file.text.contains(MARK) {
        return Vec::new();
    }
    let comments = Comments::of(file);
    let lines = comment_lines(&file.text, &comments.spans);
    let texts_of = |line: usize| -> Vec<Span> {
        let texts = comments.texts.iter().filter(|text| file.position(text.start).line == line);
        texts.copied().collect()
    };
    let first_line = file.position(comments.first_value).line;
    let mut directives = Vec::new();
    for span in &comments.spans {
        let comment = file.text.get(span.start..span.end).unwrap_or_default();
        for text in comment.lines().flat_map(marked) {
            let position = file.position(span.start);
            let mut problem = |reason: String| {
                problems.push(InputProblem { file: file.name.clone(), position: Some(position), reason });
            };
            match Instruction::of(comment, text, position.line < first_line) {
                Err(reason) => problem(reason.to_owned()),
                Ok(Instruction { is_for_file, rules, reason }) => {
                    let line = (!is_for_file).then(|| concerned_line(&lines, position.line));
                    for id in rules {
                        match rule(id) {
                            Some(rule) => directives.push(Directive {
                                rule: rule.id,
                                line,
                                texts: line.map(texts_of).unwrap_or_default(),
                                reason: reason.to_owned(),
                                position,
                                is_used: false,
                            }),
                            None => problem(unknown_rule(id)),
                        }
                    }
                }
            }
        }
    }
    directives
}

/// What a comment says behind the mark.
struct Instruction<'l> {
    is_for_file: bool,
    rules: Vec<&'l str>,
    reason: &'l str,
}

impl<'l> Instruction<'l> {
    /// The instruction in `text`, a part of `comment`.
    fn of(comment: &str, text: &'l str, is_at_top: bool) -> Result<Self, &'static str> {
        if comment.contains('\n') {
            return Err("an ecs-mesh comment must begin and end on its line");
        }
        let found = Self::parse(text)
            .ok_or("an ecs-mesh comment has the form ignore[rule, …] reason or ignore-file[rule, …] reason")?;
        if found.is_for_file && !is_at_top {
            return Err("ignore-file must be at the top of the file, above its first value");
        }
        Ok(found)
    }

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

/// The texts behind the marks in a line of a comment. A mark is at the beginning of the comment, or of another one within
/// it: `# noqa # ecs-mesh: …`.
fn marked(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split(MARK).map(str::trim_end).collect();
    let is_marked = |before: &str| before.trim().is_empty() || before.ends_with(DELIMITERS);
    let texts = parts.iter().zip(parts.iter().skip(1)).filter(|(before, _)| is_marked(before));
    texts.map(|(_, text)| text.trim_end_matches(DELIMITERS)).collect()
}

/// Whether each line of a text has nothing but comments, or parts of one.
fn comment_lines(text: &str, comments: &[Span]) -> Vec<bool> {
    // The text with NUL for the comment in each line.
    let (mut code, mut at) = (String::with_capacity(text.len()), 0);
    for comment in comments {
        code.push_str(text.get(at..comment.start).unwrap_or_default());
        let commented = text.get(comment.start..comment.end).unwrap_or_default();
        code.push_str(&vec!["\0"; commented.lines().count()].join("\n"));
        at = comment.end;
    }
    code.push_str(text.get(at..).unwrap_or_default());
    let is_beside = |c: char| c == '\0' || c == '\u{feff}' || c.is_whitespace();
    code.lines().map(|line| line.contains('\0') && line.chars().all(is_beside)).collect()
}

/// The line that a comment concerns, counted from 1: its own, or the next one if it has nothing but comments.
fn concerned_line(lines: &[bool], line: usize) -> usize {
    let below = lines.iter().enumerate().skip(line - 1).find(|(_, is_comment)| !**is_comment);
    below.map_or(line, |(index, _)| index + 1)
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
        let lines = comment_lines("# a\nb: 2\n\n# c\n# d", &[Span::new(0, 3), Span::new(10, 13), Span::new(14, 17)]);
        assert_eq!([1, 2, 3, 4, 5].map(|line| concerned_line(&lines, line)), [2, 2, 3, 4, 5]);
    }

    #[test]
    fn json_comments_are_read() {
        let text = "// ecs-mesh: ignore-file[consul-network-mode] lab\n{\"a\": 1} // ecs-mesh: ignore[ecs-dependency-unknown] x";
        let (directives, problems) = read(text);
        assert_eq!(directives[0], ("consul-network-mode", None, "lab".to_owned()));
        assert_eq!(directives[1], ("ecs-dependency-unknown", Some(2), "x".to_owned()));
        assert_eq!(problems, Vec::<String>::new());
    }

    /// The rules and lines of the directives in a Terraform source, and the problems.
    fn in_terraform(text: &str) -> (Vec<(&'static str, Option<usize>)>, Vec<String>) {
        let mut problems = Vec::new();
        let directives = directives(&SourceFile::new("main.tf", text), &mut problems);
        let directives = directives.into_iter().map(|directive| (directive.rule, directive.line)).collect();
        (directives, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_comment_may_end_on_its_line() {
        let (mode, unknown) = ("consul-network-mode", "ecs-dependency-unknown");
        for (text, expected) in [
            ("/* ecs-mesh: ignore[consul-network-mode] lab */\nmode = 1\n", vec![(mode, Some(2))]),
            ("/** ecs-mesh: ignore[consul-network-mode] **/\nmode = 1\n", vec![(mode, Some(2))]),
            ("mode = 1# ecs-mesh: ignore[consul-network-mode]\n", vec![(mode, Some(1))]),
            ("/* ecs-mesh: ignore[consul-network-mode] */ mode = 1 /* why */\n", vec![(mode, Some(1))]),
            ("# ecs-mesh: ignore[consul-network-mode]\n/* a */ mode = 1 /* b */\n", vec![(mode, Some(2))]),
            ("# ecs-mesh: ignore[consul-network-mode]\n/* a\n b */\nmode = 1\n", vec![(mode, Some(4))]),
            ("/*\n Licence\n*/\n# ecs-mesh: ignore-file[consul-network-mode]\n", vec![(mode, None)]),
            (
                "m = 1 /* ecs-mesh: ignore[consul-network-mode] a */ # ecs-mesh: ignore[ecs-dependency-unknown] b\n",
                vec![(mode, Some(1)), (unknown, Some(1))],
            ),
        ] {
            assert_eq!(in_terraform(text), (expected, Vec::new()), "{text}");
        }
        let (directives, problems) = in_terraform("a = 1 /* ecs-mesh: ignore[consul-network-mode]\n*/\n");
        assert_eq!(
            (directives, problems),
            (vec![], vec!["main.tf:1:7: an ecs-mesh comment must begin and end on its line".into()])
        );
    }

    #[test]
    fn a_comment_may_have_several_marks() {
        let none = || "no reason given".to_owned();
        let text =
            "a: 1 # noqa # ecs-mesh: ignore[consul-network-mode] # ecs-mesh: ignore[ecs-dependency-unknown] why\n";
        let found = [("consul-network-mode", Some(1), none()), ("ecs-dependency-unknown", Some(1), "why".to_owned())];
        assert_eq!(read(text).0, found);
        assert_eq!(read("a: 1 # not ecs-mesh: ignore[consul-network-mode]\n"), (Vec::new(), Vec::new()));
        assert_eq!(read("a: ls /* ecs-mesh: ignore[consul-network-mode] */\n"), (Vec::new(), Vec::new()));
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
