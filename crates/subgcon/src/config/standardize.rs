//! Which columns of the features are brought to a common scale?

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which columns are brought to a common scale: `true`, `false` or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standardize {
    /// None.
    No,
    /// All: they are divided by their standard deviation, and their mean is subtracted
    /// where features are dense (sparse ones stay sparse, as scikit-learn has it).
    All,
    /// Where features are a table of measures, each column in a unit of its own, or where measures
    /// would drown all the rest ([`crate::transform`] says when): measures to mean 0 and
    /// deviation 1, others to entries of about 1. None where there are only words, or the like.
    Auto,
}

const AUTO: &str = "auto";

impl Serialize for Standardize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Standardize::No => serializer.serialize_bool(false),
            Standardize::All => serializer.serialize_bool(true),
            Standardize::Auto => serializer.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for Standardize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Standardize, D::Error> {
        deserializer.deserialize_any(Name)
    }
}

struct Name;

impl Visitor<'_> for Name {
    type Value = Standardize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true, false or {AUTO:?} for standardize")
    }

    fn visit_bool<E: Error>(self, all: bool) -> Result<Standardize, E> {
        Ok(if all { Standardize::All } else { Standardize::No })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Standardize, E> {
        match name {
            AUTO => Ok(Standardize::Auto),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
        }
    }
}
