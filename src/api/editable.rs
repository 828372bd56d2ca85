//! Bodies that may hold what an answer holds beside them: fields that the service sets are taken
//! and ignored, so that what a GET answers can be sent back as it is.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A form that is part of what an answer shows.
pub(super) trait Shown {
    /// The fields that the answer has beside those of the form.
    const READ_ONLY: &'static [&'static str];
}

/// A `T`, whose read-only fields are passed over.
#[derive(Debug)]
pub(super) struct Editable<T>(pub(super) T);

impl<'de, T: Deserialize<'de> + Shown> Deserialize<'de> for Editable<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_map(Object(PhantomData))
    }
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Shown> Visitor<'de> for Object<T> {
    type Value = Editable<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Editable<T>, A::Error> {
        let fields = Fields { map, read_only: T::READ_ONLY };
        T::deserialize(MapAccessDeserializer::new(fields)).map(Editable)
    }
}

/// The fields of an object that are not read-only.
struct Fields<A> {
    map: A,
    read_only: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<Cow<'de, str>>()? {
            if self.read_only.contains(&&*name) {
                self.map.next_value::<IgnoredAny>()?;
                continue;
            }
            let name: StrDeserializer<'_, A::Error> = (*name).into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

impl<T: PartialSchema + Shown> PartialSchema for Editable<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            for name in T::READ_ONLY {
                let ignored = ObjectBuilder::new()
                    .schema_type(SchemaType::AnyValue)
                    .read_only(true)
                    .description(Some("Read-only: accepted and ignored."));
                object.properties.insert((*name).to_owned(), ignored.into());
            }
        }
        schema
    }
}

impl<T: ToSchema + Shown> ToSchema for Editable<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chatkeep_services::decode;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Text {
        text: String,
    }

    impl Shown for Text {
        const READ_ONLY: &'static [&'static str] = &["id", "at"];
    }

    fn read(json: &str) -> Result<String, String> {
        let read: Result<Editable<Text>, _> = decode::body(json.as_bytes());
        read.map(|read| read.0.text).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn read_only_fields_are_passed_over_and_no_others() {
        assert_eq!(read(r#"{"id":{"a":[1]},"text":"x","at":null,"\u0069d":2}"#).unwrap(), "x");
        assert_eq!(read(r#"{"te\u0078t":"x"}"#).unwrap(), "x");
        assert!(read(r#"{"id":1}"#).unwrap_err().contains("text is missing"));
        assert!(read(r#"{"text":"x","ids":1}"#).unwrap_err().contains("ids is unknown"));
        let wrong = read(r#"{"id":1,"text":2}"#).unwrap_err();
        assert!(wrong.contains("text must be a string"), "{wrong}");
    }
}
