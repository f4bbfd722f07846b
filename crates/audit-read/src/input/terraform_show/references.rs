//! Which service runs which task definition, and which role a definition has: by the ARN, or by the references in the configuration if
//! there is no ARN yet.

use std::collections::{BTreeMap, BTreeSet};

use super::planned::Planned;
use document::Node;

/// The configuration of a plan. A state has none.
pub(super) struct References<'n> {
    root: Option<&'n Node>,
}

impl<'n> References<'n> {
    pub(super) fn of(shown: &'n Node) -> Self {
        Self { root: shown.get("configuration").and_then(|configuration| configuration.get("root_module")) }
    }

    /// Whether the source sets an attribute of the resource; `None` if the file does not show it.
    pub(super) fn is_set(&self, address: &str, attribute: &str) -> Option<bool> {
        let resource = self.resource(&Address::parse(address))?;
        Some(resource.get("expressions")?.get(attribute).is_some())
    }

    /// The index of the resource that an attribute of another one names, if it is certainly one of these.
    pub(super) fn target_of(&self, owner: &Planned<'_>, attribute: &str, targets: &Targets<'_>) -> Option<usize> {
        let name = owner.values.get(attribute).and_then(Node::text);
        name.and_then(|name| only(targets.called(name))).or_else(|| self.by_reference(owner, attribute, targets))
    }

    /// Whether an attribute refers to the name or ID of a resource instead of its ARN.
    pub(super) fn is_by_name(&self, owner: &Planned<'_>, attribute: &str) -> bool {
        let expression =
            self.resource(&Address::parse(owner.address)).and_then(|it| it.get("expressions")?.get(attribute));
        expression.into_iter().flat_map(references).any(|name| matches!(name.rsplit('.').next(), Some("name" | "id")))
    }

    fn by_reference(&self, owner: &Planned<'_>, attribute: &str, targets: &Targets<'_>) -> Option<usize> {
        let owner = Address::parse(owner.address);
        let instances = targets.instances(&self.target(&owner, attribute, targets.kind)?);
        only(instances.iter().map(|(index, _)| *index)).or_else(|| {
            // An instance refers to the instance with the same index.
            only(instances.iter().filter(|(_, indices)| *indices == owner.indices).map(|(index, _)| *index))
        })
    }

    /// The names in the address of the resource of this type that an expression refers to, through the outputs and variables of
    /// modules.
    fn target(&self, owner: &Address<'_>, attribute: &str, wanted: &str) -> Option<Vec<String>> {
        let start = self.resource(owner)?.get("expressions")?.get(attribute)?;
        let mut open = Vec::new();
        let mut seen = BTreeSet::new();
        let mut targets = BTreeSet::new();
        open.extend(references(start).map(|reference| (owner.modules(), reference)));
        while let Some((modules, reference)) = open.pop() {
            let names = Address::parse(reference).names;
            if !seen.insert((modules.clone(), names.clone())) {
                continue;
            }
            match names.as_slice() {
                [kind, name, ..] if kind == wanted => {
                    let path = modules.iter().flat_map(|module| ["module".to_owned(), module.clone()]);
                    targets.insert(path.chain([kind.clone(), name.clone()]).collect::<Vec<_>>());
                }
                [kind, module, output, ..] if kind == "module" => {
                    let inner = [modules.as_slice(), std::slice::from_ref(module)].concat();
                    let output = self.module(&inner).and_then(|node| node.get("outputs")?.get(output));
                    let expression = output.and_then(|output| output.get("expression"));
                    open.extend(expression.into_iter().flat_map(references).map(|found| (inner.clone(), found)));
                }
                [kind, variable, ..] if kind == "var" => {
                    let Some((module, outer)) = modules.split_last() else { continue };
                    let call = self.module(outer).and_then(|node| node.get("module_calls")?.get(module));
                    let expression = call.and_then(|call| call.get("expressions")?.get(variable));
                    open.extend(expression.into_iter().flat_map(references).map(|found| (outer.to_vec(), found)));
                }
                _ => {}
            }
        }
        let mut targets = targets.into_iter();
        targets.next().filter(|_| targets.next().is_none())
    }

    /// The block that a resource in a called module, or one of several, is an instance of: the sources of the modules that
    /// lead to it, and its own name. A state does not have the sources, so that the names of the calls count.
    pub(super) fn block(&self, address: &str) -> Option<String> {
        let address = Address::parse(address);
        let modules = address.modules();
        if modules.is_empty() && address.indices.is_empty() {
            return None;
        }
        let mut module = self.root;
        let mut block = Vec::new();
        for name in &modules {
            let call = module.and_then(|module| module.get("module_calls")?.get(name));
            let text = |key: &str| call.and_then(|call| call.get(key)?.text());
            block.extend([text("source").unwrap_or(name), text("version_constraint").unwrap_or_default()]);
            module = call.and_then(|call| call.get("module"));
        }
        block.extend(address.names.iter().skip(modules.len() * 2).map(String::as_str));
        Some(block.join("\n"))
    }

    fn resource(&self, address: &Address<'_>) -> Option<&'n Node> {
        let own = address.names.get(address.modules().len() * 2..)?.join(".");
        let resources = self.module(&address.modules())?.get("resources")?;
        resources.items().iter().find(|resource| resource.get("address").and_then(Node::text) == Some(own.as_str()))
    }

    fn module(&self, path: &[String]) -> Option<&'n Node> {
        path.iter().try_fold(self.root?, |module, name| module.get("module_calls")?.get(name)?.get("module"))
    }
}

fn references(expression: &Node) -> impl Iterator<Item = &str> {
    expression.items_of("references").iter().filter_map(Node::text)
}

/// The resources of a type by all names that others may use for them.
pub(super) struct Targets<'p> {
    kind: &'static str,
    by_name: BTreeMap<&'p str, BTreeSet<usize>>,
    by_address: BTreeMap<Vec<String>, Vec<(usize, Vec<&'p str>)>>,
}

impl<'p> Targets<'p> {
    pub(super) fn of(kind: &'static str, all: impl Iterator<Item = &'p Planned<'p>>) -> Self {
        let mut targets = Self { kind, by_name: BTreeMap::new(), by_address: BTreeMap::new() };
        for (index, target) in all.enumerate() {
            let text = |key: &str| target.values.get(key).and_then(Node::text);
            let (arn, family) = (text("arn"), text("family"));
            let revision = arn.and_then(|arn| arn.rsplit_once('/')).map(|(_, revision)| revision);
            for name in [arn, text("arn_without_revision"), family, revision].into_iter().flatten() {
                targets.by_name.entry(name).or_default().insert(index);
            }
            let Address { names, indices } = Address::parse(target.address);
            targets.by_address.entry(names).or_default().push((index, indices));
        }
        targets
    }

    /// The resources with this ARN; of task definitions, also those with this family and revision, or family.
    fn called(&self, name: &str) -> impl Iterator<Item = usize> {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// The instances of one resource.
    fn instances(&self, names: &[String]) -> &[(usize, Vec<&'p str>)] {
        self.by_address.get(names).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The item, if there is exactly one.
fn only(mut found: impl Iterator<Item = usize>) -> Option<usize> {
    found.next().filter(|_| found.next().is_none())
}

/// `module.a["x.y"].aws_ecs_service.web[0]`: its names, and the indices of its instances.
struct Address<'a> {
    names: Vec<String>,
    indices: Vec<&'a str>,
}

impl<'a> Address<'a> {
    fn parse(address: &'a str) -> Self {
        let (mut names, mut indices, mut rest) = (Vec::new(), Vec::new(), address);
        while !rest.is_empty() {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            names.push(name.to_owned());
            rest = match after.strip_prefix('[') {
                Some(inner) => {
                    // A quoted key may contain anything but an unescaped quote.
                    let close = if inner.starts_with('"') { "\"]" } else { "]" };
                    let (index, after) = inner.split_once(close).unwrap_or((inner, ""));
                    indices.push(index);
                    after
                }
                None => after,
            };
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        Self { names, indices }
    }

    /// The names of its modules, from the outside in.
    fn modules(&self) -> Vec<String> {
        let pairs = self.names.chunks_exact(2).map_while(|pair| match pair {
            [kind, name] if kind == "module" => Some(name.clone()),
            _ => None,
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_names_and_indices() {
        let address = Address::parse(r#"module.a["x.y]z"].module.b.aws_ecs_service.web[0]"#);
        assert_eq!(address.names, ["module", "a", "module", "b", "aws_ecs_service", "web"]);
        assert_eq!(address.indices, ["\"x.y]z", "0"]);
        assert_eq!(address.modules(), ["a", "b"]);
    }
}
