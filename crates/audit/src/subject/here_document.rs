//! A shell script as the shell divides it: here-documents, quotes and commands. Source:
//! <https://pubs.opengroup.org/onlinepubs/9699919799/utilities/V3_chap02.html#tag_18_07_04>

use super::agent_script::path_of;

/// A here-document: its lines follow the line with its `<<`.
struct HereDocument {
    /// The line after its last one.
    end: String,
    /// `<<-`: tabs before the end do not count.
    has_tabs: bool,
    /// Whether its end is in quotes: then the shell replaces nothing in it.
    is_quoted: bool,
}

/// The text of a here-document.
#[derive(Debug, PartialEq, Eq)]
pub struct Document<'t> {
    /// The line with its `<<`.
    pub command: &'t str,
    pub text: &'t str,
    /// Whether the shell replaces nothing in it.
    pub is_quoted: bool,
}

impl<'t> Document<'t> {
    /// The path of the file that its command writes.
    pub fn path(&self) -> Option<&'t str> {
        ["tee ", ">"].iter().find_map(|mark| self.command.rsplit_once(mark).map(|(_, path)| path_of(path)))
    }
}

/// A script as the shell divides it.
#[derive(Debug, Default)]
pub struct Division<'t> {
    pub documents: Vec<Document<'t>>,
    /// The end of a here-document that the script does not have: what follows is text, and no command.
    pub missing_end: Option<String>,
    /// Whether a quote is not closed.
    pub has_open_quote: bool,
    /// The rest, without comments, and without what is in quotes.
    pub code: String,
}

/// What the shell reads a part of a script as.
#[derive(PartialEq)]
enum Enclosure {
    DoubleQuotes,
    Parentheses,
}

/// Divides a script.
pub(super) fn divide(script: &str) -> Division<'_> {
    let mut division = Division::default();
    let (mut rest, mut before) = (script, '\n');
    let (mut enclosures, mut begun) = (Vec::new(), Vec::new());
    let (mut line, mut open_quotes) = (script, 0_usize);
    while let Some(next) = rest.chars().next() {
        let is_quoted = enclosures.last() == Some(&Enclosure::DoubleQuotes);
        let mut is_code = open_quotes == 0;
        let length = match next {
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '\n' => {
                let command = line.get(..line.len() - rest.len()).unwrap_or_default();
                rest = rest.get(1..).unwrap_or_default();
                for HereDocument { end, has_tabs, is_quoted } in begun.drain(..) {
                    let Some((text, after)) = up_to_end(rest, &end, has_tabs) else {
                        division.missing_end = Some(end);
                        return division;
                    };
                    division.documents.push(Document { command, text, is_quoted });
                    rest = after;
                }
                line = rest;
                before = next;
                division.code.push(next);
                continue;
            }
            '"' => {
                is_code = false;
                if is_quoted {
                    enclosures.pop();
                    open_quotes = open_quotes.saturating_sub(1);
                } else {
                    enclosures.push(Enclosure::DoubleQuotes);
                    open_quotes += 1;
                }
                1
            }
            '\'' if !is_quoted => {
                is_code = false;
                let end = rest.get(1..).and_then(|inner| inner.find('\''));
                division.has_open_quote |= end.is_none();
                end.map_or(rest.len(), |at| at + 2)
            }
            '#' if !is_quoted && (before.is_whitespace() || ";&|(".contains(before)) => {
                is_code = false;
                rest.find('\n').unwrap_or(rest.len())
            }
            '$' if rest.starts_with("$((") => 1 + length_of_parentheses(rest.get(1..).unwrap_or_default()),
            '(' if !is_quoted && rest.starts_with("((") => length_of_parentheses(rest),
            '$' if rest.starts_with("$(") => {
                enclosures.push(Enclosure::Parentheses);
                2
            }
            '(' if !is_quoted => {
                enclosures.push(Enclosure::Parentheses);
                1
            }
            ')' if enclosures.last() == Some(&Enclosure::Parentheses) => {
                enclosures.pop();
                1
            }
            // A here-string.
            '<' if !is_quoted && rest.starts_with("<<<") => 3,
            '<' if !is_quoted && rest.starts_with("<<") => {
                let (document, length) = here_document(rest);
                begun.extend(document);
                length
            }
            _ => next.len_utf8(),
        };
        if is_code {
            division.code.push_str(rest.get(..length).unwrap_or_default());
        }
        before = next;
        rest = rest.get(length..).unwrap_or_default();
    }
    division.has_open_quote |= open_quotes > 0;
    division.missing_end = begun.into_iter().next().map(|document| document.end);
    division
}

/// The text before the line `end`, and the text after it.
fn up_to_end<'t>(text: &'t str, end: &str, has_tabs: bool) -> Option<(&'t str, &'t str)> {
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if end == if has_tabs { line.trim_start_matches('\t') } else { line } {
            return Some((text.get(..text.len() - rest.len()).unwrap_or_default(), after));
        }
        rest = after;
    }
    None
}

/// The length of what a text has between its first parenthesis and the end of that, as in arithmetic.
fn length_of_parentheses(text: &str) -> usize {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The here-document that a text with `<<` begins, and the length of the operator with the delimiter.
fn here_document(text: &str) -> (Option<HereDocument>, usize) {
    let has_tabs = text.starts_with("<<-");
    let operator = if has_tabs { 3 } else { 2 };
    let after = text.get(operator..).unwrap_or_default();
    let word = after.trim_start_matches([' ', '\t']);
    let (end, length) = without_quotes(word);
    let is_quoted = word.get(..length).is_some_and(|word| word.contains(['\'', '"', '\\']));
    let document = (!end.is_empty() && !end.contains('\n')).then_some(HereDocument { end, has_tabs, is_quoted });
    (document, operator + after.len() - word.len() + length)
}

/// The word that a text begins with, without its quotes, and its length with them.
fn without_quotes(text: &str) -> (String, usize) {
    let (mut word, mut quote, mut chars) = (String::new(), None, text.char_indices());
    while let Some((at, next)) = chars.next() {
        match (quote, next) {
            (None, '\'' | '"') => quote = Some(next),
            (Some(open), _) if next == open => quote = None,
            (None | Some('"'), '\\') => word.extend(chars.next().map(|(_, escaped)| escaped)),
            (None, _) if next.is_ascii_whitespace() || ";&|<>()".contains(next) => return (word, at),
            _ => word.push(next),
        }
    }
    (word, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_here_document_has_an_end() {
        for script in [
            "cat <<EOF > /a\nx\nEOF\nexec consul agent",
            "cat <<-'EOF' > /a\nx\n\tEOF\nexec consul agent",
            "cat <<EOF-1 > /a\nx\nEOF-1\nconsul agent",
            "cat > /a <<EOF.HCL\nx\nEOF.HCL\nconsul agent",
            "cat <<\"END OF IT\"; echo\nx\nEND OF IT\nconsul agent",
            "cat <<E'O'\\F\nx\nEOF\nconsul agent",
            "cat <<A <<B\n1\nA\n2\nB\nconsul agent",
            "X=\"$(cat <<EOF\n{ \"a\": 1 }\nEOF\n)\"\nconsul agent",
            // Its text is no command: neither its quotes nor its operators count.
            "cat <<EOF\nit's <<none\nEOF\ncat <<EOF\nx\nEOF\nconsul agent",
            // Not its operator.
            "echo $((1 << 2)); cat <<< text; exec consul agent",
            "X=$((1<<BITS))\nY=$(( (1<<BITS) + 1 ))\nconsul agent",
            "((X = 1<<BITS))\nconsul agent",
            "echo \"<<start>>\" '<<start' \\<\\<start\nconsul agent",
            "echo \"$(date) <<start\"\nconsul agent",
            "consul agent # here: <<text, don't\necho it",
        ] {
            assert_eq!(divide(script).missing_end, None, "{script}");
        }
    }

    #[test]
    fn a_missing_end_is_found() {
        for (script, end) in [
            ("cat <<EOF > /a\nx\nexec consul agent", "EOF"),
            ("cat <<A > /a\nx\nA\ncat << \"B\" > /b\ny", "B"),
            ("cat <<EOF-1\nx\nEOF\nconsul agent", "EOF-1"),
            ("cat <<EOF\nx\n  EOF\nconsul agent", "EOF"),
            ("cat <<EOF\nx\n\tEOF\nconsul agent", "EOF"),
            ("echo \"a\" 'b' ${#X} $((1<<2)); cat <<EOF\nx\nconsul agent", "EOF"),
            ("X=\"$(cat <<EOF\n{ \"a\": 1 }\n)\"\nconsul agent", "EOF"),
            ("consul agent <<EOF", "EOF"),
        ] {
            assert_eq!(divide(script).missing_end.as_deref(), Some(end), "{script}");
        }
    }

    #[test]
    fn a_script_is_divided() {
        let script =
            "set -e # it's\ncat << 'EOF' > /a.hcl\na = \"$X\"\nEOF\nwhile ! login \"$(x)\"; do sleep 1; done\n";
        let division = divide(script);
        let document = Document { command: "cat << 'EOF' > /a.hcl", text: "a = \"$X\"\n", is_quoted: true };
        assert_eq!(division.documents, [document]);
        assert!(division.code.contains("while ! login ; do sleep 1; done"), "{}", division.code);
        assert!(!division.has_open_quote);
        for open in ["echo \"a\nconsul agent", "echo 'a\nconsul agent"] {
            assert!(divide(open).has_open_quote, "{open}");
        }
    }
}
