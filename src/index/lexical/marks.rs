
#[cfg(test)]
mod tests {
    use super::*;

    /// The marked parts of a text, for a query of these words.
    fn marked(words: &[&str], text: &str, lang: Option<&str>) -> Vec<String> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let query = LexicalQuery { words, groups: Vec::new(), written: None };
        let marks = query.marks(text, lang);
        assert!(marks.is_sorted_by(|a, b| a.0.end <= b.0.start) && marks.iter().all(|(_, place)| *place < query.words.len()));
        marks.into_iter().map(|(range, _)| text[range].to_owned()).collect()
    }

    #[test]
    fn words_are_found_by_their_stems() {
        let cases: [(&[&str], &str, Option<&str>, &[&str]); 14] = [
            (&["refund"], "Refunds, REFUNDED; a re-fund", Some("en"), &["Refunds", "REFUNDED"]),
            (&["häuser"], "Das Haus der Häuser", Some("de"), &["Haus", "Häuser"]),
            (&["refund"], "refunds", Some("zh"), &[]),
            (&["книгами"], "О книге и книгах.", Some("ru"), &["книге", "книгах"]),
            (&["user"], "getUserName(user_id, userid)", None, &["getUserName", "user_id"]),
            (&["get_user", "get", "user"], "get_user and get_users", None, &["get_user", "get_users"]),
            (&["1.2", "1", "2"], "v1.2 or 3", None, &["2"]),
            (&["東京", "京都"], "東京都と京都", Some("ja"), &["東京", "都", "京都"]),
            (&["都"], "東京都", Some("ja"), &["都"]),
            (&["東京"], "京東 東", Some("ja"), &[]),
            (&["デー", "ータ"], "ﾃﾞｰﾀとデータ", Some("ja"), &["ﾃﾞｰ", "ﾀ", "デー", "タ"]),
            (&["full"], "ＦＵＬＬ", None, &["ＦＵＬＬ"]),
            (&[], "anything", None, &[]),
            (&["x"], "", None, &[]),
        ];
        for (words, text, lang, want) in cases {
            assert_eq!(marked(words, text, lang), want, "{words:?} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_marked(text in "\\PC{0,60}|[a-zA-Z0-9_.\u{200d}\u{301}漢字ก ]{0,60}", word in "\\PC{0,3}|漢字|字") {
            marked(&[&word, "a", "字"], &text, Some("en"));
        }
    }
}
