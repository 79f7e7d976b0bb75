use crate::ingest::{
    document::{BlockKind, Document},
    extract::{Limits, extract, reason},
};

fn read(name: &str, source: &str) -> Document {
    let document = extract(name, source.into(), &Limits::default()).expect("XML is always read");
    assert_eq!(document.check(), Ok(()), "{source}");
    document
}

fn check(source: &str, want: &[&str]) -> Document {
    let document = read("a.xml", source);
    let got: Vec<String> = document
        .blocks
        .iter()
        .map(|block| {
            let kind = match &block.kind {
                BlockKind::Heading(level) => format!("h{level} "),
                BlockKind::Record => "record ".into(),
                BlockKind::Code => "code ".into(),
                BlockKind::List => "list ".into(),
                BlockKind::Quote => "quote ".into(),
                BlockKind::Fence => "fence ".into(),
                BlockKind::Table { .. } => "table ".into(),
                BlockKind::Paragraph => String::new(),
            };
            let lines = block.lines.map_or(String::new(), |lines| format!("{}-{} ", lines.first, lines.last));
            format!("{lines}{kind}[{}] {}", block.heading.join(" > "), &document.text[block.span.range()])
        })
        .collect();
    assert_eq!(got, want, "{source}");
    document
}

#[test]
fn records() {
    check(
        "<?xml version='1.0'?>\n<a xmlns='x'>\n <r id='1'>\n  <n>One &amp; two</n>\n  <d><e>f</e><e>g</e></d>\n </r>\n <r><n>Three <b>four</b></n></r>\n</a>\n",
        &["3-6 record [] id: 1\nn: One & two\nd.e: f\nd.e: g", "7-7 record [] n: Three four"],
    );
    check("<a>\n<b>one</b>\n<c x='y'><d>two</d></c></a>", &["1-3 record [] b: one\nc.x: y\nc.d: two"]);
    check(
        "<kml><a>x</a><a><d><![CDATA[<p>one<br>two</p>]]></d></a></kml>",
        &["1-1 record [] x", "1-1 record [] d: one two"],
    );
    check(
        "<posts><row Id='1' Body='a text of words'/>\n<row Id='2' Body='and another one'/></posts>",
        &["1-1 record [] Id: 1\nBody: a text of words", "2-2 record [] Id: 2\nBody: and another one"],
    );
}

#[test]
fn articles() {
    let document = check(
        "<article xml:lang='de'>\n<front><journal-meta><issn>1</issn></journal-meta><article-meta><article-id>9</article-id>\
         <title-group><article-title>A <italic>long</italic> title</article-title></title-group>\n\
         <contrib-group><contrib contrib-type='author'><name><surname>Bo</surname><given-names>Ann</given-names></name><xref>1</xref></contrib>\
         <contrib><collab>The Group</collab></contrib></contrib-group><pub-date><day>1</day><month>5</month><year>2024</year></pub-date>\
         <kwd-group><title>Words</title><kwd>x</kwd><kwd>y</kwd></kwd-group>\n\
         <abstract><p>Short.</p></abstract></article-meta></front>\n\
         <body><sec><title>One</title><p>Text <xref>1</xref>.</p>\n<list list-type='order'><list-item><p>i</p></list-item></list>\
         <table-wrap><label>Table 1.</label><caption><title>Cap</title></caption><table><thead><tr><th>k</th><th>v</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></table-wrap>\
         </sec></body>\n<back><ref-list><ref><element-citation><article-title>Cited</article-title><year>1999</year></element-citation></ref></ref-list></back></article>",
        &[
            "2-2 h1 [A long title] A long title",
            "3-3 [A long title] Ann Bo, The Group",
            "3-3 [A long title] Keywords: Words x y",
            "4-4 h2 [A long title > Abstract] Abstract",
            "4-4 [A long title > Abstract] Short.",
            "5-5 h2 [A long title > One] One",
            "5-5 [A long title > One] Text 1.",
            "6-6 list [A long title > One] 1. i",
            "6-6 [A long title > One] Table 1. Cap",
            "6-6 table [A long title > One] | k | v |\n| --- | --- |\n| 1 | 2 |",
            "7-7 h2 [A long title > References] References",
            "7-7 [A long title > References] Cited 1999",
        ],
    );
    assert_eq!(
        (document.title.as_deref(), document.author.as_deref()),
        (Some("A long title"), Some("Ann Bo, The Group"))
    );
    assert_eq!((document.metadata["date"].as_str(), document.metadata["lang"].as_str()), ("2024-05-01", "de"));
}

#[test]
fn books_of_other_vocabularies() {
    check(
        "<TEI><teiHeader><fileDesc><titleStmt><title>T</title><author>A B</author></titleStmt><publicationStmt><p>x</p></publicationStmt></fileDesc></teiHeader>\
         <text><body><div><head>One</head><lg><l>first</l><l>second</l></lg><p>prose</p></div></body></text></TEI>",
        &["1-1 h1 [T] T", "1-1 [T] A B", "1-1 h2 [T > One] One", "1-1 [T > One] first\nsecond", "1-1 [T > One] prose"],
    );
    check(
        "<book><title>B</title><chapter><title>C</title><para>p <code>x</code></para><programlisting>a\n  b</programlisting>\
         <variablelist><varlistentry><term>t</term><listitem><para>d</para></listitem></varlistentry></variablelist>\
         <informaltable><tgroup cols='2'><thead><row><entry>k</entry><entry>v</entry></row></thead><tbody><row><entry>1</entry><entry>2</entry></row></tbody></tgroup></informaltable></chapter></book>",
        &[
            "1-1 h1 [B] B",
            "1-1 h2 [B > C] C",
            "1-1 [B > C] p x",
            "1-2 fence [B > C] ```\na\n  b\n```",
            "2-2 list [B > C] - t\n- d",
            "2-2 table [B > C] | k | v |\n| --- | --- |\n| 1 | 2 |",
        ],
    );
    check(
        "<FictionBook><description><title-info><genre>g</genre><author><first-name>F</first-name><last-name>L</last-name></author><book-title>B</book-title><lang>en</lang></title-info></description>\
         <body><section><title><p>One</p></title><p>text</p></section></body><binary>AAAA</binary></FictionBook>",
        &["1-1 [] F L", "1-1 h1 [B] B", "1-1 h2 [B > One] One", "1-1 [B > One] text"],
    );
}

#[test]
fn feeds() {
    let document = check(
        "<rss><channel><title>F</title><description>about</description>\n<item><title>One &amp;amp; 1</title><pubDate>Mon</pubDate><description>&lt;p&gt;a &lt;b&gt;b&lt;/b&gt;&lt;/p&gt;</description></item>\n\
         <item><title>Two</title><content:encoded><![CDATA[<h2>H</h2><p>c]]></content:encoded><description>short</description></item></channel></rss>",
        &[
            "1-1 h1 [] F",
            "1-1 [] about",
            "2-2 h1 [One & 1] One & 1",
            "2-2 record [One & 1] Mon",
            "2-2 [One & 1] a b",
            "3-3 h1 [Two] Two",
            "3-3 h2 [Two > H] H",
            "3-3 [Two > H] c",
        ],
    );
    assert_eq!(document.title.as_deref(), Some("F"));
    check(
        "<feed><title>F</title><entry><title>E</title><author><name>N</name><uri>u</uri></author><updated>2024</updated><content type='xhtml'><div><p>x</p><p>y</p></div></content></entry></feed>",
        &["1-1 h1 [] F", "1-1 h1 [E] E", "1-1 record [E] N\n2024", "1-1 [E] x", "1-1 [E] y"],
    );
}

#[test]
fn drawings_and_configuration() {
    check(
        "<svg><title>T</title><style>x</style><g><text>a<tspan>b</tspan></text>\n<path d='M0'/></g></svg>",
        &["1-1 [] T", "1-1 [] a b"],
    );
    let pom = "<project>\n <modelVersion>4</modelVersion>\n</project>";
    check(pom, &["code [] <project>\n <modelVersion>4</modelVersion>\n</project>"]);
    assert_eq!(read("a.xsd", "<schema/>").format, "code");
    assert_eq!(read("a.xml", "<?xml version='1.0'?><!DOCTYPE html><html><p>x").format, "html");
    assert_eq!(read("unnamed", "<?xml version='1.0'?><a><b>c</b></a>").format, "xml");
}

#[test]
fn hostile_and_damaged_sources() {
    let laughs = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbbbb\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&c; &x; core</a>";
    assert_eq!(read("a.xml", laughs).text, "&c; &x; core");
    let document = read("a.xml", "<a><r>one</r><r>two");
    assert_eq!((document.text.as_str(), document.warnings[0].reason.as_str()), ("one\n\ntwo", reason::DAMAGED));
    let n = 50_000;
    for (open, close) in [
        ("<a>", "</a>"),
        ("<sec><title>x</title>", "</sec>"),
        ("<p>", "</p>"),
        ("<a b='c d'>t", "</a>"),
        ("<svg><text>", ""),
        ("<feed><entry><content>", ""),
        ("<TEI><div><head>x", ""),
    ] {
        let document = read("a.xml", &(open.repeat(n) + "core" + &close.repeat(n)));
        assert!(document.text.contains("core"), "{open}");
    }
    let bytes = b"<?xml version='1.0' encoding='ISO-8859-2'?><a><b>\xb1</b></a>".to_vec();
    assert_eq!(extract("a.xml", bytes, &Limits::default()).expect("XML").text, "b: ą");
}
