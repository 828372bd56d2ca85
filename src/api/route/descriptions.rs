//! Adjusts descriptions in the document for readers and generators.

use std::fmt::Write as _;

use chatkeep_core::role::Scope;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

/// Moves the description of a nullable property from the schema beside `null` to the property
/// itself: the macros write it where no page or generator shows it.
pub(in crate::api) fn lift(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => object.properties.values_mut().for_each(lift),
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(lift),
        RefOr::T(Schema::OneOf(one)) if one.description.is_none() => {
            let inner = one.items.iter_mut().find_map(|item| match item {
                RefOr::Ref(to) if !to.description.is_empty() => Some(&mut to.description),
                _ => None,
            });
            one.description = inner.map(std::mem::take);
        }
        _ => {}
    }
}

/// Adds the meaning of each scope to the schema of scopes.
pub(super) fn of_scopes(name: &str, schema: &mut RefOr<Schema>) {
    if name == <Scope as ToSchema>::name()
        && let RefOr::T(Schema::Object(object)) = schema
    {
        object.description = Some(format!("Operation that a key permits:\n\n{}", scopes()));
    }
}

/// Returns a list of all scopes and what each of them allows, in Markdown.
pub(super) fn scopes() -> String {
    Scope::ALL.iter().fold(String::new(), |mut list, scope| {
        let _ = writeln!(list, "- `{}`: {}", scope.name(), scope.meaning());
        list
    })
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::Ref;
    use utoipa::openapi::schema::RefBuilder;
    use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};

    use super::*;

    #[test]
    fn a_description_beside_null_becomes_the_property_s() {
        let form =
            RefBuilder::new().ref_location_from_schema_name("Time").description(Some("When."));
        let null = ObjectBuilder::new().schema_type(Type::Null);
        let one = OneOfBuilder::new().item(form.build()).item(null);
        let mut schema = ObjectBuilder::new().property("at", one).into();
        lift(&mut schema);
        let json = serde_json::to_value(&schema).unwrap();
        assert_eq!(json["properties"]["at"]["description"], "When.");
        let plain = serde_json::to_value(Ref::from_schema_name("Time")).unwrap();
        assert_eq!(json["properties"]["at"]["oneOf"][0], plain);
    }
}
