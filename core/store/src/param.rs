//! Parameters of statements.

use std::borrow::Cow;

/// Parameter of a statement.
#[derive(Debug)]
pub(crate) enum Param<'q> {
    Int(Option<i64>),
    Flag(Option<bool>),
    Text(Option<Cow<'q, str>>),
    Bytes(Option<Cow<'q, [u8]>>),
}

/// Implements the conversion of a type, of a reference to it and of both as options.
macro_rules! params {
    ($($variant:ident: $type:ty;)+) => {
        $(
            impl From<$type> for Param<'_> {
                fn from(value: $type) -> Self {
                    Self::$variant(Some(value.into()))
                }
            }
            impl From<&$type> for Param<'_> {
                fn from(value: &$type) -> Self {
                    Self::$variant(Some((*value).into()))
                }
            }
            impl From<Option<$type>> for Param<'_> {
                fn from(value: Option<$type>) -> Self {
                    Self::$variant(value.map(Into::into))
                }
            }
        )+
    };
}

params! {
    Int: i64;
    Flag: bool;
}

impl<'q> From<&'q str> for Param<'q> {
    fn from(text: &'q str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'q> From<Option<&'q str>> for Param<'q> {
    fn from(text: Option<&'q str>) -> Self {
        Self::Text(text.map(Into::into))
    }
}

impl From<String> for Param<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'q> From<&'q String> for Param<'q> {
    fn from(text: &'q String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl From<Option<String>> for Param<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(Into::into))
    }
}

impl<'q> From<&'q Option<String>> for Param<'q> {
    fn from(text: &'q Option<String>) -> Self {
        Self::Text(text.as_deref().map(Into::into))
    }
}

impl<'q> From<&'q [u8]> for Param<'q> {
    fn from(bytes: &'q [u8]) -> Self {
        Self::Bytes(Some(bytes.into()))
    }
}

impl<'q> From<Option<&'q [u8]>> for Param<'q> {
    fn from(bytes: Option<&'q [u8]>) -> Self {
        Self::Bytes(bytes.map(Into::into))
    }
}
