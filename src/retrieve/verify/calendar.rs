//! Names of months and days of the week in the languages whose dates are read.

/// 1–12 for a whole or abbreviated name. `may` and `march` only with a capital.
pub(super) fn month_of(word: &str) -> Option<u8> {
    const MONTHS: [&str; 12] = [
        "january jan januar jänner enero janvier",
        "february feb februar febrero février",
        "march mar märz marzo mars",
        "april apr abril avril",
        "may mai mayo",
        "june jun juni junio juin",
        "july jul juli julio juillet",
        "august aug agosto août",
        "september sep sept septiembre septembre",
        "october oct oktober okt octubre octobre",
        "november nov noviembre novembre",
        "december dec dezember dez diciembre décembre",
    ];
    let lower = word.to_lowercase();
    if matches!(word, "may" | "march" | "mar" | "mars" | "dec" | "sep" | "jan" | "jun" | "nov" | "oct") {
        return None;
    }
    (1..).zip(MONTHS).find(|(_, names)| names.split(' ').any(|name| name == lower)).map(|(month, _)| month)
}

/// 0 for Monday to 6 for Sunday.
pub(super) fn weekday_of(word: &str) -> Option<u8> {
    const DAYS: [&str; 7] = [
        "monday mondays montag montags lunes lundi",
        "tuesday tuesdays dienstag dienstags martes mardi",
        "wednesday wednesdays mittwoch mittwochs miércoles mercredi",
        "thursday thursdays donnerstag donnerstags jueves jeudi",
        "friday fridays freitag freitags viernes vendredi",
        "saturday saturdays samstag samstags sonnabend sábado sábados samedi",
        "sunday sundays sonntag sonntags domingo domingos dimanche",
    ];
    let lower = word.to_lowercase();
    (0..).zip(DAYS).find(|(_, names)| names.split(' ').any(|name| name == lower)).map(|(day, _)| day)
}

/// All days from one to another, over the end of the week if need be.
pub(super) fn weekdays_between(first: u8, last: u8) -> Vec<u8> {
    let days = (7 + last - first) % 7;
    (0..=days).map(|ahead| (first + ahead) % 7).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (word, month) in
            [("March", Some(3)), ("march", None), ("may", None), ("marzo", Some(3)), ("Dez", Some(12)), ("x", None)]
        {
            assert_eq!(month_of(word), month, "{word}");
        }
        assert_eq!(weekday_of("Sonntag"), Some(6));
        assert_eq!(weekdays_between(4, 0), [4, 5, 6, 0]);
        assert_eq!(weekdays_between(2, 2), [2]);
    }
}
