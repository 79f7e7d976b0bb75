//! In which language a chunk is written: ISO 639-1 codes, from the script, from common words and from trigrams.
//!
//! The common words of a few languages settle most texts for a hundredth of what trigrams cost; what they leave open is
//! for the trigrams to say.
//!
//! Good for: whole paragraphs of prose. Not for: a few words, or code; they take the language of most of their document.

use whatlang::{Info, Lang, Script};

use super::chunk::Piece;

mod common_words;

/// What is looked at of a chunk or a document. More letters hardly change the verdict, and trigrams cost.
const SAMPLE_CHARS: usize = 600;

/// Fewer letters prove nothing, unless the script belongs to one language.
const MIN_LETTERS: usize = 24;

/// From so many letters on a verdict counts that is more likely than not.
const MANY_LETTERS: usize = 48;

/// From this share of code-like characters on a text is code (RETRIEVAL recipe).
const CODE_SHARE: f32 = 0.065;

/// Gives each chunk its language, and the language of most of the text, if one can be told.
pub(super) fn fill(pieces: &mut [Piece], text: &str) -> Option<String> {
    let mut votes: Vec<(&'static str, usize)> = Vec::new();
    for piece in pieces.iter_mut().filter(|piece| piece.code_share <= CODE_SHARE) {
        piece.lang = detect(&text[piece.span.range()]);
        if let Some(lang) = piece.lang {
            match votes.iter_mut().find(|(known, _)| *known == lang) {
                Some((_, bytes)) => *bytes += piece.span.len(),
                None => votes.push((lang, piece.span.len())),
            }
        }
    }
    // The first of equals, so that the order of the text decides.
    let mut majority: Option<(&'static str, usize)> = None;
    for vote in votes {
        if majority.is_none_or(|(_, bytes)| vote.1 > bytes) {
            majority = Some(vote);
        }
    }
    let majority = majority.map(|(lang, _)| lang);
    for piece in pieces.iter_mut() {
        piece.lang = piece.lang.or(majority);
    }
    majority.map(str::to_owned)
}

/// The language of a text; `None` if it cannot be told reliably.
pub fn detect(text: &str) -> Option<&'static str> {
    let end = text.char_indices().nth(SAMPLE_CHARS).map_or(text.len(), |(at, _)| at);
    let sample = &text[..end];
    if let Some(lang) = common_words::detect(sample) {
        return Some(lang);
    }
    let info = whatlang::detect(sample)?;
    let certain = has_one_language(info.script()) || is_sure(&info, sample);
    if certain { code(info.lang()) } else { None }
}

fn is_sure(info: &Info, text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let enough = if info.is_reliable() { MIN_LETTERS } else { MANY_LETTERS };
    info.confidence() > 0.5 && letters >= enough
}

/// Scripts that whatlang knows one language for.
fn has_one_language(script: Script) -> bool {
    !matches!(script, Script::Arabic | Script::Cyrillic | Script::Devanagari | Script::Hebrew | Script::Latin)
}

/// The two-letter code of a language; a few have none.
fn code(lang: Lang) -> Option<&'static str> {
    const CODES: [(Lang, &str); 70] = [
        (Lang::Afr, "af"),
        (Lang::Aka, "ak"),
        (Lang::Amh, "am"),
        (Lang::Ara, "ar"),
        (Lang::Aze, "az"),
        (Lang::Bel, "be"),
        (Lang::Ben, "bn"),
        (Lang::Bul, "bg"),
        (Lang::Cat, "ca"),
        (Lang::Ces, "cs"),
        (Lang::Cmn, "zh"),
        (Lang::Cym, "cy"),
        (Lang::Dan, "da"),
        (Lang::Deu, "de"),
        (Lang::Ell, "el"),
        (Lang::Eng, "en"),
        (Lang::Epo, "eo"),
        (Lang::Est, "et"),
        (Lang::Fin, "fi"),
        (Lang::Fra, "fr"),
        (Lang::Guj, "gu"),
        (Lang::Heb, "he"),
        (Lang::Hin, "hi"),
        (Lang::Hrv, "hr"),
        (Lang::Hun, "hu"),
        (Lang::Hye, "hy"),
        (Lang::Ind, "id"),
        (Lang::Ita, "it"),
        (Lang::Jav, "jv"),
        (Lang::Jpn, "ja"),
        (Lang::Kan, "kn"),
        (Lang::Kat, "ka"),
        (Lang::Khm, "km"),
        (Lang::Kor, "ko"),
        (Lang::Lat, "la"),
        (Lang::Lav, "lv"),
        (Lang::Lit, "lt"),
        (Lang::Mal, "ml"),
        (Lang::Mar, "mr"),
        (Lang::Mkd, "mk"),
        (Lang::Mya, "my"),
        (Lang::Nep, "ne"),
        (Lang::Nld, "nl"),
        (Lang::Nob, "nb"),
        (Lang::Ori, "or"),
        (Lang::Pan, "pa"),
        (Lang::Pes, "fa"),
        (Lang::Pol, "pl"),
        (Lang::Por, "pt"),
        (Lang::Ron, "ro"),
        (Lang::Rus, "ru"),
        (Lang::Sin, "si"),
        (Lang::Slk, "sk"),
        (Lang::Slv, "sl"),
        (Lang::Sna, "sn"),
        (Lang::Spa, "es"),
        (Lang::Srp, "sr"),
        (Lang::Swe, "sv"),
        (Lang::Tam, "ta"),
        (Lang::Tel, "te"),
        (Lang::Tgl, "tl"),
        (Lang::Tha, "th"),
        (Lang::Tuk, "tk"),
        (Lang::Tur, "tr"),
        (Lang::Ukr, "uk"),
        (Lang::Urd, "ur"),
        (Lang::Uzb, "uz"),
        (Lang::Vie, "vi"),
        (Lang::Yid, "yi"),
        (Lang::Zul, "zu"),
    ];
    CODES.iter().find(|(known, _)| *known == lang).map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_recognised() {
        for (text, want) in [
            ("The pump must be started only when the inlet valve is open and the oil has been checked.", "en"),
            ("Die Pumpe darf nur eingeschaltet werden, wenn das Einlassventil offen und das Öl geprüft ist.", "de"),
            (
                "La bomba solo debe arrancarse cuando la válvula de entrada esté abierta y se haya comprobado el aceite.",
                "es",
            ),
            ("Насос разрешается включать только при открытом впускном клапане и после проверки масла.", "ru"),
            ("只有在进气阀打开并检查机油后才能启动泵。", "zh"),
            ("入口バルブが開いていて、オイルが点検されている場合にのみポンプを始動してください。", "ja"),
            ("ห้ามเปิดปั๊มจนกว่าวาล์วจะเปิด", "th"),
            ("펌프는 흡입 밸브가 열려 있을 때만 시동해야 합니다.", "ko"),
            ("يجب عدم تشغيل المضخة إلا عندما يكون صمام المدخل مفتوحا وبعد فحص الزيت.", "ar"),
        ] {
            assert_eq!(detect(text), Some(want), "{text}");
        }
    }

    #[test]
    fn little_or_nothing_has_no_language() {
        for text in ["", " ", "OK", "12345 678", "RX-7 / 3.5 kW"] {
            assert_eq!(detect(text), None, "{text}");
        }
    }

    #[test]
    fn every_language_has_a_code() {
        assert!(Lang::all().iter().all(|&lang| code(lang).is_some()));
    }
}
