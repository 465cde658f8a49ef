//! How answers look: aligned tables, sorted by whoever makes them.

use std::borrow::Cow;
use std::path::Path;

/// A path as text for `--json`; bytes that are not UTF-8 become the replacement character.
#[must_use]
pub fn text_of(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// Rows as a table for people: columns are two spaces apart, the last one is not padded, nothing
/// wraps and nothing is cut.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let pad = widths.get(column).copied().unwrap_or(0).saturating_sub(cell.chars().count()) + 2;
                line.extend(std::iter::repeat_n(' ', pad));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_align() {
        let rows = [vec!["a".to_owned(), "bb".to_owned(), "c".to_owned()], vec!["aaa".to_owned(), "b".to_owned(), String::new()]];
        assert_eq!(super::table(&rows), "a    bb  c\naaa  b\n");
    }
}
