//! A crate's modules: the file of each, its items, its imports, and the paths that it uses.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, ItemMod, ItemUse, Macro, UseTree, Visibility, visit::Visit};

use super::Files;
use crate::shipped::items;

/// A module, by its path from the crate's root.
pub(super) type Name = Vec<String>;

/// A module.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    /// The items that it defines.
    pub(super) defines: BTreeSet<String>,
    /// The names that it imports, with their paths.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// The paths that it uses, except re-exports.
    pub(super) uses: BTreeSet<Vec<String>>,
}

/// A crate.
pub(super) struct Crate {
    pub(super) modules: BTreeMap<Name, Module>,
}

impl Crate {
    /// Reads the modules below the root file, except test modules.
    pub(super) fn read(root: &str, files: &Files) -> Self {
        let mut found = Self { modules: BTreeMap::new() };
        found.read_file(root, Vec::new(), files);
        found
    }

    fn read_file(&mut self, file: &str, name: Name, files: &Files) {
        self.read_items(file, name, &items(file, &files[file]), files);
    }

    fn read_items(&mut self, file: &str, name: Name, items: &[Item], files: &Files) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            match item {
                Item::Mod(child) => {
                    module.defines.insert(child.ident.to_string());
                    self.read_child(file, &name, child, files);
                }
                Item::Use(import) => {
                    let is_private = matches!(import.vis, Visibility::Inherited);
                    module.import(&import.tree, &mut Vec::new(), is_private);
                }
                item => {
                    module.defines.extend(ident(item));
                    Paths(&mut module.uses).visit_item(item);
                }
            }
        }
        self.modules.insert(name, module);
    }

    fn read_child(&mut self, file: &str, parent: &Name, child: &ItemMod, files: &Files) {
        let ident = child.ident.to_string();
        let name: Name = parent.iter().cloned().chain([ident.clone()]).collect();
        if let Some((_, items)) = &child.content {
            return self.read_items(file, name, items, files);
        }
        let (folder, own) = file.rsplit_once('/').expect("a folder");
        let below = match own {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            own => format!("{folder}/{}", own.trim_end_matches(".rs")),
        };
        let candidates = [format!("{below}/{ident}.rs"), format!("{below}/{ident}/mod.rs")];
        let found = candidates.iter().find(|path| files.contains_key(*path));
        self.read_file(found.unwrap_or_else(|| panic!("{file}: no file of module {ident}")), name, files);
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, prefix: &mut Vec<String>, is_private: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, is_private);
                prefix.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix, is_private)),
            UseTree::Name(name) => self.name(&name.ident.to_string(), &name.ident.to_string(), prefix, is_private),
            UseTree::Rename(name) => self.name(&name.ident.to_string(), &name.rename.to_string(), prefix, is_private),
            UseTree::Glob(_) => drop(self.uses.insert(prefix.clone())),
        }
    }

    fn name(&mut self, ident: &str, local: &str, prefix: &[String], is_private: bool) {
        let mut path = prefix.to_vec();
        path.extend((ident != "self").then(|| ident.to_owned()));
        let local = if local == "self" { path.last().cloned().unwrap_or_default() } else { local.to_owned() };
        if is_private {
            self.uses.insert(path.clone());
        }
        self.imports.insert(local, path);
    }
}

/// Collects the paths of expressions, types and patterns.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    /// An import within a function.
    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        let mut module = Module::default();
        module.import(&import.tree, &mut Vec::new(), true);
        self.0.append(&mut module.uses);
    }

    /// The paths in a macro's arguments, which are only tokens: `a :: b`.
    fn visit_macro(&mut self, call: &'ast Macro) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == ' ';
        for words in call.tokens.to_string().split(|c| !is_part(c)) {
            let path: Vec<String> = words.split("::").map(|word| word.trim().to_owned()).collect();
            let is_name = |word: &String| !word.is_empty() && !word.contains([' ', ':']);
            if path.len() > 1 && path.iter().all(is_name) {
                self.0.insert(path);
            }
        }
    }

    /// The path in `pub(super)` is not a use.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn ident(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}
