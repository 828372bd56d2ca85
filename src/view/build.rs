//! Names the schemas of the domain's types, for the derives of this crate's DTOs.

#[path = "aliases.rs"]
mod aliases;

fn main() {
    println!("cargo::rerun-if-changed=aliases.rs");
    aliases::write("crate::schema");
}
