//! Adjusts descriptions in the document for readers and generators.

use utoipa::openapi::{RefOr, Schema};

/// Moves the description of a nullable property from the schema beside `null` to the property
/// itself: the macros write it where no page or generator shows it.
pub(crate) fn lift(schema: &mut RefOr<Schema>) {
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
