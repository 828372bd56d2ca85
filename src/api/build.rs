//! Names the schemas of the domain's types, for the derives of this crate's DTOs.

#[path = "../view/aliases.rs"]
mod aliases;

fn main() {
    println!("cargo::rerun-if-changed=../view/aliases.rs");
    aliases::write("chatkeep_view::schema");
}
