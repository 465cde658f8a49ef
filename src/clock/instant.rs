//! Instants in files: RFC 3339 in UTC.

use jiff::Timestamp;
use serde::{Deserialize as _, Deserializer, Serializer, de};

pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// The same where there may be none.
pub(super) mod maybe {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::ref_option, reason = "the shape that serde asks for")]
    pub(in crate::clock) fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.collect_str(at),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::clock) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Option::<String>::deserialize(deserializer)?.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}
