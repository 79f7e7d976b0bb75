//! What a line of a manual page says: requests, macros and escapes.

/// Longest name of a sign.
const MAX_NAME_BYTES: usize = 50;

/// A line, as a reader sees it.
pub enum Line {
    /// Name, section, date.
    Title(Vec<String>),
    Heading(u8, String),
    /// Begins what is kept as it stands, up to a line that begins so.
    Literal(&'static [&'static str]),
    /// Defines a macro, up to `..`.
    Definition,
    /// Says nothing, and ends a paragraph.
    Break,
    Text(String),
}

/// Reads a line; `name` is what the page is about.
pub fn line(source: &str, name: &str) -> Line {
    let Some(control) = source.strip_prefix(['.', '\'']).filter(|rest| !rest.starts_with(['.', '\''])) else {
        return if source.trim().is_empty() { Line::Break } else { Line::Text(escapes(source)) };
    };
    let control = control.trim_start();
    let (word, rest) = control.split_once([' ', '\t']).unwrap_or((control, ""));
    let words = || arguments(rest);
    match word.trim_end() {
        "TH" | "Dt" => Line::Title(words()),
        "SH" | "Sh" => Line::Heading(1, words().join(" ")),
        "SS" | "Ss" => Line::Heading(2, words().join(" ")),
        "nf" | "EX" => Line::Literal(&[".fi", ".EE", ".SH", ".SS"]),
        "Bd" if rest.contains("literal") || rest.contains("unfilled") => Line::Literal(&[".Ed", ".Sh", ".Ss"]),
        "TS" => Line::Literal(&[".TE", ".SH"]),
        "EQ" => Line::Literal(&[".EN", ".SH"]),
        "de" | "de1" | "am" | "ig" => Line::Definition,
        "B" | "I" | "R" | "SM" | "SB" | "IP" | "MT" | "UR" | "TQ" => match words() {
            words if words.is_empty() => Line::Text(String::new()),
            // The second word of an item is its width.
            words if word == "IP" => Line::Text(words.into_iter().next().unwrap_or_default()),
            words => Line::Text(words.join(" ")),
        },
        "BR" | "BI" | "IB" | "IR" | "RB" | "RI" => Line::Text(words().concat()),
        "" | "PP" | "P" | "LP" | "HP" | "TP" | "RS" | "RE" | "sp" | "br" | "Pp" | "fi" | "EE" | "Bd" | "Ed" | "Bl"
        | "El" | "Bk" | "Ek" | "TE" | "EN" => Line::Break,
        word if word.starts_with("\\\"") => Line::Text(String::new()),
        "Dd" | "Os" | "ad" | "na" | "hy" | "nh" | "ne" | "ta" | "ft" | "in" | "ti" | "so" | "if" | "ie" | "el"
        | "ds" | "nr" | "rm" | "ll" | "pl" | "tr" | "ps" | "vs" | "UE" | "ME" | "PD" | "AT" | "UC" | "DT" | "rr"
        | "als" | "cs" | "mso" | "lf" | "fam" | "\\}" | "nop" | "rn" | "it" | "ul" | "bp" | "ns" | "rs" | "in+"
        | "Sm" => Line::Text(String::new()),
        _ => Line::Text(mdoc(word, &words(), name)),
    }
}

/// The words of a line of mdoc, whose macros may stand inside it.
fn mdoc(first: &str, words: &[String], name: &str) -> String {
    let mut out = String::new();
    let mut glue = true;
    let mut close = "";
    let mut is_reference = false;
    let say = |out: &mut String, glue: &mut bool, text: &str| {
        let is_mark = text.len() == 1 && text.starts_with(['.', ',', ';', ':', ')', ']', '?', '!']);
        if !*glue && !is_mark && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(text);
        *glue = text == "(" || text == "[";
    };
    for (at, word) in [first].into_iter().chain(words.iter().map(String::as_str)).enumerate() {
        match word {
            "Fl" => {
                say(&mut out, &mut glue, "-");
                glue = true;
            }
            "Nm" if at == words.len() => say(&mut out, &mut glue, name),
            "Nd" if at == 0 => say(&mut out, &mut glue, "—"),
            "Op" | "Oo" => {
                say(&mut out, &mut glue, "[");
                close = if word == "Op" { "]" } else { "" };
            }
            "Oc" => say(&mut out, &mut glue, "]"),
            "Xr" => is_reference = true,
            "Ns" | "Ap" => glue = true,
            "It" | "Nm" | "Ar" | "Pa" | "Cm" | "Ev" | "Em" | "Sy" | "Li" | "Dv" | "Fn" | "Fa" | "Ft" | "Vt" | "Va"
            | "Er" | "Ic" | "Dq" | "Sq" | "Ql" | "Qq" | "Pq" | "Aq" | "Bq" | "No" | "An" | "Lk" | "Mt" | "St"
            | "In" | "Tn" | "Ux" | "Do" | "Dc" | "So" | "Sc" | "Po" | "Pc" | "Qo" | "Qc" | "Xo" | "Xc" | "Ad"
            | "Cd" | "Dx" | "Fx" | "Nx" | "Ox" | "Bx" | "Rs" | "Re" | "Rv" | "Ex" => {}
            word if is_reference && at > 0 && word.starts_with(|c: char| c.is_ascii_digit()) => {
                out.push_str(&format!("({word})"));
                is_reference = false;
            }
            word => say(&mut out, &mut glue, word),
        }
    }
    out.push_str(close);
    out
}

/// The arguments of a macro, quotes and escapes resolved.
pub fn arguments(rest: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() && !rest.starts_with("\\\"") {
        let word;
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            word = &quoted[..end];
            rest = quoted.get(end + 1..).unwrap_or("");
        } else {
            // An escaped blank is part of its word.
            let mut before = ' ';
            let end = rest
                .char_indices()
                .find(|&(_, letter)| {
                    let ends = letter.is_whitespace() && before != '\\';
                    before = letter;
                    ends
                })
                .map_or(rest.len(), |(at, _)| at);
            word = &rest[..end];
            rest = &rest[end..];
        }
        words.push(escapes(word));
        rest = rest.trim_start();
    }
    words
}

/// The text with its escapes resolved; those that are about looks are left out.
pub fn escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(letter) = rest.chars().next() else { break };
        rest = &rest[letter.len_utf8()..];
        match letter {
            '"' => return out,
            '-' => out.push('-'),
            'e' | '\\' => out.push('\\'),
            ' ' | '~' | '0' => out.push(' '),
            '\'' | '`' | '.' => out.push(letter),
            '(' | '[' => {
                let name = named(letter, &mut rest);
                out.push_str(sign(name));
            }
            'f' | 'm' | 'M' | 'F' | '*' | 'n' | 'g' | 'k' => {
                let next = rest.chars().next().unwrap_or(' ');
                rest = &rest[next.len_utf8().min(rest.len())..];
                let name = if matches!(next, '(' | '[') { named(next, &mut rest) } else { "" };
                if letter == '*' {
                    out.push_str(sign(name));
                }
            }
            's' => {
                let signed = rest.trim_start_matches(['+', '-']);
                rest = signed.strip_prefix(|c: char| c.is_ascii_digit()).unwrap_or(signed);
            }
            'h' | 'v' | 'w' | 'l' | 'L' | 'D' | 'X' | 'Z' | 'o' | 'b' | 'C' | 'N' | 'x' => {
                if let Some((_, after)) = rest.strip_prefix('\'').and_then(|quoted| quoted.split_once('\'')) {
                    rest = after;
                }
            }
            // `\&`, `\|`, `\c`, `\/` and the like take no room.
            _ => {}
        }
    }
    out.push_str(rest);
    out
}

/// The name of a sign: two letters after `(`, or all up to `]`.
fn named<'a>(open: char, rest: &mut &'a str) -> &'a str {
    let end = if open == '(' {
        rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at)
    } else {
        rest[..rest.floor_char_boundary(MAX_NAME_BYTES.min(rest.len()))].find(']').unwrap_or(0)
    };
    let (name, after) = rest.split_at(end);
    *rest = if open == '[' { after.strip_prefix(']').unwrap_or(after) } else { after };
    name
}

fn sign(name: &str) -> &'static str {
    match name {
        "em" => "—",
        "en" => "–",
        "lq" | "Lq" => "“",
        "rq" | "Rq" => "”",
        "oq" => "‘",
        "cq" => "’",
        "aq" => "'",
        "dq" => "\"",
        "bu" => "•",
        "co" => "©",
        "rg" | "R" => "®",
        "tm" | "Tm" => "™",
        "hy" | "mi" => "-",
        "ti" => "~",
        "ha" => "^",
        "rs" => "\\",
        "ba" | "bv" => "|",
        "at" => "@",
        "sh" => "#",
        "Do" => "$",
        "->" => "→",
        "<-" => "←",
        "mu" => "×",
        ">=" => "≥",
        "<=" => "≤",
        "!=" => "≠",
        "de" => "°",
        "sc" => "§",
        _ => "",
    }
}
