//! Any bytes as a file of any format: a document that keeps its promises or a reason, never a panic. Of files that are
//! packed, the bytes are also what stands in a member, for random bytes hardly ever make an archive.

use std::io::{Cursor, Write};

use rag::ingest::extract::{Limits, extract};
use zip::{ZipWriter, write::SimpleFileOptions};

const NAMES: [&str; 40] = [
    "a.txt", "a.md", "a.html", "a.rst", "a.adoc", "a.org", "a.tex", "a.ipynb", "a.json", "a.jsonl", "a.csv", "a.tsv",
    "a.xml", "a.eml", "a.mbox", "a.mhtml", "a.rtf", "a.epub", "a.docx", "a.pptx", "a.xlsx", "a.xls", "a.odt", "a.ods",
    "a.odp", "a.log", "a.1", "a.srt", "a.zip", "a.tar", "a.gz", "a", "a.pdf", "a.rs", "a.py", "a.yaml", "a.toml",
    "a.vtt", "a.svg", "README",
];

const TOP: &str = "<Relationships><Relationship Id='1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>";
const RELS: &str = "<Relationships><Relationship Id='1' Type='x/worksheet' Target='one.xml'/></Relationships>";

/// A file that is packed: its name, members as they should be, and those whose bytes are any.
struct Packed {
    name: &'static str,
    sound: &'static [(&'static str, &'static str)],
    any: &'static [&'static str],
}

const PACKED: [Packed; 8] = [
    Packed {
        name: "a.docx",
        sound: &[],
        any: &["word/document.xml", "word/styles.xml", "word/footnotes.xml", "word/numbering.xml"],
    },
    Packed {
        name: "a.pptx",
        sound: &[
            ("ppt/presentation.xml", "<p:presentation><p:sldIdLst><p:sldId r:id='1'/></p:sldIdLst></p:presentation>"),
            ("ppt/_rels/presentation.xml.rels", RELS),
        ],
        any: &["ppt/one.xml"],
    },
    Packed {
        name: "a.xlsx",
        sound: &[
            ("_rels/.rels", TOP),
            ("xl/workbook.xml", "<workbook><sheets><sheet name='s' sheetId='1' r:id='1'/></sheets></workbook>"),
            ("xl/_rels/workbook.xml.rels", RELS),
        ],
        any: &["xl/one.xml", "xl/sharedStrings.xml", "xl/styles.xml"],
    },
    Packed { name: "a.odt", sound: &[], any: &["content.xml", "styles.xml", "meta.xml"] },
    Packed { name: "a.ods", sound: &[], any: &["content.xml"] },
    Packed {
        name: "a.epub",
        sound: &[
            ("META-INF/container.xml", "<container><rootfile full-path='a.opf'/></container>"),
            ("a.opf", "<package><item id='1' href='1.xhtml'/><spine><itemref idref='1'/></spine></package>"),
        ],
        any: &["1.xhtml"],
    },
    Packed {
        name: "a.epub",
        sound: &[
            ("META-INF/container.xml", "<container><rootfile full-path='a.opf'/></container>"),
            ("1.xhtml", "<html><body><h1>One</h1><p>Text</p></body></html>"),
        ],
        any: &["a.opf", "nav.xhtml", "toc.ncx"],
    },
    Packed { name: "a.zip", sound: &[], any: &["a.md", "b.eml", "c.html"] },
];

fn pack(packed: &Packed, bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let sound = packed.sound.iter().map(|(name, text)| (*name, text.as_bytes()));
    for (name, bytes) in sound.chain(packed.any.iter().map(|name| (*name, bytes))) {
        zip.start_file(name, stored).expect("a name that may be");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

/// The first byte says what the others are.
pub fn run(input: &[u8]) {
    let Some((which, bytes)) = input.split_first() else { return };
    let which = usize::from(*which) % (NAMES.len() + PACKED.len());
    let (name, bytes) = match which.checked_sub(NAMES.len()) {
        None => (NAMES[which], bytes.to_vec()),
        Some(at) => (PACKED[at].name, pack(&PACKED[at], bytes)),
    };
    let limits = Limits { max_text_bytes: 1 << 20, max_pages: 200, archives: true, ..Limits::default() };
    if let Ok(document) = extract(name, bytes, &limits) {
        document.check().expect("a document keeps its promises");
        assert!(document.text.len() <= 1 << 20, "{name}: {} bytes of text", document.text.len());
    }
}
