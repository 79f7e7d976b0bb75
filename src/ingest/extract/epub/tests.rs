use crate::{
    index::Problem,
    ingest::{
        document::Document,
        extract::{Limits, extract, package::zipped, reason},
    },
};

const CONTAINER: &str = "<container><rootfiles><rootfile full-path='OEBPS/a%20b.opf'/></rootfiles></container>";

const NCX: &str = "<ncx><docTitle><text>no</text></docTitle><navMap><navPoint><navLabel><text>Part I</text></navLabel><content src='one.xhtml'/>\
    <navPoint><navLabel><text>Second</text></navLabel><content src='t%77o.xhtml#x'/></navPoint></navPoint></navMap></ncx>";

const NAV: &str = "<html><nav epub:type='toc'><h1>Contents</h1><ol><li><span>Part I</span><ol><li><a href='one.xhtml'>First</a></li>\
    <li><a href='two.xhtml'>Second</a></li></ol></li></ol></nav><nav epub:type='landmarks'><ol><li><a href='three.xhtml'>Land</a></li></ol></nav></html>";

fn opf(spine: &str) -> String {
    format!(
        "<package><metadata><dc:title>Book</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bo</dc:creator><dc:language>de</dc:language><dc:date>2020</dc:date></metadata>\
         <manifest><item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/><item id='x' href='toc.ncx' media-type='application/x-dtbncx+xml'/>\
         <item id='1' href='one.xhtml' media-type='application/xhtml+xml'/><item id='2' href='two.xhtml' media-type='application/xhtml+xml'/><item id='3' href='three.xhtml' media-type='application/xhtml+xml'/>\
         <item id='i' href='i.png' media-type='image/png'/></manifest><spine toc='x'>{spine}</spine></package>"
    )
}

fn book(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let pages = [
        ("mimetype", "application/epub+zip"),
        ("OEBPS/one.xhtml", "<html><head><title>t</title></head><body><p>one</p></body></html>"),
        ("OEBPS/two.xhtml", "<html><body><h2>Second</h2><p>two</p></body></html>"),
        ("OEBPS/three.xhtml", "<html><body><p>three</p></body></html>"),
    ];
    pages.iter().chain(more).map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn read(members: &[(String, String)]) -> Result<Document, Problem> {
    let members: Vec<_> = members.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let document = extract("a.epub", zipped(&members), &Limits::default())?;
    assert_eq!(document.check(), Ok(()));
    Ok(document)
}

fn outline(document: &Document) -> Vec<String> {
    document
        .blocks
        .iter()
        .map(|block| {
            let page = block.pages.map_or(0, |pages| pages.first);
            format!("{page} [{}] {}", block.heading.join(" > "), &document.text[block.span.range()])
        })
        .collect()
}

#[test]
fn chapters_in_the_order_of_the_spine() {
    let spine = "<itemref idref='n'/><itemref idref='2'/><itemref idref='i'/><itemref idref='3'/><itemref idref='1'/><itemref idref='1'/>";
    let document = read(&book(&[
        ("META-INF/container.xml", CONTAINER),
        ("OEBPS/a b.opf", &opf(spine)),
        ("OEBPS/nav.xhtml", NAV),
        ("OEBPS/toc.ncx", NCX),
    ]))
    .expect("a book");
    assert_eq!(
        outline(&document),
        [
            "2 [Part I > Second] Second",
            "2 [Part I > Second] two",
            "3 [Part I > Second] three",
            "4 [Part I > First] First",
            "4 [Part I > First] one",
        ]
    );
    assert_eq!(
        (document.title.as_deref(), document.author.as_deref(), document.pages),
        (Some("Book"), Some("Ann, Bo"), Some(5))
    );
    assert_eq!((document.metadata["lang"].as_str(), document.metadata["date"].as_str()), ("de", "2020"));
    assert!(document.warnings.is_empty(), "{:?}", document.warnings);
}

#[test]
fn the_old_table_of_contents() {
    let spine = "<itemref idref='1'/><itemref idref='2'/>";
    let document =
        read(&book(&[("META-INF/container.xml", CONTAINER), ("OEBPS/a b.opf", &opf(spine)), ("OEBPS/toc.ncx", NCX)]))
            .expect("a book");
    assert_eq!(
        outline(&document),
        ["1 [Part I] Part I", "1 [Part I] one", "2 [Part I > Second] Second", "2 [Part I > Second] two"]
    );
}

#[test]
fn books_that_say_less() {
    let spine = "<itemref idref='1'/><itemref idref='2'/><itemref idref='3'/>";
    let document = read(&book(&[("OEBPS/a b.opf", &opf(spine))])).expect("found by its name");
    assert_eq!(document.text, "one\n\nSecond\n\ntwo\n\nthree");
    let document = read(&book(&[("OEBPS/10.html", "ten"), ("OEBPS/9.html", "nine")])).expect("pages");
    assert_eq!(document.warnings[0].reason, reason::DAMAGED);
    assert!(document.text.starts_with("nine\n\nten\n\n"), "{}", document.text);
    let spine = spine.replace("'3'", "'n'").replace("'1'", "'n'") + "<itemref idref='x1'/>";
    let document =
        read(&book(&[("META-INF/container.xml", CONTAINER), ("OEBPS/a b.opf", &opf(&spine))])).expect("a book");
    assert_eq!(document.text, "Second\n\ntwo");
    assert_eq!(
        read(&[("mimetype".into(), "application/epub+zip".into())]).map_err(|problem| problem.reason),
        Err(reason::DAMAGED.into())
    );
}

#[test]
fn locked_books() {
    let spine = "<itemref idref='1'/><itemref idref='2'/>";
    let lock = |method: &str, names: &[&str]| {
        let data = |name: &&str| {
            format!(
                "<EncryptedData><EncryptionMethod Algorithm='{method}'/><CipherData><CipherReference URI='{name}'/></CipherData></EncryptedData>"
            )
        };
        format!("<encryption>{}</encryption>", names.iter().map(data).collect::<String>())
    };
    for (method, names, want) in [
        (
            "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
            &["OEBPS/one.xhtml", "OEBPS/two.xhtml"][..],
            Err(reason::ENCRYPTED.to_owned()),
        ),
        ("http://www.w3.org/2001/04/xmlenc#aes128-cbc", &["OEBPS/one.xhtml"], Ok(vec![reason::ENCRYPTED.to_owned()])),
        ("http://www.idpf.org/2008/embedding", &["OEBPS/one.xhtml", "OEBPS/two.xhtml"], Ok(vec![])),
    ] {
        let members = book(&[
            ("META-INF/container.xml", CONTAINER),
            ("OEBPS/a b.opf", &opf(spine)),
            ("META-INF/encryption.xml", &lock(method, names)),
        ]);
        let got = read(&members)
            .map(|document| document.warnings.into_iter().map(|warning| warning.reason).collect::<Vec<_>>());
        assert_eq!(got.map_err(|problem| problem.reason), want, "{method}");
    }
}

#[test]
fn s01_bombs_and_loops() {
    let many = "<itemref idref='1'/>".repeat(100_000);
    let deep = "<navPoint><navLabel><text>x</text></navLabel><content src='one.xhtml'/>".repeat(50_000);
    let document = read(&book(&[
        ("META-INF/container.xml", CONTAINER),
        ("OEBPS/a b.opf", &opf(&many)),
        ("OEBPS/toc.ncx", &format!("<ncx><navMap>{deep}")),
    ]))
    .expect("a book");
    assert_eq!(document.text, "x\n\none");
    let bomb = "<p>".to_owned() + &" ".repeat(40 << 20);
    let members = book(&[("META-INF/container.xml", CONTAINER), ("OEBPS/a b.opf", &opf("<itemref idref='1'/>"))]);
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, text)| if name.ends_with("one.xhtml") { (name, bomb.clone()) } else { (name, text) })
        .collect();
    assert_eq!(read(&members).map_err(|problem| problem.reason), Err(reason::TOO_LARGE.into()));
}
