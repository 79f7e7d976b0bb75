//! How the row of a table is written, whatever format it comes from: `| a | b |`.

/// Appends a row. A bar in a cell is escaped, white space collapsed: a row is one line.
pub fn push_row<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>) {
    out.push('|');
    for cell in cells {
        out.push(' ');
        for (at, word) in cell.split_whitespace().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            push_escaped(out, word);
        }
        out.push_str(" |");
    }
}

/// Appends the rule that stands between a header and its rows.
pub fn push_rule(out: &mut String, columns: usize) {
    out.push('|');
    for _ in 0..columns {
        out.push_str(" --- |");
    }
}

fn push_escaped(out: &mut String, word: &str) {
    let mut before = ' ';
    for letter in word.chars() {
        if letter == '|' && before != '\\' {
            out.push('\\');
        }
        out.push(letter);
        before = letter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line() {
        let mut out = String::new();
        push_row(&mut out, ["a  b", "", "c|d\\|e\nf"]);
        out.push('\n');
        push_rule(&mut out, 2);
        assert_eq!(out, "| a b |  | c\\|d\\|e f |\n| --- | --- |");
    }
}
