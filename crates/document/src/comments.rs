//! The comments of a file. In JSON, YAML and Terraform's native syntax alike, what looks like a comment is one if it
//! begins in no scalar.

use hcl_edit::{
    Decorated, Ident,
    template::{HeredocTemplate, StringTemplate},
    visit::Visit,
};

use crate::{
    hcl::{self, span_of},
    node::{Node, Value},
    notation::{Notation, documents, parse, parse_one},
    source::SourceFile,
    span::Span,
};

/// The comments of a file.
#[derive(Debug, Default)]
pub struct Comments {
    /// The bytes of each comment, in the order of the file.
    pub spans: Vec<Span>,
    /// The first byte of the first value.
    pub first_value: usize,
    /// The bytes of each string of several lines.
    pub texts: Vec<Span>,
}

impl Comments {
    /// The comments of a file. A document that cannot be read has none.
    pub fn of(file: &SourceFile) -> Self {
        let whole = Span::new(0, file.text.len());
        if hcl::is_hcl(file) {
            let mut scalars = Scalars::default();
            if let Ok(body) = hcl::parse(&file.text) {
                scalars.visit_body(&body);
            }
            let first_value = scalars.0.iter().map(|span| span.start).min().unwrap_or(whole.end);
            let texts = of_several_lines(&file.text, &scalars.0);
            return Self { spans: between(&file.text, whole, scalars.0, false), first_value, texts };
        }
        let mut comments = Self { first_value: whole.end, ..Self::default() };
        let Some(documents) = documents(file) else {
            if let Ok((notation, node)) = parse(file) {
                comments.add(&file.text, whole, &node, notation);
            }
            return comments;
        };
        for (index, document) in documents.into_iter().enumerate() {
            if let Ok(node) = parse_one(file, document, index) {
                comments.add(&file.text, document, &node, Notation::Yaml);
            }
        }
        comments
    }

    fn add(&mut self, text: &str, part: Span, node: &Node, notation: Notation) {
        self.first_value = self.first_value.min(node.place.span.start);
        let scalars = scalars_of(text, node);
        self.texts.extend(of_several_lines(text, &scalars));
        self.spans.extend(between(text, part, scalars, notation == Notation::Yaml));
    }

    /// The string of several lines around a byte.
    pub fn text_around(&self, byte: usize) -> Option<Span> {
        self.texts.iter().copied().find(|text| text.start <= byte && byte < text.end)
    }
}

fn of_several_lines(text: &str, scalars: &[Span]) -> Vec<Span> {
    let is_long = |span: &&Span| text.get(span.start..span.end).is_some_and(|scalar| scalar.trim_end().contains('\n'));
    scalars.iter().filter(is_long).copied().collect()
}

/// Whether there is a comment within a value.
pub(crate) fn has_comment(text: &str, node: &Node, notation: Notation) -> bool {
    !between(text, node.place.span, scalars_of(text, node), notation == Notation::Yaml).is_empty()
}

fn scalars_of(text: &str, node: &Node) -> Vec<Span> {
    let mut scalars = Vec::new();
    collect_scalars(text, node, &mut scalars);
    scalars
}

fn collect_scalars(text: &str, node: &Node, out: &mut Vec<Span>) {
    let span = node.place.span;
    if let Value::Map(_) | Value::List(_) = node.value {
        // The key of a short form such as !Ref has the place of the whole.
        let is_before = |key: &Span, value: Span| key.end <= value.start;
        let keys = node.entries().iter().map(|entry| (entry.key_span, entry.node.place.span));
        out.extend(keys.filter(|(key, value)| is_before(key, *value)).map(|(key, _)| key));
        node.children().into_iter().for_each(|child| collect_scalars(text, child, out));
        return;
    }
    // In YAML, a comment may follow the `|` or `>` of a block scalar.
    let block = text.get(span.start..span.end).filter(|text| text.starts_with(['|', '>']));
    let header = block.and_then(|block| block.find('\n')).unwrap_or_default();
    out.push(Span::new(span.start + header, span.end));
}

/// The names and strings of Terraform's native syntax.
#[derive(Default)]
struct Scalars(Vec<Span>);

impl Visit for Scalars {
    fn visit_ident(&mut self, node: &Decorated<Ident>) {
        self.0.push(span_of(node));
    }

    fn visit_string(&mut self, node: &Decorated<String>) {
        self.0.push(span_of(node));
    }

    fn visit_string_template(&mut self, node: &StringTemplate) {
        self.0.push(span_of(node));
    }

    fn visit_heredoc_template(&mut self, node: &HeredocTemplate) {
        self.0.push(span_of(node));
    }
}

/// The comments of a part of a text that are in none of the scalars.
fn between(text: &str, part: Span, mut scalars: Vec<Span>, is_yaml: bool) -> Vec<Span> {
    scalars.sort_unstable();
    scalars.push(Span::new(part.end, part.end));
    let (mut out, mut at) = (Vec::new(), part.start);
    for scalar in scalars {
        while let Some(comment) = next_comment(text, at, scalar.start, is_yaml) {
            at = comment.end;
            out.push(comment);
        }
        at = at.max(scalar.end);
    }
    out
}

/// The first comment that begins between two bytes. In YAML, a blank must be before it.
fn next_comment(text: &str, from: usize, to: usize, is_yaml: bool) -> Option<Span> {
    let openers: &[&str] = if is_yaml { &["#"] } else { &["#", "//", "/*"] };
    let is_text = |c: char| is_yaml && !c.is_whitespace() && c != '\u{FEFF}';
    let begins = |(before, rest): &(&str, &str)| {
        openers.iter().any(|opener| rest.starts_with(opener)) && !before.ends_with(is_text)
    };
    let marks = text.get(from..to)?.match_indices(['#', '/']);
    let (before, rest) = marks.filter_map(|(at, _)| text.split_at_checked(from + at)).find(begins)?;
    let length = if rest.starts_with("/*") { rest.find("*/").map(|end| end + 2) } else { rest.find('\n') };
    Some(Span::new(before.len(), before.len() + length.unwrap_or(rest.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let spans = Comments::of(&SourceFile::new(name, text)).spans;
        spans.into_iter().map(|span| text.get(span.start..span.end).unwrap()).collect()
    }

    #[test]
    fn comments_of_yaml_begin_with_a_number_sign_after_a_blank() {
        let text = "# a\nb: it's c#d # e\nf: 'x # y' # g\nh: \"\\\" # i\" # j\nk: [l, # m\n  'n']\n";
        assert_eq!(comments("f.yaml", text), ["# a", "# e", "# g", "# j", "# m"]);
        assert_eq!(comments("f.yaml", "\u{feff}# é\na: !If\n  - b\n  # c\n  - !Ref d # e\n"), ["# é", "# c", "# e"]);
        assert_eq!(comments("f.yaml", "a: 1 # b\n--- # c\nd: [\n--- # e\nf: 2 # g\n"), ["# b", "# e", "# g"]);
    }

    #[test]
    fn comments_of_terraform_and_json_may_end_before_the_line() {
        let text = "/* a */ /*b*/\n/* c */ d = 1 /* e */ // f\ng = \"/*\"# h\n/* i */ # j\n";
        assert_eq!(
            comments("main.tf", text),
            ["/* a */", "/*b*/", "/* c */", "/* e */", "// f", "# h", "/* i */", "# j"]
        );
        let text = "{ // a\n  \"b//c\": \"/* d */\" /* e\n f */ }\n// g";
        assert_eq!(comments("f.json", text), ["// a", "/* e\n f */", "// g"]);
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
            let found = comments("f.yaml", text);
            assert!(!found.is_empty() && found.iter().all(|comment| !comment.contains('b')), "{text}: {found:?}");
        }
        assert_eq!(comments("f.yaml", "a: b |\n  # c\nd: 'x |'\n # e\n"), ["# c", "# e"]);
    }

    #[test]
    fn strings_of_terraform_have_no_comments() {
        let text = "a = <<-EOT\n  ls /etc/*  # b\n  EOT\nc = \"${d[\"# e\"]}\" # f\ng = [for h in i : # j\n  h]\n";
        assert_eq!(comments("main.tf", text), ["# f", "# j"]);
    }

    #[test]
    fn first_value_of_a_file_is_below_its_first_comments() {
        for (name, text, first) in [
            ("main.tf", "# a\nb = 1\n", 4),
            ("f.json", "// a\n{\"b\": 1}", 5),
            ("f.yaml", "# a\n---\nb: 1\n---\nc: 1\n", 8),
        ] {
            assert_eq!(Comments::of(&SourceFile::new(name, text)).first_value, first, "{name}");
        }
    }
}
