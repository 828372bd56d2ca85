//! Rust files as trees of tokens: the paths that they name and the types that they define.
//!
//! Tokens, because comments and strings are none, and because the bodies of macros are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

/// Root of the workspace.
pub(super) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A path that a file names, or a type that it defines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Line, from 1.
    pub(super) line: usize,
    /// Segments as written, without `use` groups: `use a::{b, c}` are two names.
    pub(super) segments: Vec<String>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Line, from 1.
    pub(super) line: usize,
    pub(super) name: String,
    /// Identifiers in its body.
    pub(super) words: BTreeSet<String>,
}

/// A Rust file.
pub(super) struct Source {
    /// Its path in the workspace.
    pub(super) file: String,
    /// Its module, without the crate: empty for `lib.rs` and `main.rs`.
    pub(super) module: Vec<String>,
    tokens: TokenStream,
}

impl Source {
    fn new(file: String, module: Vec<String>, text: &str) -> Self {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        Self { file, module, tokens }
    }

    /// Returns the paths of at least two segments. Those that begin with `self` or `super` begin
    /// with `crate` instead.
    pub(super) fn paths(&self) -> Vec<Name> {
        let mut found = Vec::new();
        walk(self.tokens.clone(), &self.module, &mut found);
        found.retain(|name| name.segments.len() > 1);
        found
    }

    /// Returns the calls of methods as their receiver, which is a name, and the method.
    pub(super) fn calls(&self) -> Vec<Name> {
        let mut found = Vec::new();
        calls(self.tokens.clone(), &mut found);
        found
    }

    /// Returns the functions with a body, wherever they are.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        functions(self.tokens.clone(), &mut found);
        found
    }

    /// Returns the types, traits and aliases that others may see: `pub`, also with a restriction.
    pub(super) fn types(&self) -> Vec<Name> {
        let mut found = Vec::new();
        types(self.tokens.clone(), &mut found);
        found
    }

    /// Returns the fields that a derived `Debug` prints although their names are those of secrets
    /// and their types are texts, each after its type.
    pub(super) fn printed_secrets(&self) -> Vec<Name> {
        let mut found = Vec::new();
        printed_secrets(self.tokens.clone(), &mut found);
        found
    }

    /// Returns the public asynchronous functions that are not `#[boxed]` and are not generic.
    pub(super) fn unboxed(&self) -> Vec<Name> {
        let mut found = Vec::new();
        unboxed(self.tokens.clone(), &mut found);
        found
    }
}

/// Returns the Rust files in the source folder of a crate and below it.
pub(super) fn files(top: &Path) -> Vec<Source> {
    let (mut folders, mut files) = (vec![top.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let source = |path: &PathBuf| {
        let file = path.strip_prefix(ROOT).unwrap().display().to_string();
        Source::new(
            file,
            module(path.strip_prefix(top).unwrap()),
            &fs::read_to_string(path).unwrap(),
        )
    };
    files.iter().map(source).collect()
}

/// Returns the module of a file by its path in the crate's source folder.
fn module(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let mut module: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    module
}

fn walk(tokens: TokenStream, module: &[String], found: &mut Vec<Name>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        at += match (tree, &trees[at + 1..]) {
            (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), ..])
                if word == "mod" =>
            {
                let inner: Vec<_> = module.iter().cloned().chain([name.to_string()]).collect();
                walk(body.stream(), &inner, found);
                3
            }
            (TokenTree::Ident(_), _) => path(&trees[at..], &[], module, found),
            (TokenTree::Group(group), _) => {
                walk(group.stream(), module, found);
                1
            }
            _ => 1,
        };
    }
}

/// Reads the path that `trees` begin with; returns the number of trees that it takes.
fn path(trees: &[TokenTree], before: &[String], module: &[String], found: &mut Vec<Name>) -> usize {
    let (mut segments, mut at) = (before.to_vec(), 0);
    let mut line = trees.first().map_or(0, |tree| tree.span().start().line);
    loop {
        match trees.get(at) {
            Some(TokenTree::Ident(word)) => {
                line = word.span().start().line;
                push(&mut segments, word, module);
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ',');
                for part in inner.split(is_comma).filter(|part| !part.is_empty()) {
                    path(part, &segments, module, found);
                }
                return at + 1;
            }
            // `*`, or the `<` of a generic argument.
            _ => break,
        }
        if !is_colons(&trees[at..]) {
            break;
        }
        at += 2;
    }
    found.push(Name { line, segments });
    at.max(1)
}

/// Adds a segment; `self` and `super` in terms of the crate.
fn push(segments: &mut Vec<String>, word: &Ident, module: &[String]) {
    let of_crate = |module: &[String]| -> Vec<String> {
        ["crate".to_owned()].into_iter().chain(module.iter().cloned()).collect()
    };
    if word == "super" {
        if segments.is_empty() {
            *segments = of_crate(module);
        }
        segments.pop();
    } else if word == "self" {
        if segments.is_empty() {
            *segments = of_crate(module);
        }
    } else {
        segments.push(word.to_string());
    }
}

fn is_colons(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(first), TokenTree::Punct(second), ..] = trees else { return false };
    first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':'
}

fn calls(tokens: TokenStream, found: &mut Vec<Name>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            calls(group.stream(), found);
        }
        if let [
            TokenTree::Ident(receiver),
            TokenTree::Punct(dot),
            TokenTree::Ident(method),
            TokenTree::Group(arguments),
            ..,
        ] = &trees[at..]
            && dot.as_char() == '.'
            && arguments.delimiter() == Delimiter::Parenthesis
        {
            let segments = vec![receiver.to_string(), method.to_string()];
            found.push(Name { line: method.span().start().line, segments });
        }
    }
}

fn functions(tokens: TokenStream, found: &mut Vec<Function>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => functions(group.stream(), found),
            TokenTree::Ident(word) if word == "fn" => found.extend(function(&trees[at + 1..])),
            _ => {}
        }
    }
}

/// Reads the function whose name `trees` begin with; `None` for one without a body, and for the
/// type of a function.
fn function(trees: &[TokenTree]) -> Option<Function> {
    let [TokenTree::Ident(name), rest @ ..] = trees else { return None };
    let body = rest.iter().find_map(|tree| match tree {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Some(Some(body)),
        TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
        _ => None,
    })??;
    let word = |tree: TokenTree| match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    };
    let words = flat(body.stream()).into_iter().filter_map(word).collect();
    Some(Function { line: name.span().start().line, name: name.to_string(), words })
}

fn types(tokens: TokenStream, found: &mut Vec<Name>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => types(group.stream(), found),
            TokenTree::Ident(word) if word == "pub" => {
                let restricted = matches!(trees.get(at + 1), Some(TokenTree::Group(_)));
                let rest = &trees[at + 1 + usize::from(restricted)..];
                if let [TokenTree::Ident(kind), TokenTree::Ident(name), ..] = rest
                    && ["struct", "enum", "trait", "type", "union"]
                        .iter()
                        .any(|known| kind == known)
                {
                    let line = name.span().start().line;
                    found.push(Name { line, segments: vec![name.to_string()] });
                }
            }
            _ => {}
        }
    }
}

fn printed_secrets(tokens: TokenStream, found: &mut Vec<Name>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            printed_secrets(group.stream(), found);
        }
        let [TokenTree::Ident(word), TokenTree::Ident(name), rest @ ..] = &trees[at..] else {
            continue;
        };
        if word == "struct"
            && derives_debug(&trees[..at])
            && let Some(TokenTree::Group(fields)) = rest.iter().find(|tree| is_end(tree))
        {
            found.extend(secrets_of(fields.stream(), name));
        }
    }
}

/// Returns true for the end of a structure: its fields in braces, or a semicolon.
fn is_end(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    }
}

/// Returns true if the attributes at the end of these trees derive `Debug`.
fn derives_debug(before: &[TokenTree]) -> bool {
    let is_of_item = |tree: &&TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == '#',
        TokenTree::Ident(word) => word == "pub",
        TokenTree::Literal(_) => false,
    };
    let derives = |tree: &TokenTree| {
        let attribute = tree.to_string();
        attribute.starts_with("[derive") && attribute.contains("Debug")
    };
    before.iter().rev().take_while(is_of_item).any(derives)
}

fn secrets_of(fields: TokenStream, owner: &Ident) -> Vec<Name> {
    let is_secret = |name: &Ident| {
        let name = name.to_string();
        ["secret", "csrf", "nonce", "verifier"].contains(&&*name) || name.ends_with("_secret")
    };
    let is_comma =
        |tree: &TokenTree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ',');
    let is_text =
        |tree: &TokenTree| matches!(tree, TokenTree::Ident(it) if it == "String" || it == "str");
    let trees: Vec<_> = fields.into_iter().collect();
    let field = |field: &[TokenTree]| {
        let colon =
            |tree: &TokenTree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ':');
        let at = field.iter().position(colon)?;
        let TokenTree::Ident(name) = field.get(at.checked_sub(1)?)? else { return None };
        (is_secret(name) && field[at..].iter().any(is_text)).then(|| Name {
            line: name.span().start().line,
            segments: vec![owner.to_string(), name.to_string()],
        })
    };
    trees.split(is_comma).filter_map(field).collect()
}

fn unboxed(tokens: TokenStream, found: &mut Vec<Name>) {
    let trees: Vec<_> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            unboxed(group.stream(), found);
        }
        let words = ["pub", "async", "fn"];
        let is_word = |(tree, word): (&TokenTree, &&str)| matches!(tree, TokenTree::Ident(ident) if ident == word);
        let Some(TokenTree::Ident(name)) = trees.get(at + words.len()) else { continue };
        if !trees[at..].iter().zip(&words).all(is_word) {
            continue;
        }
        let is_boxed = at > 0 && trees[at - 1].to_string().starts_with("[boxed");
        let signature = &trees[at + words.len() + 1..];
        let body = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let signature = signature.iter().take_while(|tree| !body(tree));
        if !is_boxed && !is_generic(&signature.cloned().collect::<Vec<_>>()) {
            let line = name.span().start().line;
            found.push(Name { line, segments: vec![name.to_string()] });
        }
    }
}

/// Returns true for a signature with a parameter of types, or with an argument or a result of some
/// type.
fn is_generic(signature: &[TokenTree]) -> bool {
    let has_types = matches!(signature, [TokenTree::Punct(open), TokenTree::Ident(_), ..] if open.as_char() == '<');
    let is_impl = |tree: TokenTree| matches!(tree, TokenTree::Ident(word) if word == "impl");
    has_types || flat(signature.iter().cloned().collect()).into_iter().any(is_impl)
}

/// Returns the tokens of a stream and of the groups in it.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let inner = |tree: TokenTree| match tree {
        TokenTree::Group(group) => flat(group.stream()),
        tree => vec![tree],
    };
    tokens.into_iter().flat_map(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        let module = ["api", "keys"].map(str::to_owned).to_vec();
        Source::new("src/api/keys.rs".to_owned(), module, text)
    }

    #[test]
    fn paths_are_found_wherever_they_are() {
        let text = r#"
            // crate::no::comment
            use crate::{a::{self, b as c}, d::*, super_e};
            use super::f;
            const TEXT: &str = "crate::no::text";
            fn g(x: crate::h::X<crate::i::Y>) -> Vec<u8> {
                select! { () = crate::j::wait::<u8>() => {} }
                axum::serve(x)
            }
            mod tests {
                use super::super::k;
                use super::super::super::l;
                fn m() { self::n::o() }
            }
        "#;
        let found = source(text).paths();
        let paths: Vec<_> =
            found.iter().map(|name| (name.line, name.segments.join("::"))).collect();
        let expected = [
            (3, "crate::a"),
            (3, "crate::a::b"),
            (3, "crate::d"),
            (3, "crate::super_e"),
            (4, "crate::api::f"),
            (6, "crate::h::X"),
            (6, "crate::i::Y"),
            (7, "crate::j::wait"),
            (8, "axum::serve"),
            (11, "crate::api::k"),
            (12, "crate::l"),
            (13, "crate::api::keys::tests::n::o"),
        ];
        assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn calls_are_found_with_their_receivers() {
        let found =
            source("fn f() { g(store.users()\n.list(x), self.store.close()); a::b(); c.d; }")
                .calls();
        let calls: Vec<_> = found.iter().map(|name| name.segments.join(".")).collect();
        assert_eq!(calls, ["store.users", "store.close"]);
    }

    #[test]
    fn functions_are_those_with_a_body() {
        let text = "
            trait T { fn a(&self); fn b(x: fn(u8) -> u8) -> u8 { x(1) } }
            impl S { async fn c(&self) -> [u8; 2] { if d.begin().await { e } } }
        ";
        let found = source(text).functions();
        let names: Vec<_> =
            found.iter().map(|one| (one.line, one.name.as_str(), one.words.len())).collect();
        assert_eq!(names, [(2, "b", 1), (3, "c", 5)]);
        assert!(found[1].words.contains("begin"));
    }

    #[test]
    fn futures_are_boxed_but_for_generic_functions() {
        let text = "
            pub async fn a(x: u8) -> u8 { x }
            #[boxed] pub async fn b() {}
            impl S {
                /// Text.
                #[boxed]
                pub async fn c(&self) {}
                pub async fn d<'s>(&'s self, x: X<'s>) -> u8 { x }
                pub async fn i(&self) -> Result<impl Future, ()> {}
                #[boxed(?Send)]
                pub async fn j(&self) {}
                pub async fn e<T>(&self, x: T) {}
                pub async fn f(&self, (x, y): (u8, impl Fn())) {}
                pub(crate) async fn g(&self) {}
                async fn h(&self) {}
            }
        ";
        let names: Vec<_> =
            source(text).unboxed().iter().map(|name| name.segments.concat()).collect();
        assert_eq!(names, ["a", "d"]);
    }

    #[test]
    fn secrets_are_printed_by_a_derived_debug() {
        let text = "
            #[derive(Clone, Debug)]
            /// Text.
            pub struct A<'a> { pub id: u8, /** Text. */ pub(super) secret: Option<&'a str> }
            #[derive(Debug, FromRow)] struct B { csrf: SecretString, old_secret: String }
            #[derive(Clone)] struct C { secret: String }
            #[derive(Debug)] struct D;
            struct E { nonce: String }
        ";
        let names: Vec<_> =
            source(text).printed_secrets().iter().map(|name| name.segments.join(".")).collect();
        assert_eq!(names, ["A.secret", "B.old_secret"]);
    }

    #[test]
    fn types_are_those_that_others_may_see() {
        let text = "
            pub struct A; pub(crate) enum B {} pub(in crate::x) type C = A; struct D;
            mod e { pub trait F { type G; } pub fn h() {} }
            id! { pub struct I; }
        ";
        let found = source(text).types();
        let names: Vec<_> = found.iter().map(|name| name.segments.concat()).collect();
        assert_eq!(names, ["A", "B", "C", "F", "I"]);
    }
}
