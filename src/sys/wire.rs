//! Bytes and paths in JSON without loss: text where they are UTF-8, else a list of numbers.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as _, Serialize as _, Serializer};

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or a list of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

fn write<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => to.serialize_str(text),
        Err(_) => to.collect_seq(bytes),
    }
}

/// For `#[serde(with = …)]` on `Vec<u8>`.
pub mod bytes {
    use super::*;

    /// Writes them.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        write(bytes, to)
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where it is neither text nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        from.deserialize_any(Bytes)
    }
}

/// For `#[serde(with = …)]` on `Option<Vec<u8>>`.
pub mod maybe_bytes {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    struct Wire(#[serde(with = "super::bytes")] Vec<u8>);

    /// Writes them.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.clone().map(Wire).serialize(to)
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where it is neither null, nor text, nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Wire>::deserialize(from)?.map(|wire| wire.0))
    }
}

/// For `#[serde(with = …)]` on `Option<PathBuf>`.
pub mod maybe_path {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    struct Wire(#[serde(with = "super::path")] PathBuf);

    /// Writes it.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.clone().map(Wire).serialize(to)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Where it is neither null, nor text, nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Wire>::deserialize(from)?.map(|wire| wire.0))
    }
}

/// For `#[serde(with = …)]` on `PathBuf`.
pub mod path {
    use super::*;

    /// Writes it.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        write(path.as_os_str().as_bytes(), to)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Where it is neither text nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        from.deserialize_any(Bytes).map(|bytes| OsString::from_vec(bytes).into())
    }
}
