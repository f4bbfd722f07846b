//! The part of a source that is shipped: without its tests.

use quote::ToTokens;
use syn::{Attribute, File, Item};

/// The items of a source without those that are only compiled for tests.
pub(crate) fn items(path: &str, text: &str) -> Vec<Item> {
    let File { items, .. } = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    without_tests(items)
}

/// The tokens of a source without tests and imports, separated by blanks.
pub(crate) fn tokens(path: &str, text: &str) -> String {
    let items = items(path, text).into_iter().filter(|item| !matches!(item, Item::Use(_)));
    items.map(|item| item.to_token_stream().to_string() + "\n").collect()
}

fn without_tests(items: Vec<Item>) -> Vec<Item> {
    let shipped = items.into_iter().filter(|item| !is_for_tests(attributes(item)));
    let shipped = shipped.map(|item| match item {
        Item::Mod(mut module) => {
            module.content = module.content.map(|(brace, items)| (brace, without_tests(items)));
            Item::Mod(module)
        }
        item => item,
    });
    shipped.collect()
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[test]
fn tests_and_imports_are_left_out() {
    let source = "#[cfg(test)] mod tests; use a::b; fn shipped() { a.b() } mod c { #[cfg(test)] fn d() {} fn e() {} }";
    let tokens = tokens("", source);
    assert!(tokens.contains("shipped") && tokens.contains("fn e"), "{tokens}");
    assert!(!tokens.contains("tests") && !tokens.contains("use") && !tokens.contains("fn d"), "{tokens}");
}
