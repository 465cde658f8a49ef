//! Characters that stand in a text for what it doesn't say. None of them is one that a command could hold.

/// Stands for text that is not known, wherever text may stand.
pub(crate) const UNK: char = '\u{10FFFD}';
/// Stands in front of the name of a file whose content is no text, in a stream.
pub(crate) const BYTES: char = '\u{10FFFB}';
/// Stands in front of the names of an archive's members, one a line, in a stream.
pub(crate) const MEMBERS: char = '\u{10FFFA}';
/// Stands behind the name of a member, in front of the file that it is a copy of.
pub(crate) const SOURCE: char = '\u{10FFF9}';
