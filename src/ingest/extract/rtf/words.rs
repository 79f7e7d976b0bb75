//! What control words stand for: characters, and groups that hold something else than the text.

/// What the text of a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    Body,
    /// A note or a comment: written after the paragraph it is anchored in.
    Note,
    /// The text of a box: likewise.
    Box,
    /// The number or bullet of an item as it is shown.
    Marker,
    FontTable,
    StyleSheet,
    Info(Field),
    /// What is said of the document in groups and words of its own.
    About,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Title,
    Author,
    Subject,
    Keywords,
    Comment,
}

impl Field {
    pub fn key(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Author => "author",
            Self::Subject => "subject",
            Self::Keywords => "keywords",
            Self::Comment => "comment",
        }
    }
}

/// What the group is for that begins with this word; `None` if the word says nothing of it. `is_ignorable`: after `\*`,
/// which is said of groups that a reader may not know: those are left out.
pub fn destination(word: &str, is_ignorable: bool) -> Option<Sink> {
    Some(match word {
        "fonttbl" => Sink::FontTable,
        "stylesheet" => Sink::StyleSheet,
        "title" => Sink::Info(Field::Title),
        "author" => Sink::Info(Field::Author),
        "subject" => Sink::Info(Field::Subject),
        "keywords" => Sink::Info(Field::Keywords),
        "doccomm" => Sink::Info(Field::Comment),
        "info" | "creatim" => Sink::About,
        "footnote" | "annotation" => Sink::Note,
        "shptxt" | "dptxbxtext" => Sink::Box,
        "listtext" | "pntext" => Sink::Marker,
        // Repeated on each page, or the machinery of one.
        "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr" | "footerf" | "ftnsep"
        | "ftnsepc" | "ftncn" | "aftnsep" | "aftnsepc" | "aftncn" => Sink::Nothing,
        "colortbl" | "filetbl" | "revtbl" | "listtable" | "listoverridetable" | "rsidtbl" | "pict" | "nonshppict"
        | "objdata" | "objclass" | "objname" | "fldinst" | "datafield" | "bkmkstart" | "bkmkend" | "sp" | "xe"
        | "rxe" | "txe" | "tc" | "tcn" | "nonesttables" | "shprslt" | "upr" | "template" | "operator" | "manager"
        | "company" | "category" | "printim" | "revtim" | "buptim" | "hlinkbase" | "private" | "atnid"
        | "atnauthor" | "mmathPict" | "mtype" | "mchr" | "mpos" | "mbegChr" | "mendChr" | "msepChr" => Sink::Nothing,
        // Groups that say they may be ignored, and hold text all the same.
        "shpinst" | "moMath" | "moMathPara" | "nesttableprops" | "ud" => return None,
        _ if is_ignorable => Sink::Nothing,
        _ => return None,
    })
}

/// The character that a word stands for.
pub fn character(word: &str) -> Option<char> {
    Some(match word {
        "tab" => '\t',
        "emdash" => '—',
        "endash" => '–',
        "emspace" | "enspace" | "qmspace" => ' ',
        "bullet" => '•',
        "lquote" => '‘',
        "rquote" => '’',
        "ldblquote" => '“',
        "rdblquote" => '”',
        "zwj" => '\u{200d}',
        "zwnj" => '\u{200c}',
        "line" | "softline" => '\n',
        _ => return None,
    })
}
