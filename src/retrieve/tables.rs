//! A row of a table as a sentence: each cell with the name of its column.
//!
//! Useful for: showing one row by itself. Not for: reading tables as data.

/// `Plan: Pro · Price: $20`. `None` if header and row do not fit together, or the header is no header.
pub(super) fn readable(header: &str, row: &str) -> Option<String> {
    let header = header.lines().find(|line| !line.trim().is_empty())?;
    let (names, cells) = if header.trim_start().starts_with('|') {
        (drawn(header), drawn(row))
    } else {
        let delimiter = *[b',', b';', b'\t', b'|'].iter().max_by_key(|d| header.bytes().filter(|b| b == *d).count())?;
        (separated(header, delimiter)?, separated(row, delimiter)?)
    };
    if names.len() != cells.len() || names.len() < 2 {
        return None;
    }
    let pairs = names.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
    let pairs = pairs.map(|(name, cell)| if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join(" · "))
}

/// Cells between `|`; `\|` is a sign in a cell.
fn drawn(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut chars = row.chars().peekable();
    while let Some(letter) = chars.next() {
        let last = cells.len() - 1;
        match letter {
            '\\' if chars.peek() == Some(&'|') => {
                cells[last].push('|');
                chars.next();
            }
            '|' => cells.push(String::new()),
            letter => cells[last].push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().trim_matches(['*', '`']).to_owned()).collect()
}

fn separated(row: &str, delimiter: u8) -> Option<Vec<String>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(row.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|cell| cell.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_readable() {
        for (header, row, want) in [
            ("| Plan | Price |\n|---|---|", "| Pro | $20 |", Some("Plan: Pro · Price: $20")),
            ("| | Price |", "| **Pro** | a\\|b |", Some("Pro · Price: a|b")),
            ("plan,price,note", "Pro,\"1,000\",", Some("plan: Pro · price: 1,000")),
            ("plan;price", "Pro;20", Some("plan: Pro · price: 20")),
            ("| Plan | Price |", "| Pro |", None),
            ("plan", "Pro", None),
            ("", "Pro", None),
        ] {
            assert_eq!(readable(header, row).as_deref(), want, "{row}");
        }
    }
}
