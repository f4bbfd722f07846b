//! Evaluates expressions whose values the sources determine. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions>
//!
//! A value that only a plan or the state knows is unknown. An expression that Terraform would refuse has no value.

use std::collections::BTreeMap;

use hcl_edit::{
    expr::{
        BinaryOp, BinaryOperator, Conditional, Expression as Native, ForExpr, Object, ObjectKey, UnaryOp, UnaryOperator,
    },
    parser::parse_template,
    template::{Directive, Element, ForDirective, IfDirective, Strip, Template},
};

use super::{
    module::Module,
    syntax::Expression,
    values::{
        OPEN_KEY, as_bool, as_number, cost, equal, is_open, is_uncertain, list, literal, map, node, number,
        of_type_with, sorted, text, unknown,
    },
};
use document::{Entry, HOLE, Node, Place, Route, Span, Step, TextBuilder, Value, hcl::replaced_key};

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    /// The file whose bytes places count.
    pub(super) file: usize,
    pub(super) bindings: Option<&'f Binding<'f>>,
    pub(super) depth: usize,
}

/// A name that is known within an expression: of `for`, `each` and `count`.
pub(super) struct Binding<'f> {
    pub(super) name: &'f str,
    pub(super) value: &'f Node,
    pub(super) next: Option<&'f Binding<'f>>,
}

impl<'f> Frame<'f> {
    pub(super) fn of(file: usize) -> Self {
        Self { file, bindings: None, depth: 0 }
    }

    /// The value that a name is bound to.
    pub(super) fn bound(self, name: &str) -> Option<&'f Node> {
        let mut next = self.bindings;
        while let Some(binding) = next {
            if binding.name == name {
                return Some(binding.value);
            }
            next = binding.next;
        }
        None
    }
}

impl Module<'_> {
    /// The value of an expression, without a route for edits. `None` if Terraform would refuse it.
    pub(super) fn evaluate(&self, expression: &Expression, frame: Frame<'_>) -> Option<Node> {
        match expression {
            Expression::Native(native) => self.native(native, None, frame),
            Expression::Json(json) => self.json(json, None, frame),
        }
    }

    /// The value of an expression whose literals edits reach at `route`.
    pub(super) fn evaluate_at(&self, expression: &Expression, route: &Route, frame: Frame<'_>) -> Option<Node> {
        match expression {
            Expression::Native(native) => self.native(native, Some(route), frame),
            Expression::Json(json) => self.json(json, Some(route), frame),
        }
    }

    /// In JSON, a string is a template, and keys of maps are templates too.
    fn json(&self, json: &Node, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
        let span = json.place.span;
        if !self.world.pay(frame.depth, 1) {
            return Some(unknown(span));
        }
        let inner = Frame { depth: frame.depth + 1, ..frame };
        let then = |step: Step| route.map(|route| route.then(step));
        let value = match &json.value {
            Value::Text(source) if source.contains("${") || source.contains("%{") => {
                let template = parse_template(source).ok()?;
                return Some(self.template_value(&template, span, inner)?.placed(span));
            }
            Value::List(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.json(item, then(Step::Index(index)).as_ref(), inner));
                Value::List(items.collect::<Option<_>>()?)
            }
            Value::Map(entries) => {
                let entries = entries.iter().map(|entry| {
                    let node = self.json(&entry.node, then(Step::Key(entry.key.clone())).as_ref(), inner)?;
                    Some(Entry { key: entry.key.clone(), key_span: entry.key_span, node, replaced: entry.replaced })
                });
                Value::Map(entries.collect::<Option<_>>()?)
            }
            other => other.clone(),
        };
        Some(Node { value, place: Place { span, route: route.cloned(), parts: None } })
    }

    pub(super) fn native(&self, native: &Native, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
        let span = self.span_of(native);
        if !self.world.pay(frame.depth, 1) {
            return Some(unknown(span));
        }
        let inner = Frame { depth: frame.depth + 1, ..frame };
        let at = |value: Value| Some(Node { value, place: Place { span, route: route.cloned(), parts: None } });
        match native {
            Native::Null(_) => at(Value::Null),
            Native::Bool(value) => at(Value::Bool(*value.value())),
            Native::Number(value) => at(literal(value.value())),
            Native::String(value) => at(Value::Text(value.value().clone())),
            Native::Array(array) => {
                let items = array.iter().enumerate().map(|(index, item)| {
                    let route = route.map(|route| route.then(Step::Index(index)));
                    self.native(item, route.as_ref(), inner)
                });
                at(Value::List(items.collect::<Option<_>>()?))
            }
            Native::Object(object) => at(Value::Map(self.object(object, route, inner)?)),
            Native::StringTemplate(template) => self.template_value(template, span, inner),
            Native::HeredocTemplate(heredoc) => self.template_value(&heredoc.template, span, inner),
            Native::Parenthesis(parenthesis) => self.native(parenthesis.inner(), route, inner),
            Native::Variable(name) => match frame.bound(name.as_str()) {
                Some(value) if self.world.pay(frame.depth, cost(value)) => Some(value.clone()),
                Some(_) => Some(unknown(span)),
                None => Some(self.unknown(frame, span, format!("{} is not known here", name.as_str()))),
            },
            Native::Conditional(conditional) => self.conditional(conditional, inner),
            Native::FuncCall(call) => self.call(call, route, span, inner),
            Native::Traversal(traversal) => self.traversal(traversal, span, inner),
            Native::UnaryOp(operation) => self.unary(operation, span, inner),
            Native::BinaryOp(operation) => self.binary(operation, span, inner),
            Native::ForExpr(expression) => self.for_expression(expression, span, inner),
        }
    }

    fn object(&self, object: &Object, route: Option<&Route>, frame: Frame<'_>) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        for (key, value) in object {
            let (key, key_span) = match key {
                ObjectKey::Ident(name) => (name.as_str().to_owned(), self.span_of(name)),
                ObjectKey::Expression(expression) => {
                    let key = match replaced_key(expression, &self.directory.file(frame.file).text) {
                        Some(key) => key.to_owned(),
                        None => self.native(expression, None, frame)?.as_text()?,
                    };
                    (key, self.span_of(expression))
                }
            };
            if key.contains(HOLE) {
                entries.push(Entry::new(OPEN_KEY, key_span, unknown(key_span)));
                continue;
            }
            let route = route.map(|route| route.then(Step::Key(key.clone())));
            let node = self.native(value.expr(), route.as_ref(), frame)?;
            entries.push(Entry::new(key, key_span, node));
        }
        Some(Entry::last_of_each_key(entries))
    }

    fn conditional(&self, conditional: &Conditional, frame: Frame<'_>) -> Option<Node> {
        let span = self.span_of(conditional);
        let condition = self.native(&conditional.cond_expr, None, frame)?;
        let is_unknown = condition.is_unknown();
        let chosen = |chosen: &Native, other: &Native| {
            let value = self.native(chosen, None, frame)?;
            if self.made_at.is_some() {
                return Some(value);
            }
            // Why the other is unknown does not matter: only its type counts.
            Some(of_type_with(value, || self.world.with_cause(|| self.native(other, None, frame)).0))
        };
        match as_bool(&condition) {
            Some(true) => chosen(&conditional.true_expr, &conditional.false_expr),
            Some(false) => chosen(&conditional.false_expr, &conditional.true_expr),
            None if is_unknown => {
                let yes = self.native(&conditional.true_expr, None, frame);
                let no = self.native(&conditional.false_expr, None, frame);
                match (yes, no) {
                    (Some(yes), Some(no)) if equal(&yes, &no) == Some(true) => Some(yes),
                    _ => Some(unknown(span)),
                }
            }
            None => None,
        }
    }

    fn unary(&self, operation: &UnaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
        let value = self.native(&operation.expr, None, frame)?;
        if value.is_unknown() {
            return Some(unknown(span));
        }
        let value = match operation.operator.value() {
            UnaryOperator::Neg => number(-as_number(&value)?),
            UnaryOperator::Not => Value::Bool(!as_bool(&value)?),
        };
        Some(node(value, span))
    }

    fn binary(&self, operation: &BinaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
        let operator = *operation.operator.value();
        let left = self.native(&operation.lhs_expr, None, frame)?;
        // `false && x` is false, even if x is not known.
        let decided = match operator {
            BinaryOperator::And => as_bool(&left).filter(|left| !left),
            BinaryOperator::Or => as_bool(&left).filter(|left| *left),
            _ => None,
        };
        if let Some(decided) = decided {
            return Some(node(Value::Bool(decided), span));
        }
        let right = self.native(&operation.rhs_expr, None, frame)?;
        let value = match operator {
            BinaryOperator::Eq => equal(&left, &right).map(Value::Bool),
            BinaryOperator::NotEq => equal(&left, &right).map(|is_equal| Value::Bool(!is_equal)),
            BinaryOperator::And | BinaryOperator::Or => match (is_uncertain(&left), is_uncertain(&right)) {
                (false, false) => {
                    let (left, right) = (as_bool(&left)?, as_bool(&right)?);
                    Some(Value::Bool(if operator == BinaryOperator::And { left && right } else { left || right }))
                }
                (true, false) => {
                    let right = as_bool(&right)?;
                    (right == (operator == BinaryOperator::Or)).then_some(Value::Bool(right))
                }
                _ => None,
            },
            _ if is_uncertain(&left) || is_uncertain(&right) => None,
            _ => Some(arithmetic(operator, as_number(&left)?, as_number(&right)?)?),
        };
        Some(value.map_or_else(|| unknown(span), |value| node(value, span)))
    }
}

fn arithmetic(operator: BinaryOperator, left: f64, right: f64) -> Option<Value> {
    let result = match operator {
        BinaryOperator::Plus => left + right,
        BinaryOperator::Minus => left - right,
        BinaryOperator::Mul => left * right,
        BinaryOperator::Div => left / right,
        BinaryOperator::Mod => left % right,
        BinaryOperator::Less => return Some(Value::Bool(left < right)),
        BinaryOperator::LessEq => return Some(Value::Bool(left <= right)),
        BinaryOperator::Greater => return Some(Value::Bool(left > right)),
        BinaryOperator::GreaterEq => return Some(Value::Bool(left >= right)),
        BinaryOperator::Eq | BinaryOperator::NotEq | BinaryOperator::And | BinaryOperator::Or => return None,
    };
    result.is_finite().then(|| number(result))
}

/// The keys and values of a collection; `Some(None)` if they are not known, `None` if it is no collection.
#[expect(clippy::option_option, reason = "unknown is not the same as invalid")]
pub(super) fn pairs(collection: &Node) -> Option<Option<Vec<(Node, Node)>>> {
    let span = collection.place.span;
    match &collection.value {
        Value::Unknown => Some(None),
        Value::List(items) => {
            #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
            let key = |index: usize| node(number(index as f64), span);
            Some(Some(items.iter().enumerate().map(|(index, item)| (key(index), item.clone())).collect()))
        }
        Value::Map(_) if is_open(collection) => Some(None),
        Value::Map(_) => {
            let pair = |entry: &Entry| (text(&*entry.key, entry.key_span), entry.node.clone());
            Some(Some(sorted(collection).into_iter().map(pair).collect()))
        }
        _ => None,
    }
}

/// A key and a value of the result; unknown whether there are any if there is no value.
type Produced = (Option<Node>, Option<Node>);

impl Module<'_> {
    pub(super) fn for_expression(&self, expression: &ForExpr, span: Span, frame: Frame<'_>) -> Option<Node> {
        let collection = self.native(&expression.intro.collection_expr, None, frame)?;
        let Some(pairs) = pairs(&collection)? else { return Some(unknown(span)) };
        let mut produced: Vec<Produced> = Vec::new();
        for (key, value) in pairs {
            if !self.world.pay(frame.depth, 1) {
                return Some(unknown(span));
            }
            produced.extend(self.one(expression, &key, &value, frame)?);
        }
        match (&expression.key_expr, expression.grouping) {
            (None, _) => Some(list(
                produced.into_iter().map(|(_, value)| value.unwrap_or_else(|| unknown(span))).collect(),
                span,
            )),
            (Some(_), grouping) => Some(map(keyed(produced, grouping, span)?, span)),
        }
    }

    /// What one pass of the loop produces; `Some(None)` if its condition is not met.
    #[expect(clippy::option_option, reason = "nothing is not the same as invalid")]
    fn one(&self, expression: &ForExpr, key: &Node, value: &Node, frame: Frame<'_>) -> Option<Option<Produced>> {
        let intro = &expression.intro;
        let by_value = Binding { name: intro.value_var.as_str(), value, next: frame.bindings };
        let by_key =
            intro.key_var.as_ref().map(|name| Binding { name: name.as_str(), value: key, next: Some(&by_value) });
        let inner = Frame { bindings: Some(by_key.as_ref().unwrap_or(&by_value)), depth: frame.depth + 1, ..frame };
        // Whether an unknown item is one item or several is not known either.
        let mut is_there = !value.is_unknown();
        if let Some(condition) = &expression.cond {
            let condition = self.native(&condition.expr, None, inner)?;
            match as_bool(&condition) {
                Some(true) => {}
                Some(false) => return Some(None),
                None if condition.is_unknown() => is_there = false,
                None => return None,
            }
        }
        if !is_there {
            return Some(Some((None, None)));
        }
        let key = match &expression.key_expr {
            Some(key) => Some(self.native(key, None, inner)?),
            None => None,
        };
        Some(Some((key, Some(self.native(&expression.value_expr, None, inner)?))))
    }
}

/// The entries of a map. An unknown key makes it open.
fn keyed(produced: Vec<Produced>, is_grouped: bool, span: Span) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for (key, value) in produced {
        let known = key.as_ref().map(|key| key.as_text().map(|text| (text, key.place.span)));
        let (name, key_span, value) = match (known, value) {
            (Some(None), _) => return None,
            (Some(Some((name, key_span))), Some(value)) if !name.contains(HOLE) => (name, key_span, value),
            _ => (OPEN_KEY.to_owned(), span, unknown(span)),
        };
        let position = *positions.entry(name.clone()).or_insert(entries.len());
        match entries.get_mut(position) {
            Some(Entry { node: Node { value: Value::List(items), .. }, .. }) if is_grouped => items.push(value),
            Some(_) if name == OPEN_KEY => {}
            // Terraform refuses two equal keys.
            Some(_) => return None,
            None if is_grouped && name != OPEN_KEY => {
                entries.push(Entry::new(name, key_span, list(vec![value], span)));
            }
            None => entries.push(Entry::new(name, key_span, value)),
        }
    }
    Some(entries)
}

impl Module<'_> {
    /// The value of a template. If it consists of one interpolation, that is its value, of any type.
    pub(super) fn template_value(&self, template: &Template, span: Span, frame: Frame<'_>) -> Option<Node> {
        if let Some(Element::Interpolation(only)) = template.as_single_element() {
            return self.native(&only.expr, None, frame);
        }
        let mut out = TextBuilder::default();
        self.write(template, &mut out, frame)?;
        let (text, parts) = out.finish();
        if !self.world.pay(frame.depth, text.len() / 32) {
            return Some(unknown(span));
        }
        let place = Place { span, route: None, parts: parts.map(Into::into) };
        Some(Node { value: Value::Text(text), place })
    }

    fn write(&self, template: &Template, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
        let mut strips_next = false;
        for element in template {
            let (start, end) = strips(element);
            if start {
                out.trim_end();
            }
            match element {
                Element::Literal(literal) => {
                    self.write_literal(literal, self.span_of(literal), strips_next, out, frame);
                }
                Element::Interpolation(interpolation) => {
                    let value = self.native(&interpolation.expr, None, frame)?;
                    out.extend(&value.as_text()?, value.place.span, value.place.parts.as_deref());
                }
                Element::Directive(directive) => match directive.as_ref() {
                    Directive::If(directive) => self.write_if(directive, out, frame)?,
                    Directive::For(directive) => self.write_for(directive, out, frame)?,
                },
            }
            strips_next = end;
        }
        Some(())
    }

    /// Each line of a literal that the file spells the same has its own place: indented heredocs lose their
    /// indentation.
    fn write_literal(&self, literal: &str, span: Span, strips: bool, out: &mut TextBuilder, frame: Frame<'_>) {
        let literal = if strips { literal.trim_start() } else { literal };
        if self.made_at.is_some() {
            return out.push(literal, span);
        }
        let file = self.directory.file(frame.file);
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

    fn write_if(&self, directive: &IfDirective, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
        let condition = self.native(&directive.if_expr.cond_expr, None, frame)?;
        let inner = Frame { depth: frame.depth + 1, ..frame };
        match (as_bool(&condition), &directive.else_expr) {
            (Some(true), _) => self.write(&directive.if_expr.template, out, inner),
            (Some(false), Some(otherwise)) => self.write(&otherwise.template, out, inner),
            (Some(false), None) => Some(()),
            (None, _) => {
                out.push(&HOLE.to_string(), condition.place.span);
                condition.is_unknown().then_some(())
            }
        }
    }

    fn write_for(&self, directive: &ForDirective, out: &mut TextBuilder, frame: Frame<'_>) -> Option<()> {
        let intro = &directive.for_expr;
        let collection = self.native(&intro.collection_expr, None, frame)?;
        let Some(pairs) = pairs(&collection)? else {
            out.push(&HOLE.to_string(), collection.place.span);
            return Some(());
        };
        for (key, value) in pairs {
            if !self.world.pay(frame.depth, 1) {
                out.push(&HOLE.to_string(), collection.place.span);
                break;
            }
            let by_value = Binding { name: intro.value_var.as_str(), value: &value, next: frame.bindings };
            let by_key =
                intro.key_var.as_ref().map(|name| Binding { name: name.as_str(), value: &key, next: Some(&by_value) });
            let bindings = Some(by_key.as_ref().unwrap_or(&by_value));
            self.write(&intro.template, out, Frame { bindings, depth: frame.depth + 1, ..frame })?;
        }
        Some(())
    }
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
