use crate::ingest::{document::Document, extract::outline};

fn check(text: &str, want: &[&str]) -> Document {
    outline::check_lines("a.adoc", text, want)
}

#[test]
fn the_header_and_headings() {
    let document = check(
        "= Title\nAnn Bo <a@x>; Cy Di\nv1.0, 2026-01-02\n:lang: en\n:toc:\n\nIntro {lang}.\n\n== Part\ntext\n\n=== Deep ===\nmore\n\nOld style\n---------\n\nlast\n",
        &[
            "h1 Title 1: Title",
            "paragraph Title 7: Intro en.",
            "h2 Title/Part 9: Part",
            "paragraph Title/Part 10: text",
            "h3 Title/Part/Deep 12: Deep",
            "paragraph Title/Part/Deep 13: more",
            "h2 Title/Old style 15: Old style",
            "paragraph Title/Old style 18: last",
        ],
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Title"), Some("Ann Bo, Cy Di")));
    assert_eq!(document.metadata["lang"], "en");
}

#[test]
fn blocks_between_lines() {
    check(
        "[source,rust]\n----\nfn a() {}\n\n== no heading\n----\n\n////\ngone\n////\n// gone\n\n[NOTE]\n====\nMind the gap.\n====\n\nTIP: Do.\n\n[quote, Ann, Book]\n____\nSaid.\n____\n\n.Listing\n....\nx\n....\n\ninclude::other.adoc[]\nifdef::x[]\nkept\nendif::[]\n",
        &[
            "fence  3: fn a() {}⏎⏎== no heading",
            "paragraph  15: Note: Mind the gap.",
            "paragraph  18: TIP: Do.",
            "paragraph  20: Ann, Book:",
            "paragraph  22: Said.",
            "paragraph  25: Listing",
            "fence  27: x",
            "paragraph  32: kept",
        ],
    );
}

#[test]
fn lists_and_links() {
    check(
        "* one\n** two\n\n* three\n+\nmore\n\nSee https://x.org[the site], link:a.html[this\npage], <<id,there>> and <<id>>. kbd:[Ctrl] image:a.png[A pump] footnote:[Small.] https://bare.org[]\n\nterm:: what it is\n",
        &[
            "list  1: * one⏎** two⏎⏎* three",
            "paragraph  6: more",
            "paragraph  8: See the site, this⏎page, there and id. Ctrl A pump  (Small.) https://bare.org",
            "list  11: term:: what it is",
        ],
    );
}

#[test]
fn tables() {
    check(
        "[cols=\"1,2\", options=\"header\"]\n|===\n|Key\n|Val\n\n|speed\n|42\nknots\n|===\n\nend\n",
        &["table(| Key | Val |)  3: | Key | Val |⏎⏎⏎| speed | 42 knots |", "paragraph  11: end"],
    );
    check(
        "|===\n|Key |Val\n\n|a |1\n2+|both\n|===\n",
        &["table(| Key | Val |)  2: | Key | Val |⏎⏎| a | 1 |⏎| both |  |"],
    );
    check("|a|b|\n", &["paragraph  1: |a|b|"]);
}
