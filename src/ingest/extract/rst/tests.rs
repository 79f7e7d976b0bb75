use crate::ingest::{document::Document, extract::outline};

fn check(text: &str, want: &[&str]) -> Document {
    outline::check_lines("a.rst", text, want)
}

#[test]
fn headings_by_the_order_of_their_adornments() {
    let document = check(
        "=====\nTitle\n=====\n\n:Author: Ann\n:Date: 2026\n\nPart *A*\n========\n\none\n\nDeep\n~~~~\n\ntwo\n\n----\n\nPart B\n======\n\nthree\n",
        &[
            "h1 Title 2: Title",
            "h2 Title/Part A 8: Part A",
            "paragraph Title/Part A 11: one",
            "h3 Title/Part A/Deep 13: Deep",
            "paragraph Title/Part A/Deep 16: two",
            "h2 Title/Part B 20: Part B",
            "paragraph Title/Part B 23: three",
        ],
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Title"), Some("Ann")));
    assert_eq!(document.metadata["date"], "2026");
}

#[test]
fn words_of_links_roles_and_substitutions() {
    check(".. |b| image:: x.png\n   :target: y\n\n|b|_ text\n", &["paragraph  4:  text"]);
    check(
        ".. |v| replace:: 4.2\n.. _home: http://x\n\nSee `the site\n<http://x>`_, `home`_, home_ and :ref:`a place <there>`, :func:`~a.b`, ``x_`` |v| [1]_ snake_case.\n\n.. [1] The note.\n",
        &[
            "paragraph  4: See the site⏎, home, home and a place, a.b, `x_` 4.2 [1] snake_case.",
            "paragraph  7: [1] The note.",
        ],
    );
}

#[test]
fn literal_blocks_and_directives() {
    check(
        "Like this::\n\n    a = 1\n\n    b = 2\n\n.. code-block:: python\n   :linenos:\n\n   print()\n\n.. note:: Mind\n   the gap.\n\n.. warning::\n\n   Hot.\n\n   - a\n\n.. image:: x.png\n   :alt: A pump\n\n.. a comment\n   of two lines\n\n.. toctree::\n\n   intro\n\nend\n",
        &[
            "paragraph  1: Like this:",
            "fence  3:     a = 1⏎⏎    b = 2",
            "fence  10:    print()",
            "paragraph  12: Note: Mind⏎   the gap.",
            "paragraph  17: Warning:    Hot.",
            "list  19:    - a",
            "paragraph  21: A pump",
            "paragraph  31: end",
        ],
    );
}

#[test]
fn lists_are_one_block() {
    check(
        "- a\n  more\n\n- b\n\n  second\n\n1. x\n2. y\n\ntext\n",
        &["list  1: - a⏎  more⏎⏎- b", "list  6:   second", "list  8: 1. x⏎2. y", "paragraph  11: text"],
    );
}

#[test]
fn tables() {
    check(
        "+-----+-------+\n| a   | b     |\n+=====+=======+\n| 1   | two   |\n|     | lines |\n+-----+-------+\n| 3   | four  |\n+-----+-------+\n",
        &["table(| a | b |⏎| --- | --- |)  2: | a | b |⏎| --- | --- |⏎| 1 | two lines |⏎⏎⏎| 3 | four |"],
    );
    check(
        "=====  =====\nKey    Val\n=====  =====\nspeed  42\n       knots\nsize   é 9\n=====  =====\n\nend\n",
        &[
            "table(| Key | Val |⏎| --- | --- |)  2: | Key | Val |⏎| --- | --- |⏎| speed | 42 knots |⏎⏎| size | é 9 |",
            "paragraph  9: end",
        ],
    );
    check(
        ".. list-table:: Parts\n   :header-rows: 1\n\n   * - Part\n     - Torque\n   * - M8\n     - 22\n",
        &["paragraph  1: Parts", "table(| Part | Torque |)  4: | Part | Torque |⏎⏎| M8 | 22 |"],
    );
    check(
        ".. csv-table:: Parts\n   :header: \"Part\", \"Torque\"\n\n   M8, 22\n   \"M, 6\", 9\n",
        &["paragraph  1: Parts", "table(| Part | Torque |)  2: | Part | Torque |⏎⏎| M8 | 22 |⏎| M, 6 | 9 |"],
    );
}

#[test]
fn front_matter_is_metadata() {
    let document = check("---\ntitle: T\n---\n\ntext\n", &["paragraph  5: text"]);
    assert_eq!(document.title.as_deref(), Some("T"));
}
