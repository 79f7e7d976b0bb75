use crate::ingest::{document::Document, extract::outline};

fn check(text: &str, want: &[&str]) -> Document {
    outline::check_lines("a.org", text, want)
}

#[test]
fn headings_without_their_marks() {
    let document = check(
        "#+TITLE: Org doc\n#+AUTHOR: Ann\n#+OPTIONS: toc:nil\n\n* TODO [#A] Alpha :tag:x:\nSCHEDULED: <2026-01-02 Fri>\n:PROPERTIES:\n:ID: 1\n:END:\ntext\n** Beta\nmore\n* COMMENT Gone\nhidden\n** inside\nhidden\n* DONE\nend\n",
        &[
            "h1 Alpha 5: TODO [#A] Alpha :tag:x:",
            "paragraph Alpha 6: SCHEDULED: <2026-01-02 Fri>",
            "paragraph Alpha 10: text",
            "h2 Alpha/Beta 11: Beta",
            "paragraph Alpha/Beta 12: more",
            "h1  17: DONE",
            "paragraph  18: end",
        ],
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Org doc"), Some("Ann")));
}

#[test]
fn blocks_lists_and_links() {
    check(
        "# gone\n#+BEGIN_SRC rust\n,* no heading\n#+END_SRC\n#+begin_quote\nSaid.\n#+end_quote\n#+BEGIN_COMMENT\ngone\n#+END_COMMENT\n: lit\n: eral\n- a\n- b [[http://x][a\nlink]] [[file:p.txt]]\n\n- [X] c\n#+BEGIN_SRC\nnever closed\n",
        &[
            "fence  3: * no heading",
            "paragraph  6: Said.",
            "fence  11: lit⏎eral",
            "list  13: - a⏎- b a⏎link p.txt⏎⏎- [X] c",
            "paragraph  19: never closed",
        ],
    );
}

#[test]
fn tables() {
    check(
        "| k | v |\n|---+---|\n| [[u][speed]] | 42 |\n#+TBLFM: $2=1\nend\n",
        &["table(| k | v |⏎| --- | --- |)  1: | k | v |⏎| --- | --- |⏎| speed | 42 |", "paragraph  5: end"],
    );
}
