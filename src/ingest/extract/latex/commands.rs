//! What a command of LaTeX means to a reader.

use unicode_normalization::UnicodeNormalization;

/// What to do with a command and what follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning {
    Begin,
    End,
    Heading(u8),
    /// Left out, with so many arguments.
    Nothing(usize),
    /// Keys of a bibliography: kept in brackets.
    Key,
    /// The name of another place.
    Reference,
    /// Only the second, or the third argument says something.
    Second,
    Third,
    Note,
    Caption,
    Title,
    Author,
    Date,
    Item,
    LineEnd,
    /// A rule of a table; some stand under a header.
    Rule(bool),
    Says(&'static str),
    /// The combining form of an accent.
    Accent(char),
    Verbatim,
    /// A formula, up to this command.
    Formula(&'static str),
    /// Its argument is text.
    Words,
}

pub fn meaning(name: &str) -> Meaning {
    match name {
        "begin" => Meaning::Begin,
        "end" => Meaning::End,
        "part" => Meaning::Heading(1),
        "chapter" => Meaning::Heading(2),
        "section" => Meaning::Heading(3),
        "subsection" => Meaning::Heading(4),
        "subsubsection" => Meaning::Heading(5),
        "paragraph" | "subparagraph" | "frametitle" => Meaning::Heading(6),
        "title" => Meaning::Title,
        "author" => Meaning::Author,
        "date" => Meaning::Date,
        "item" => Meaning::Item,
        "footnote" | "footnotetext" | "thanks" | "marginpar" | "marginnote" => Meaning::Note,
        "caption" | "captionof" | "subcaption" => Meaning::Caption,
        "\\" | "tabularnewline" | "newline" | "cr" => Meaning::LineEnd,
        "midrule" | "endhead" | "endfirsthead" => Meaning::Rule(true),
        "hline" | "toprule" | "bottomrule" | "cline" | "cmidrule" | "specialrule" | "Xhline" => Meaning::Rule(false),
        "cite" | "citep" | "citet" | "citealp" | "citealt" | "citeauthor" | "citeyear" | "citeyearpar"
        | "parencite" | "textcite" | "autocite" | "footcite" | "Cite" | "Citep" | "Citet" | "fullcite"
        | "supercite" => Meaning::Key,
        "ref" | "eqref" | "autoref" | "cref" | "Cref" | "pageref" | "nameref" | "vref" | "url" | "path"
        | "nolinkurl" | "gls" | "Gls" | "glspl" | "acrshort" | "ac" | "bibitem" => Meaning::Reference,
        "href" | "textcolor" | "colorbox" | "raisebox" | "scalebox" | "rotatebox" | "parbox" | "hyperref"
        | "foreignlanguage" | "hyperlink" | "hypertarget" | "tcbox" | "makebox" | "resizebox*" => Meaning::Second,
        "multicolumn" | "multirow" | "resizebox" | "fcolorbox" => Meaning::Third,
        "label"
        | "vspace"
        | "hspace"
        | "includegraphics"
        | "input"
        | "include"
        | "bibliographystyle"
        | "bibliography"
        | "pagestyle"
        | "thispagestyle"
        | "usepackage"
        | "documentclass"
        | "color"
        | "pagenumbering"
        | "vskip"
        | "hskip"
        | "index"
        | "nocite"
        | "phantom"
        | "hphantom"
        | "vphantom"
        | "setcitestyle"
        | "graphicspath"
        | "newcolumntype"
        | "usetikzlibrary"
        | "selectlanguage"
        | "stepcounter"
        | "refstepcounter"
        | "cellcolor"
        | "rowcolor"
        | "definecolor"
        | "addbibresource"
        | "RequirePackage"
        | "PassOptionsToPackage"
        | "hypersetup"
        | "lstset"
        | "captionsetup"
        | "geometry"
        | "linespread"
        | "enlargethispage"
        | "subfile"
        | "pdfbookmark"
        | "theoremstyle"
        | "tikzset"
        | "printbibliography"
        | "noalign"
        | "arrayrulecolor"
        | "extrarowheight" => Meaning::Nothing(if name == "definecolor" { 3 } else { 1 }),
        "newcommand"
        | "renewcommand"
        | "providecommand"
        | "def"
        | "DeclareMathOperator"
        | "setlength"
        | "addtolength"
        | "setcounter"
        | "addtocounter"
        | "newtheorem"
        | "addcontentsline"
        | "fontsize"
        | "markboth"
        | "rule"
        | "addtocontents"
        | "let"
        | "DeclareUnicodeCharacter" => Meaning::Nothing(2),
        "newenvironment" | "renewenvironment" => Meaning::Nothing(3),
        "(" => Meaning::Formula("\\)"),
        "[" => Meaning::Formula("\\]"),
        "verb" | "lstinline" => Meaning::Verbatim,
        _ => said(name).map_or_else(|| accent(name).map_or(Meaning::Words, Meaning::Accent), Meaning::Says),
    }
}

/// Commands that stand for a sign.
fn said(name: &str) -> Option<&'static str> {
    Some(match name {
        "%" => "%",
        "&" => "&",
        "$" => "$",
        "#" => "#",
        "_" => "_",
        "{" => "{",
        "}" => "}",
        " " | "," | ";" | ":" | "quad" | "qquad" | "enspace" | "thinspace" | "space" => " ",
        "\n" => "\n",
        "-" | "/" | "!" | "@" => "",
        "ldots" | "dots" | "textellipsis" => "…",
        "textbackslash" => "\\",
        "textasciitilde" | "textsim" => "~",
        "textasciicircum" => "^",
        "textbar" => "|",
        "textless" => "<",
        "textgreater" => ">",
        "textendash" => "–",
        "textemdash" => "—",
        "textquotedblleft" => "“",
        "textquotedblright" => "”",
        "textquoteleft" | "lq" => "‘",
        "textquoteright" | "rq" => "’",
        "guillemotleft" | "og" => "«",
        "guillemotright" | "fg" => "»",
        "glqq" => "„",
        "grqq" => "“",
        "copyright" | "textcopyright" => "©",
        "textregistered" => "®",
        "texttrademark" => "™",
        "pounds" | "textsterling" => "£",
        "euro" | "texteuro" => "€",
        "S" => "§",
        "P" => "¶",
        "dag" => "†",
        "ddag" => "‡",
        "textdegree" | "degree" => "°",
        "textmu" => "µ",
        "textbullet" => "•",
        "ss" => "ß",
        "ae" => "æ",
        "AE" => "Æ",
        "oe" => "œ",
        "OE" => "Œ",
        "aa" => "å",
        "AA" => "Å",
        "o" => "ø",
        "O" => "Ø",
        "l" => "ł",
        "L" => "Ł",
        "i" => "ı",
        "j" => "ȷ",
        "dh" => "ð",
        "th" => "þ",
        "LaTeX" => "LaTeX",
        "TeX" => "TeX",
        "LaTeXe" => "LaTeX2e",
        "BibTeX" => "BibTeX",
        "XeTeX" => "XeTeX",
        "today" => "",
        "and" => ", ",
        _ => return None,
    })
}

/// The combining form of an accent.
fn accent(name: &str) -> Option<char> {
    Some(match name {
        "`" => '\u{300}',
        "'" => '\u{301}',
        "^" => '\u{302}',
        "~" => '\u{303}',
        "=" => '\u{304}',
        "u" => '\u{306}',
        "." => '\u{307}',
        "\"" => '\u{308}',
        "r" => '\u{30a}',
        "H" => '\u{30b}',
        "v" => '\u{30c}',
        "d" => '\u{323}',
        "c" => '\u{327}',
        "k" => '\u{328}',
        "b" => '\u{331}',
        _ => return None,
    })
}

pub fn is_accent(name: &str) -> bool {
    accent(name).is_some()
}

/// Commands without an argument: the blank after one only ends its name.
pub fn is_switch(name: &str) -> bool {
    matches!(
        name,
        "centering"
            | "noindent"
            | "bf"
            | "it"
            | "em"
            | "tt"
            | "sc"
            | "sl"
            | "rm"
            | "sf"
            | "bfseries"
            | "itshape"
            | "small"
            | "large"
            | "Large"
            | "LARGE"
            | "huge"
            | "Huge"
            | "footnotesize"
            | "scriptsize"
            | "tiny"
            | "normalsize"
            | "raggedright"
            | "raggedleft"
            | "item"
            | "maketitle"
            | "newpage"
            | "clearpage"
            | "par"
            | "smallskip"
            | "medskip"
            | "bigskip"
            | "hfill"
            | "vfill"
            | "hline"
            | "ttfamily"
            | "sffamily"
            | "ss"
            | "ae"
            | "oe"
            | "aa"
            | "o"
            | "l"
            | "i"
            | "j"
            | "AE"
            | "OE"
            | "AA"
            | "O"
            | "L"
            | "appendix"
    )
}

/// A letter under its accent.
pub fn accented(letters: &str, mark: char) -> Option<char> {
    let letter = match letters.trim() {
        "\\i" => 'i',
        "\\j" => 'j',
        other => other.chars().next()?,
    };
    let mut composed = [letter, mark].into_iter().nfc();
    let first = composed.next()?;
    (composed.next().is_none() && (letters.trim().chars().count() == 1 || letters.contains('\\'))).then_some(first)
}
