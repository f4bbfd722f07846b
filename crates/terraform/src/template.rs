//! Templates of strings. Source: <https://developer.hashicorp.com/terraform/language/expressions/strings>

use document::{HOLE, Node, Place, Span, TextBuilder, Value};
use hcl_edit::template::{Directive, Element, ForDirective, IfDirective, Strip, Template};

use crate::{
    scope::{Binding, Frame, Scope},
    values::{Outcome, as_bool, pairs, unknown},
};

/// The value of a template. If it consists of one interpolation, that is its value, of any type.
pub(crate) fn template_value(scope: &dyn Scope, template: &Template, span: Span, frame: Frame<'_>) -> Option<Node> {
    if let Some(Element::Interpolation(only)) = template.as_single_element() {
        return scope.evaluate(&only.expr, None, frame);
    }
    let mut out = TextBuilder::default();
    write(scope, template, &mut out, frame)?;
    let (text, parts) = out.finish();
    if !scope.spend(frame, text.len() / 32) {
        return Some(unknown(span));
    }
    let place = Place { span, route: None, parts: parts.map(Into::into) };
    Some(Node { value: Value::Text(text), place })
}

fn write(scope: &dyn Scope, template: &Template, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
    let mut strips_next = false;
    for element in template {
        let (start, end) = strips(element);
        if start {
            out.trim_end();
        }
        match element {
            Element::Literal(literal) => {
                write_literal(scope, literal, scope.span_of(literal), strips_next, out, frame);
            }
            Element::Interpolation(interpolation) => {
                let value = scope.evaluate(&interpolation.expr, None, frame)?;
                out.extend(&value.as_text()?, value.place.span, value.place.parts.as_deref());
            }
            Element::Directive(directive) => match directive.as_ref() {
                Directive::If(directive) => write_if(scope, directive, out, frame)?,
                Directive::For(directive) => write_for(scope, directive, out, frame)?,
            },
        }
        strips_next = end;
    }
    Some(())
}

/// Each line of a literal that the file spells the same has its own place: indented heredocs lose their
/// indentation.
fn write_literal(scope: &dyn Scope, literal: &str, span: Span, strips: bool, out: &mut TextBuilder, frame: Frame<'_>) {
    let literal = if strips { literal.trim_start() } else { literal };
    if scope.made_at().is_some() {
        return out.push(literal, span);
    }
    let file = scope.file(frame.file);
    let spelled = file.text.get(span.start..span.end).unwrap_or_default();
    let mut lines = spelled.split_inclusive('\n').peekable();
    let mut start = span.start;
    if strips {
        let skipped = spelled.len() - spelled.trim_start().len();
        start += skipped;
        lines = spelled.get(skipped..).unwrap_or_default().split_inclusive('\n').peekable();
    }
    for line in literal.split_inclusive('\n') {
        let Some(from) = lines.next() else {
            out.push_unplaced(line);
            continue;
        };
        // The parser reads `\r\n` as `\n`.
        let (content, from_content) = (line.trim_end_matches('\n'), from.trim_end_matches(['\r', '\n']));
        match from_content.strip_suffix(content) {
            Some(indent) => out.push_verbatim(content, start + indent.len()),
            None => out.push(content, Span::new(start, start + from_content.len())),
        }
        out.push_unplaced(line.get(content.len()..).unwrap_or_default());
        start += from.len();
    }
}

fn write_if(scope: &dyn Scope, directive: &IfDirective, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
    let condition = scope.evaluate(&directive.if_expr.cond_expr, None, frame)?;
    let inner = Frame { depth: frame.depth + 1, ..frame };
    match (as_bool(&condition), &directive.else_expr) {
        (Some(true), _) => write(scope, &directive.if_expr.template, out, inner),
        (Some(false), Some(otherwise)) => write(scope, &otherwise.template, out, inner),
        (Some(false), None) => Some(()),
        (None, _) => {
            out.push(&HOLE.to_string(), condition.place.span);
            condition.is_unknown().then_some(())
        }
    }
}

fn write_for(scope: &dyn Scope, directive: &ForDirective, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
    let intro = &directive.for_expr;
    let collection = scope.evaluate(&intro.collection_expr, None, frame)?;
    let pairs = match pairs(&collection) {
        Outcome::Value(pairs) => pairs,
        Outcome::Unknown => {
            out.push(&HOLE.to_string(), collection.place.span);
            return Some(());
        }
        Outcome::Refused => return None,
    };
    for (key, value) in pairs {
        if !scope.spend(frame, 1) {
            out.push(&HOLE.to_string(), collection.place.span);
            break;
        }
        let by_value = Binding { name: intro.value_var.as_str(), value: &value, next: frame.bindings };
        let by_key =
            intro.key_var.as_ref().map(|name| Binding { name: name.as_str(), value: &key, next: Some(&by_value) });
        let bindings = Some(by_key.as_ref().unwrap_or(&by_value));
        write(scope, &intro.template, out, Frame { bindings, depth: frame.depth + 1, ..frame })?;
    }
    Some(())
}

/// Whether an element removes the blanks before and after it.
fn strips(element: &Element) -> (bool, bool) {
    let of = |strip: Strip| (strip.strip_start(), strip.strip_end());
    match element {
        Element::Literal(_) => (false, false),
        Element::Interpolation(interpolation) => of(interpolation.strip),
        Element::Directive(directive) => match directive.as_ref() {
            Directive::If(directive) => (directive.if_expr.strip.strip_start(), directive.endif_expr.strip.strip_end()),
            Directive::For(directive) => {
                (directive.for_expr.strip.strip_start(), directive.endfor_expr.strip.strip_end())
            }
        },
    }
}
