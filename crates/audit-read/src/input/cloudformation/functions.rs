//! Intrinsic functions. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>

use std::collections::BTreeMap;

use super::{
    scope::Scope,
    text::{MAX_TEXT, Placed, fits, opened, substituted, whole_text, without_dynamic_references},
};
use document::{Entry, HOLE, Node, Place, Span, TextBuilder, TextParts, Value};

impl Scope<'_, '_> {
    /// The value of a function, used at `span`.
    pub(super) fn call(&self, name: &str, argument: &Node, span: Span) -> Node {
        let text = match name {
            "Fn::Sub" => self.sub(argument, span),
            "Fn::Join" => self.join(argument),
            _ => None,
        };
        if let Some((value, parts)) = text.map(opened) {
            return Node { value, place: Place { parts, ..Place::fixed(span) } };
        }
        let value = match name {
            "Ref" => argument.text().map(|name| self.reference(name, span)),
            "Fn::GetAtt" => self.attribute(argument, span),
            "Fn::Split" => self.split(argument, span),
            "Fn::Select" => self.select(argument, span),
            "Fn::FindInMap" => self.find_in_map(argument, span),
            // All other functions depend on the account, the region or another stack.
            _ => None,
        };
        Node { value: value.unwrap_or(Value::Unknown), place: Place::fixed(span) }
    }

    /// A string of the template with the places of its parts.
    pub(super) fn placed(&self, node: &Node, text: &str) -> Placed {
        Placed { text: text.to_owned(), parts: TextParts::of_scalar(&self.template.file.text, node.place.span, text) }
    }

    /// The resource that a reference names: by its ID or by an attribute.
    pub(super) fn resource_of<'a>(&self, node: &'a Node) -> Option<&'a str> {
        let [Entry { key, node: argument, .. }] = node.entries() else { return None };
        match key.as_str() {
            "Ref" => argument.text(),
            "Fn::GetAtt" => argument.items().first().unwrap_or(argument).text()?.split('.').next(),
            "Fn::Sub" => {
                let name = argument.text()?.strip_prefix("${")?.strip_suffix('}')?;
                name.split('.').next().filter(|name| !name.contains('$'))
            }
            "Fn::If" => self.resource_of(self.branch(argument)?),
            _ => None,
        }
    }

    fn reference(&self, name: &str, span: Span) -> Value {
        if name == "AWS::NoValue" {
            return Value::Null;
        }
        self.check_name(name, span);
        let Some((default, kind)) = self.default_of(name) else {
            return self.mesh_arn(name).or_else(|| self.referenced(name)).unwrap_or(Value::Unknown);
        };
        let is_list = kind == "CommaDelimitedList" || kind.starts_with("List<");
        match &default.value {
            Value::Text(text) if is_list => {
                Value::List(text.split(',').map(|item| text_node(item.trim(), span)).collect())
            }
            Value::Number(number) if is_list => Value::List(vec![text_node(number, span)]),
            Value::Text(text) if kind == "Number" => Value::Number(text.trim().to_owned()),
            Value::Text(text) => without_dynamic_references(text),
            Value::Number(_) | Value::Bool(_) => default.value.clone(),
            _ => Value::Unknown,
        }
    }

    fn attribute(&self, argument: &Node, span: Span) -> Option<Value> {
        let (id, attribute) = match argument.items() {
            [id, attribute] => (id.text()?, attribute.text()?),
            _ => argument.text()?.split_once('.')?,
        };
        self.check_attribute(id, attribute, span);
        self.mesh_attribute(id, attribute).or_else(|| self.arn_of(id, attribute))
    }

    /// A parameter's default and type. Unknown if it is hidden (`NoEcho`), or of an SSM type: then the default is only
    /// the name of the parameter in SSM.
    fn default_of(&self, name: &str) -> Option<(&Node, &str)> {
        let parameter = self.template.parameters.get(name).filter(|_| self.has_defaults)?;
        let is_hidden = parameter.get("NoEcho").is_some_and(|hidden| match &hidden.value {
            Value::Bool(is_hidden) => *is_hidden,
            Value::Text(text) => !text.eq_ignore_ascii_case("false"),
            _ => true,
        });
        let kind = parameter.get("Type").and_then(Node::text).unwrap_or("String");
        let default = parameter.get("Default").filter(|_| !is_hidden && !kind.starts_with("AWS::SSM::"))?;
        Some((default, kind))
    }

    fn sub(&self, argument: &Node, span: Span) -> Option<Placed> {
        let (template, variables) = match argument.items() {
            [template, variables] => (template, variables.entries()),
            _ => (argument, &[] as &[Entry]),
        };
        let Value::Text(text) = &template.value else { return None };
        let own: BTreeMap<&str, String> = variables
            .iter()
            .map(|entry| (entry.key.as_str(), self.resolve(&entry.node).as_text().unwrap_or_else(|| HOLE.to_string())))
            .collect();
        let value = |name: &str| {
            let referred = || {
                let attribute = name.split_once('.').and_then(|(id, attribute)| {
                    self.check_attribute(id, attribute, span);
                    self.mesh_attribute(id, attribute).or_else(|| self.arn_of(id, attribute))
                });
                let value = attribute.unwrap_or_else(|| self.reference(name, span));
                Node { value, place: Place::default() }
            };
            let text = own.get(name).cloned().or_else(|| referred().as_text());
            text.unwrap_or_else(|| HOLE.to_string())
        };
        substituted(&self.placed(template, text), value)
    }

    fn join(&self, argument: &Node) -> Option<Placed> {
        let [delimiter, list] = argument.items() else { return None };
        let Value::List(items) = self.resolve(list).value else { return None };
        let mut joined = TextBuilder::default();
        for (index, item) in items.iter().filter(|item| !matches!(item.value, Value::Null)).enumerate() {
            if index > 0 {
                joined.push_unplaced(delimiter.text()?);
            }
            let (text, place) = (item.as_text()?, &item.place);
            fits(&joined, text.len())?;
            match &place.parts {
                Some(parts) => joined.extend(&text, place.span, Some(parts)),
                None => joined.extend(&text, place.span, self.placed(item, &text).parts.as_ref()),
            }
        }
        Some(joined.into())
    }

    fn split(&self, argument: &Node, span: Span) -> Option<Value> {
        let [delimiter, text] = argument.items() else { return None };
        let delimiter = delimiter.text().filter(|delimiter| !delimiter.is_empty())?;
        let resolved = self.resolve(text);
        // An unknown part may contain the delimiter.
        let parts = resolved.text().filter(|text| text.len() <= MAX_TEXT)?.split(delimiter);
        Some(Value::List(parts.map(|part| text_node(part, span)).collect()))
    }

    fn select(&self, argument: &Node, span: Span) -> Option<Value> {
        let [index, list] = argument.items() else { return None };
        let index: usize = self.resolve(index).as_text()?.parse().ok()?;
        let Value::List(items) = self.resolve(list).value else { return None };
        let items: Vec<&Node> = items.iter().filter(|item| !matches!(item.value, Value::Null)).collect();
        let until = items.get(..=index)?;
        // An unknown item before it may be absent.
        let is_certain = until.iter().all(|item| !matches!(item.value, Value::Unknown));
        until.last().filter(|_| is_certain).map(|item| item.placed(span).value)
    }

    fn find_in_map(&self, argument: &Node, span: Span) -> Option<Value> {
        let (keys, options) = argument.items().split_at_checked(3)?;
        let keys: Vec<String> = keys.iter().map(|key| whole_text(&self.resolve(key))).collect::<Option<_>>()?;
        let [map, first, second] = keys.as_slice() else { return None };
        if let ([map, ..], []) = (argument.items(), options) {
            map.text().inspect(|name| self.check_mapping(name, span));
        }
        let found = self.template.mappings.get(map.as_str()).and_then(|map| map.get(first)?.get(second));
        match (found, options.first().and_then(|options| options.get("DefaultValue"))) {
            (Some(found), _) => Some(found.placed(span).value),
            (None, Some(default)) => Some(self.resolve(default).placed(span).value),
            (None, None) => None,
        }
    }
}

fn text_node(text: &str, span: Span) -> Node {
    Node { value: without_dynamic_references(text), place: Place::fixed(span) }
}
