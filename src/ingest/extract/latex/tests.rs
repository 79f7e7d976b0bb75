use crate::ingest::{
    document::Document,
    extract::{Limits, extract, outline},
};

fn check(text: &str, want: &[&str]) -> Document {
    outline::check_lines("a.tex", text, want)
}

#[test]
fn the_preamble_gives_title_and_author() {
    let document = check(
        "\\documentclass{article}\n\\usepackage{x}\n\\title{On \\emph{Pumps}}\n\\author{Ann \\and Bo}\n\\begin{document}\n\\maketitle\n\\section*[S]{First {part} \\& more}\\label{a}\ntext\n\\subsection{Deep}\nmore\n\\end{document}\ngone\n",
        &[
            "h3 First part & more 7: First part & more",
            "paragraph First part & more 8: text",
            "h4 First part & more/Deep 9: Deep",
            "paragraph First part & more/Deep 10: more",
        ],
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("On Pumps"), Some("Ann , Bo")));
}

#[test]
fn words_of_commands() {
    check(
        "A \\textbf{bold} caf\\'e na\\\"{\\i}ve \\c{c}a % gone\n100\\% sure~--- ``yes'' \\cite[p.~2]{k} \\footnote{Small.} $E = mc^2$ \\url{http://x} \\href{u}{words} \\verb|a_b|.\\\\\nnext \\unknown{kept}\n",
        &[
            "paragraph  1: A bold café naïve ça ⏎100% sure — “yes” [k]  (Small.) $E = mc^2$ http://x words a_b. ⏎next kept",
        ],
    );
}

#[test]
fn environments() {
    check(
        "one\n\\begin{equation}\n\\frac{a}{b} \\label{e}\n\\end{equation}\n\\begin{verbatim}\n% kept \\section{no}\n\\end{verbatim}\n\\begin{itemize}\n\\item a\n\n\\item[T] b\n\\end{itemize}\n\\begin{comment}\ngone\n\\end{comment}\n\\begin{theorem}[Name]\nTrue.\n\\end{theorem}\n\\begin{figure}[h]\n\\includegraphics{x}\n\\caption{A \\emph{pump}}\n\\end{figure}\n\\[ x \\]\n",
        &[
            "paragraph  1: one",
            "fence  3: \\frac{a}{b}",
            "fence  6: % kept \\section{no}",
            "list  9: - a⏎⏎- T: b",
            "paragraph  16: Name. ⏎True.",
            "paragraph  21: A pump",
            "fence  23:  x",
        ],
    );
}

#[test]
fn tables() {
    check(
        "\\begin{tabular}{|c|c|}\n\\hline\nName & Age \\\\\n\\hline\nAlice & 25 \\\\ \\hline\nBob\n& 30 \\\\[2pt]\n\\multicolumn{2}{c}{both} \\\\\n\\hline\n\\end{tabular}\nend\n",
        &["table(| Name | Age |)  3: | Name | Age |⏎⏎| Alice | 25 |⏎| Bob | 30 |⏎⏎| both |", "paragraph  11: end"],
    );
}

#[test]
fn hostile_braces() {
    for piece in [
        "{",
        "}",
        "\\section{",
        "\\begin{tabular}{",
        "\\footnote{",
        "\\item[",
        "$",
        "\\(",
        "\\caption{a\n\n",
        "\\\\",
        "&",
        "\\title{",
    ] {
        let text = format!("\\begin{{itemize}}\\begin{{tabular}}{{l}}{}", piece.repeat(20_000));
        for text in [text.clone(), text[42..].to_owned(), text.replace("tabular", "center")] {
            let document = extract("a.tex", text.into(), &Limits::default()).expect("it is text");
            assert_eq!(document.check(), Ok(()), "{piece}");
        }
    }
}
