//! The comments in the lines of a file: in YAML those with `#`; in JSON and Terraform also those with `//` and `/* … */`.

/// A line, and what is in it.
#[derive(Debug, Default)]
pub(super) struct Line<'t> {
    /// The comments that begin in it.
    pub(super) comments: Vec<Comment<'t>>,
    /// Whether it has nothing but comments, or parts of one.
    pub(super) is_comment: bool,
    /// Whether it is empty, or separates documents of YAML.
    pub(super) is_blank: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment<'t> {
    /// The column where it begins, in characters from 1.
    pub(super) column: usize,
    /// Its text in the line, without what opens and closes it.
    pub(super) text: &'t str,
    /// Whether it begins and ends in the line.
    pub(super) is_whole: bool,
}

/// What a line begins in.
enum Within<'t> {
    Code,
    Comment,
    /// A string of Terraform that ends with this line.
    Heredoc(&'t str),
    /// A block scalar of YAML, whose lines begin behind the column of its key, if that is known, and in that of its first
    /// line. Columns are counted from 0.
    Scalar {
        key: Option<usize>,
        text: Option<usize>,
    },
}

pub(super) fn lines(text: &str, is_yaml: bool) -> Vec<Line<'_>> {
    let mut within = Within::Code;
    text.lines().map(|line| read(line, is_yaml, &mut within)).collect()
}

fn read<'t>(line: &'t str, is_yaml: bool, within: &mut Within<'t>) -> Line<'t> {
    if let Within::Heredoc(end) = within {
        if line.trim() == *end {
            *within = Within::Code;
        }
        return Line::default();
    }
    if let Within::Scalar { key, text } = within {
        let is_blank = line.trim().is_empty();
        let is_inside = match text {
            Some(column) => indent(line) >= *column,
            None => key.is_none_or(|key| indent(line) > key),
        };
        if is_blank || (is_inside && line.trim() != "---") {
            *text = text.or((!is_blank).then(|| indent(line)));
            return Line { is_blank, ..Line::default() };
        }
        *within = Within::Code;
    }
    let mut comments = Vec::new();
    let (mut has_code, mut is_part) = (false, false);
    let mut rest = line.trim_start_matches('\u{feff}');
    loop {
        if matches!(within, Within::Comment) {
            is_part = true;
            let end = rest.split_once("*/");
            if comments.is_empty() {
                let text = end.map_or(rest, |(text, _)| text);
                comments.push(Comment { column: indent(line) + 1, text, is_whole: false });
            }
            let Some((_, behind)) = end else { break };
            (rest, *within) = (behind, Within::Code);
        }
        let Some((code, opener, behind)) = next_comment(rest, is_yaml) else {
            has_code |= !rest.trim().is_empty();
            *within = opened(line, rest, is_yaml).unwrap_or(Within::Code);
            break;
        };
        has_code |= !code.trim().is_empty();
        let before = line.get(..line.len() - rest.len() + code.len()).unwrap_or_default();
        let column = before.trim_start_matches('\u{feff}').chars().count() + 1;
        if opener != "/*" {
            comments.push(Comment { column, text: behind, is_whole: true });
            *within = opened(before, code, is_yaml).unwrap_or(Within::Code);
            break;
        }
        let text = behind.split_once("*/").map(|(text, _)| text);
        comments.push(Comment { column, text: text.unwrap_or(behind), is_whole: text.is_some() });
        (rest, *within) = (behind, Within::Comment);
    }
    let is_comment = !has_code && (is_part || !comments.is_empty());
    let is_blank = line.trim().is_empty() || line.trim() == "---";
    Line { comments, is_comment, is_blank }
}

/// The code before the next comment, what opens the comment, and what is behind that. In YAML, a quote begins a string only
/// where a value may begin: in `it's` it is an apostrophe; and a comment needs a blank before it: `a#b` is text.
fn next_comment(rest: &str, is_yaml: bool) -> Option<(&str, &'static str, &str)> {
    let openers: &[&'static str] = if is_yaml { &["#"] } else { &["#", "//", "/*"] };
    let (mut within, mut before) = (None, ' ');
    let mut characters = rest.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let begins_string = match c {
            '"' if !is_yaml => true,
            '"' | '\'' => is_yaml && (before.is_whitespace() || "[{(,:".contains(before)),
            _ => false,
        };
        match within {
            Some('"') if c == '\\' => {
                characters.next();
            }
            // Two single quotes are an escaped one.
            Some('\'') if c == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
            }
            Some(quote) if c == quote => within = None,
            None if begins_string => within = Some(c),
            None if !is_yaml || before.is_whitespace() => {
                let (code, tail) = rest.split_at(at);
                let opened = openers.iter().find_map(|opener| Some((code, *opener, tail.strip_prefix(opener)?)));
                if opened.is_some() {
                    return opened;
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

/// The string of several lines that begins at the end of `line`, whose last part is `code`.
fn opened<'t>(line: &str, code: &'t str, is_yaml: bool) -> Option<Within<'t>> {
    if is_yaml { block_scalar(line) } else { heredoc(code).map(Within::Heredoc) }
}

/// The characters before the first one that is no blank.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).count()
}

/// A block scalar that begins at the end of this line, as in `key: |`. Source:
/// <https://yaml.org/spec/1.2.2/#81-block-scalar-styles>
fn block_scalar(line: &str) -> Option<Within<'static>> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let indicators = words.pop()?.strip_prefix(['|', '>'])?;
    if !indicators.chars().all(|c| c.is_ascii_digit() || "+-".contains(c)) {
        return None;
    }
    while words.pop_if(|word| word.starts_with(['!', '&'])).is_some() {}
    let marks = words.iter().take_while(|word| ["-", "?"].contains(word)).count();
    let mut columns = line.char_indices().filter(|(_, c)| "-?".contains(*c)).map(|(at, _)| at);
    let key = match words.last() {
        // The key is on a line before, or the scalar is the whole document.
        None | Some(&"---") => None,
        Some(_) if marks == words.len() => columns.nth(marks - 1),
        Some(word) if word.ends_with(':') => line.find(words.get(marks)?),
        Some(_) => return None,
    };
    Some(Within::Scalar { key, text: None })
}

/// The line that ends the string that begins at the end of this code: `EOT` after `<<-EOT`. Source:
/// <https://developer.hashicorp.com/terraform/language/expressions/strings#heredoc-strings>
fn heredoc(code: &str) -> Option<&str> {
    let (_, end) = code.trim_end().rsplit_once("<<")?;
    let end = end.trim_start_matches('-');
    let is_name = !end.is_empty() && end.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    is_name.then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comments of each line that has any, with the numbers of the lines and columns, and the numbers of the lines that are comments.
    fn read_all(text: &str, is_yaml: bool) -> (Vec<(usize, usize, &str)>, Vec<usize>) {
        let lines = lines(text, is_yaml);
        let numbered = || lines.iter().enumerate().map(|(index, line)| (index + 1, line));
        let comments = numbered().flat_map(|(number, line)| line.comments.iter().map(move |one| (number, one)));
        (
            comments.map(|(number, one)| (number, one.column, one.text)).collect(),
            numbered().filter(|(_, line)| line.is_comment).map(|(number, _)| number).collect(),
        )
    }

    #[test]
    fn comments_of_yaml_begin_with_a_number_sign_after_a_blank() {
        let text = "# a\nb: it's c#d # e\nf: 'x # y' # g\nh: \"\\\" # i\" // j /* k */\n";
        assert_eq!(read_all(text, true), (vec![(1, 1, " a"), (2, 13, " e"), (3, 12, " g")], vec![1]));
    }

    #[test]
    fn comments_of_terraform_and_json_may_end_before_the_line() {
        let text = "/* a */ /*b*/\n/* c */ d = 1 /* e */ // f\ng = \"/*\"# h\n/* i */ # j\n";
        let comments = [(1, 1, " a "), (1, 9, "b"), (2, 1, " c "), (2, 15, " e "), (2, 23, " f"), (3, 9, " h")];
        assert_eq!(read_all(text, false), ([&comments[..], &[(4, 1, " i "), (4, 9, " j")]].concat(), vec![1, 4]));
    }

    #[test]
    fn comment_may_have_several_lines() {
        let text = "a = 1 /* b\n c */ d = 2\n/*\n# e\n*/\nf = 3\n";
        assert_eq!(
            read_all(text, false),
            (vec![(1, 7, " b"), (2, 2, " c "), (3, 1, ""), (4, 1, "# e"), (5, 1, "")], vec![3, 4, 5])
        );
        assert!(lines(text, false).iter().flat_map(|line| &line.comments).all(|comment| !comment.is_whole));
    }

    #[test]
    fn block_scalars_have_no_comments() {
        for text in [
            "a: |\n  # b\n\n  c\nd: 1 # e\n",
            "a: !Sub &x >-2 # f\n  # b\n#g: 1\n",
            "- - |\n   # b\n  # e\n",
            "- a: |+\n    # b\n  c: 1 # e\n",
            "a: |\n    # b\n  # e\n",
            "a: !Sub\n  |\n  # b\nc: 1 # e\n",
            "--- |\n# b\n---\nc: 1 # e\n",
            "- ? |\n    # b\n  : 1 # e\n",
        ] {
            let (comments, _) = read_all(text, true);
            assert!(comments.iter().all(|(_, _, text)| !text.contains('b')), "{text}: {comments:?}");
            assert!(!comments.is_empty(), "{text}");
        }
        let (comments, _) = read_all("a: b |\n  # c\nd: 'x |'\n # e\n", true);
        assert_eq!(comments.len(), 2, "no block scalars");
    }

    #[test]
    fn heredocs_have_no_comments() {
        let text = "a = <<-EOT\n  ls /etc/*  # b\n  EOT\nc = 1 # d\n";
        assert_eq!(read_all(text, false), (vec![(4, 7, " d")], vec![]));
    }
}
