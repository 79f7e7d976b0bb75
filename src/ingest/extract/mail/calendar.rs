//! Invitations and business cards (iCalendar, vCard) as lines of `Name: value`.

use crate::ingest::extract::clean::title;

/// Properties that a person asks for, and what to call them.
const PROPERTIES: [(&str, &str); 18] = [
    ("SUMMARY", "Summary"),
    ("DTSTART", "Start"),
    ("DTEND", "End"),
    ("DUE", "Due"),
    ("LOCATION", "Location"),
    ("ORGANIZER", "Organizer"),
    ("ATTENDEE", "Attendee"),
    ("STATUS", "Status"),
    ("DESCRIPTION", "Description"),
    ("COMMENT", "Comment"),
    ("FN", "Name"),
    ("ORG", "Organization"),
    ("TITLE", "Title"),
    ("TEL", "Telephone"),
    ("EMAIL", "E-mail"),
    ("ADR", "Address"),
    ("URL", "URL"),
    ("NOTE", "Note"),
];

/// The entries of a calendar or of an address book, each as lines.
pub fn entries(text: &str) -> Vec<String> {
    let mut entries = Vec::new();
    let mut entry = String::new();
    // Of alarms and time zones nobody wants to read.
    let mut inside: Vec<String> = Vec::new();
    for line in unfold(text) {
        let Some((left, value)) = split(&line) else { continue };
        let mut parameters = left.split(';');
        let name = parameters.next().unwrap_or("").rsplit('.').next().unwrap_or("").to_ascii_uppercase();
        match name.as_str() {
            "BEGIN" if inside.len() < 16 => inside.push(value.trim().to_ascii_uppercase()),
            "END" => {
                inside.pop();
                if inside.len() < 2 && !entry.is_empty() {
                    entries.push(std::mem::take(&mut entry));
                }
            }
            _ => {
                let is_shown = !inside.iter().any(|component| component == "VALARM" || component == "VTIMEZONE");
                let Some((_, word)) = PROPERTIES.iter().find(|(property, _)| *property == name).filter(|_| is_shown)
                else {
                    continue;
                };
                let person = parameters.find_map(|p| p.strip_prefix("CN=").or_else(|| p.strip_prefix("cn=")));
                let value = readable(&name, value);
                let shown = match person.map(|name| name.trim_matches('"')).and_then(title) {
                    Some(name) if name != value => format!("{name} <{value}>"),
                    _ => value,
                };
                if !shown.trim().is_empty() {
                    entry.push_str(&format!("{word}: {}\n", shown.trim()));
                }
            }
        }
    }
    if !entry.is_empty() {
        entries.push(entry);
    }
    entries
}

/// Name and value stand apart at the first colon outside of quotes.
fn split(line: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let at = line.find(|c| {
        is_quoted ^= c == '"';
        c == ':' && !is_quoted
    })?;
    Some((&line[..at], &line[at + 1..]))
}

/// Lines that begin with a blank continue the one before.
fn unfold(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(more), Some(last)) => last.push_str(more),
            (Some(_) | None, _) => lines.push(line.to_owned()),
        }
    }
    lines
}

fn readable(name: &str, value: &str) -> String {
    match name {
        "DTSTART" | "DTEND" | "DUE" => date(value.trim()).unwrap_or_else(|| value.to_owned()),
        "ORGANIZER" | "ATTENDEE" => {
            let bare =
                value.get(..7).filter(|start| start.eq_ignore_ascii_case("mailto:")).map_or(value, |_| &value[7..]);
            bare.to_owned()
        }
        _ => {
            let mut out = String::new();
            let mut letters = value.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => match letters.next() {
                        Some('n' | 'N') => out.push('\n'),
                        Some(other) => out.push(other),
                        None => {}
                    },
                    ';' if matches!(name, "ADR" | "ORG") => {
                        if !out.is_empty() && !out.ends_with(", ") {
                            out.push_str(", ");
                        }
                    }
                    _ => out.push(letter),
                }
            }
            out
        }
    }
}

/// `20240510T164500Z` as `2024-05-10 16:45 UTC`.
fn date(value: &str) -> Option<String> {
    let digits =
        |range: std::ops::Range<usize>| value.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let day = format!("{}-{}-{}", digits(0..4)?, digits(4..6)?, digits(6..8)?);
    if value.len() == 8 {
        return Some(day);
    }
    let zone = if value.ends_with('Z') { " UTC" } else { "" };
    Some(format!("{day} {}:{}{zone}", digits(9..11)?, digits(11..13)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_and_a_card() {
        let calendar = "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nDTSTART:19700101T000000\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n\
            SUMMARY:Pump\r\n  review\\, part 2\r\nDTSTART;TZID=\"Europe/Berlin: x\":20240510T164500\r\nDTEND:20240510T174500Z\r\n\
            ORGANIZER;CN=\"Ann B\":mailto:ann@example.com\r\nDESCRIPTION:one\\ntwo\r\nBEGIN:VALARM\r\nDESCRIPTION:ring\r\nEND:VALARM\r\n\
            END:VEVENT\r\nEND:VCALENDAR\r\n";
        let want = "Summary: Pump review, part 2\nStart: 2024-05-10 16:45\nEnd: 2024-05-10 17:45 UTC\n\
            Organizer: Ann B <ann@example.com>\nDescription: one\ntwo\n";
        assert_eq!(entries(calendar), [want]);
        let card = "BEGIN:VCARD\nFN:Ann B\nitem1.TEL;TYPE=work:+1 2\nADR:;;Main St 1;Town;;;\nPHOTO:AAAA\nEND:VCARD\n";
        assert_eq!(entries(card), ["Name: Ann B\nTelephone: +1 2\nAddress: Main St 1, Town,\n"]);
        assert!(entries("no calendar at all").is_empty());
    }
}
