//! The graph of uses between files, and its circles.

use std::collections::BTreeMap;

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use super::modules::{Crate, Module, Name};

/// The groups of files that use each other, directly or through others.
pub(super) fn circles(of: &Crate) -> Vec<Vec<String>> {
    let mut graph = DiGraph::<&str, ()>::new();
    let mut nodes = BTreeMap::new();
    for module in of.modules.values() {
        nodes.entry(module.file.as_str()).or_insert_with(|| graph.add_node(&module.file));
    }
    for (name, module) in &of.modules {
        for used in module.uses.iter().filter_map(|path| defining_file(of, name, path, 0)) {
            if used != module.file {
                graph.update_edge(nodes[module.file.as_str()], nodes[used], ());
            }
        }
    }
    let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
    let files = groups.map(|group| {
        let mut files: Vec<String> = group.into_iter().map(|node| graph[node].to_owned()).collect();
        files.sort();
        files
    });
    files.collect()
}

/// The file that defines the item at `path` in the module `from`; `None` if the item is in another crate.
fn defining_file<'c>(of: &'c Crate, from: &Name, path: &[String], depth: usize) -> Option<&'c str> {
    // A limit against circular re-exports.
    if depth > 20 {
        return None;
    }
    let mut module: Name = from.clone();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => module.clear(),
            "super" => drop(module.pop()),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    loop {
        let here: &Module = of.modules.get(&module)?;
        let Some((first, others)) = rest.split_first() else { return Some(&here.file) };
        let child: Name = module.iter().cloned().chain([first.clone()]).collect();
        if of.modules.contains_key(&child) {
            module = child;
            rest = others;
        } else if here.defines.contains(first) {
            return Some(&here.file);
        } else {
            let import = here.imports.get(first)?;
            // An import of another crate.
            if import.first() == Some(first) && import.len() == 1 {
                return None;
            }
            let full_path: Vec<String> = import.iter().chain(others).cloned().collect();
            return defining_file(of, &module, &full_path, depth + 1);
        }
    }
}
