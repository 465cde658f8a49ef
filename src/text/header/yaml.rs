//! The full way: YAML 1.2 by the `serde_yaml` API, into our own values.
//!
//! Our own visitor keeps order, lets the last of two equal keys win, counts what aliases expand to,
//! and in a second pass asks for scalars as text, which the reader hands over as it was written.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::Value;

use super::{Field, MAX_DEPTH, MAX_NODES};
use crate::text::yaml::refusal;

/// What a YAML text is.
pub(super) enum Read {
    /// Nothing, or `null`.
    Empty,
    /// A list or a scalar.
    NonMapping,
    /// `key: value`, each key once; lines are not known yet. `twice` names the keys of which only
    /// the last one was kept.
    Fields { fields: Vec<Field>, twice: Vec<String> },
}

/// Why it could not be read.
pub(super) enum Failure {
    /// It goes beyond a bound.
    Bound(&'static str),
    /// It is not YAML.
    Syntax {
        /// The line in the text, from 1.
        line: usize,
        /// What the reader says.
        text: String,
    },
}

/// What is counted while values are made.
#[derive(Default)]
struct Count {
    nodes: Cell<usize>,
    bound: Cell<Option<&'static str>>,
    twice: RefCell<Vec<String>>,
}

impl Count {
    fn node<E: de::Error>(&self, depth: usize) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + 1);
        let bound = if depth > MAX_DEPTH {
            "it is nested too deep"
        } else if self.nodes.get() > MAX_NODES {
            "it holds too many values (aliases expanded)"
        } else {
            return Ok(());
        };
        self.bound.set(Some(bound));
        Err(E::custom(bound))
    }
}

/// Reads a YAML text.
pub(super) fn read(text: &str) -> Result<Read, Failure> {
    let count = Count::default();
    let top = Top(&count).deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        let message = error.to_string();
        // The reader has bounds of its own, with no other way to tell them from bad syntax.
        match count.bound.get() {
            Some(bound) => Failure::Bound(bound),
            None if message.starts_with("repetition limit") => Failure::Bound("its aliases expand to too much"),
            None if message.starts_with("recursion limit") => Failure::Bound("it is nested too deep"),
            None => {
                let (line, why) = refusal(text, &error);
                Failure::Syntax { line: line.unwrap_or(1), text: why }
            }
        }
    })?;
    let Some(pairs) = top else { return Ok(Read::NonMapping) };
    let Some(pairs) = pairs else { return Ok(Read::Empty) };
    let wants_text = |value: &Value| matches!(value, Value::Null | Value::Bool(_) | Value::Number(_));
    let texts = if pairs.iter().any(|(_, value)| wants_text(value)) {
        let which: Vec<bool> = pairs.iter().map(|(_, value)| wants_text(value)).collect();
        Texts(&which).deserialize(serde_yaml::Deserializer::from_str(text)).unwrap_or_default()
    } else {
        Vec::new()
    };
    let mut fields: Vec<Field> = Vec::with_capacity(pairs.len());
    let mut at = std::collections::HashMap::new();
    let mut twice = count.twice.into_inner();
    let mut texts = texts.into_iter();
    for (key, value) in pairs {
        let mut field = Field::new(key, value, 0);
        field.written = texts.next().flatten().or_else(|| wants_text(&field.value).then(|| field.value.to_string()));
        match at.get(&field.key).and_then(|at: &usize| fields.get_mut(*at)) {
            Some(old) => {
                if !twice.contains(&field.key) {
                    twice.push(field.key.clone());
                }
                *old = field;
            }
            None => {
                at.insert(field.key.clone(), fields.len());
                fields.push(field);
            }
        }
    }
    Ok(Read::Fields { fields, twice })
}

/// The pairs of the top mapping; `Some(None)` for nothing, `None` for what is no mapping.
struct Top<'a>(&'a Count);

type Pairs = Vec<(String, Value)>;

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = Option<Option<Pairs>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = Option<Option<Pairs>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("front matter")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(None))
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Some(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element_seed(Tree { count: self.0, depth: 1 })?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            pairs.push((key, map.next_value_seed(Tree { count: self.0, depth: 1 })?));
        }
        Ok(Some(Some(pairs)))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Self::Value, A::Error> {
        let (_, variant) = data.variant::<IgnoredAny>()?;
        variant.newtype_variant_seed(self)
    }
}

/// A key, as it was written.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        de::Deserialize::deserialize(deserializer)
    }
}

/// One value below the top.
#[derive(Clone, Copy)]
struct Tree<'a> {
    count: &'a Count,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count.node::<D::Error>(self.depth)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    // JSON has no such numbers; the text is what there is.
    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let text = if value.is_nan() {
            ".nan"
        } else if value > 0.0 {
            ".inf"
        } else {
            "-.inf"
        };
        Ok(serde_json::Number::from_f64(value).map_or_else(|| Value::from(text), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Self { depth: self.depth + 1, ..self })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = serde_json::Map::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let value = map.next_value_seed(Self { depth: self.depth + 1, ..self })?;
            if pairs.insert(key.clone(), value).is_some() && !self.count.twice.borrow().contains(&key) {
                self.count.twice.borrow_mut().push(key);
            }
        }
        Ok(Value::Object(pairs))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (_, variant) = data.variant::<IgnoredAny>()?;
        variant.newtype_variant_seed(self)
    }
}

/// The scalars of the top mapping as they were written, by position.
struct Texts<'a>(&'a [bool]);

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = Vec<Option<String>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = Vec<Option<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::with_capacity(self.0.len());
        for wanted in self.0 {
            if map.next_key::<IgnoredAny>()?.is_none() {
                break;
            }
            texts.push(if *wanted {
                Some(map.next_value_seed(Key)?)
            } else {
                map.next_value::<IgnoredAny>()?;
                None
            });
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(texts)
    }
}
