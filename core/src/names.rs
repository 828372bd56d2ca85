//! Names of enums: one list for each gives its values the names that they have in the database, in
//! every interface, in metrics and in logs.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error, VariantAccess as _, Visitor};

/// Names the variants of an enum, none of which has fields: it gets `ALL` in the order of the list,
/// `name` and `parse` with the visibility given, `Serialize` and `Deserialize`.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub enum Answer {
///     Yes,
///     NotYet,
/// }
///
/// chatkeep_core::named! {
///     pub Answer {
///         Yes = "yes",
///         NotYet = "not_yet",
///     }
/// }
///
/// assert_eq!(Answer::parse(Answer::NotYet.name()), Some(Answer::NotYet));
/// ```
#[macro_export]
macro_rules! named {
    ($visible:vis $type:ident { $($variant:ident = $name:literal,)+ }) => {
        impl $type {
            /// All values, in order.
            $visible const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns its name in the database and in every interface.
            $visible const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the value of that name.
            $visible fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_unit_variant(stringify!($type), *self as u32, self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                const NAMES: &[&str] = &[$($name),+];
                let place = $crate::names::read_place(deserializer, stringify!($type), NAMES)?;
                Ok(Self::ALL[place])
            }
        }
    };
}

/// Reads a variant of the enum `of` as derived code does; returns the place of its name in `names`.
///
/// # Errors
/// Returns an error for anything but one of the names.
pub fn read_place<'de, D: Deserializer<'de>>(
    deserializer: D,
    of: &'static str,
    names: &'static [&'static str],
) -> Result<usize, D::Error> {
    deserializer.deserialize_enum(of, names, Variant { of, names })
}

/// Reader of a variant without fields.
struct Variant {
    of: &'static str,
    names: &'static [&'static str],
}

/// Reader of a variant's name.
struct Name(&'static [&'static str]);

impl<'de> Visitor<'de> for Variant {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enum {}", self.of)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<usize, A::Error> {
        let (place, variant) = data.variant_seed(Name(self.names))?;
        variant.unit_variant()?;
        Ok(place)
    }
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let place = self.0.iter().position(|known| *known == name);
        place.ok_or_else(|| E::unknown_variant(name, self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Answer {
        Yes,
        NotYet,
    }

    named! {
        Answer {
            Yes = "yes",
            NotYet = "not_yet",
        }
    }

    /// The same with the implementations that serde derives.
    mod derived {
        use super::*;

        #[derive(Debug, Deserialize, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum Answer {
            Yes,
            NotYet,
        }
    }

    fn refusal<T: DeserializeOwned + std::fmt::Debug>(value: &Value) -> String {
        serde_json::from_str::<T>(&value.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn values_and_names_stand_for_each_other() {
        assert_eq!(Answer::ALL.map(Answer::name), ["yes", "not_yet"]);
        for answer in Answer::ALL {
            assert_eq!(Answer::parse(answer.name()), Some(answer));
            assert_eq!(serde_json::to_value(answer).unwrap(), answer.name());
            assert_eq!(serde_json::from_value::<Answer>(json!(answer.name())).unwrap(), answer);
        }
        assert_eq!(Answer::parse("Yes"), None);
    }

    #[test]
    fn they_are_serialized_as_derived_code_does() {
        let both = json!([derived::Answer::Yes, derived::Answer::NotYet]);
        assert_eq!(json!(Answer::ALL), both);
        for value in [json!("Yes"), json!(""), json!(1), json!(null), json!(["yes"])] {
            assert_eq!(refusal::<Answer>(&value), refusal::<derived::Answer>(&value), "{value}");
        }
    }
}
