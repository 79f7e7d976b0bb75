use crate::ingest::{
    document::{BlockKind, Document},
    extract::{Limits, extract, reason},
};

/// Reads a message; line ends are those of mail.
fn read(name: &str, mail: &str) -> Document {
    let bytes = mail.replace('\n', "\r\n").into_bytes();
    let document = extract(name, bytes, &Limits::default()).expect("mail is always read");
    assert_eq!(document.check(), Ok(()), "{mail}");
    document
}

fn outline(document: &Document) -> Vec<String> {
    document
        .blocks
        .iter()
        .map(|block| {
            let kind = match &block.kind {
                BlockKind::Heading(_) => "# ",
                BlockKind::Quote => "quote ",
                BlockKind::Record => "record ",
                BlockKind::List => "list ",
                BlockKind::Table { .. } | BlockKind::Fence | BlockKind::Code | BlockKind::Paragraph => "",
            };
            let lines = block.lines.map_or(String::new(), |lines| format!("{}-{} ", lines.first, lines.last));
            format!("{lines}{kind}[{}] {}", block.heading.join(" > "), &document.text[block.span.range()])
        })
        .collect()
}

fn check(mail: &str, want: &[&str], warnings: &[&str]) {
    let document = read("a.eml", mail);
    assert_eq!(outline(&document), want, "{mail}");
    let got: Vec<_> = document.warnings.iter().map(|warning| warning.reason.as_str()).collect();
    assert_eq!(got, warnings, "{:?}", document.warnings);
}

#[test]
fn header_body_quote_and_signature() {
    let mail = "From: =?utf-8?B?w4RubmE=?= <a@x.org>\nTo: b@x.org, \"C, D\" <c@x.org>\nSubject: Re: =?iso-8859-1?Q?caf=E9?=\n  au lait\n\
        Date: Fri, 10 May 2024 16:45:00 +0200\n\nHello,\nyou.\n\nOn Monday B wrote:\n> old\n>\n>> older\nnew\n\n-- \nAnna\n";
    check(
        mail,
        &[
            "1-6 # [Re: café au lait] Re: café au lait",
            "1-6 [Re: café au lait] From: Änna <a@x.org>\nTo: b@x.org, C, D <c@x.org>\nDate: Fri, 10 May 2024 16:45:00 +0200",
            "7-8 [Re: café au lait] Hello,\nyou.",
            "10-10 [Re: café au lait] On Monday B wrote:",
            "11-13 quote [Re: café au lait] > old\n>\n>> older",
            "14-14 [Re: café au lait] new",
            "16-17 [Re: café au lait] -- \nAnna",
        ],
        &[],
    );
    let document = read("a.eml", mail);
    assert_eq!(document.title.as_deref(), Some("Re: café au lait"));
    assert_eq!(document.author.as_deref(), Some("Änna <a@x.org>"));
    assert_eq!(document.metadata["date"], "2024-05-10T16:45:00+02:00");
}

#[test]
fn the_plain_form_is_read_unless_it_says_nothing() {
    let page =
        "<html><head><title>t</title></head><body><h1>News</h1><p>".to_owned() + &"A long story. ".repeat(40) + "</p>";
    let mail = |plain: &str, page: &str| {
        format!(
            "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n{plain}\n--b\nContent-Type: text/html\n\n{page}\n--b--\n"
        )
    };
    check(&mail("the text", "<p>the page"), &["6-6 [] the text"], &[]);
    check(&mail(" ", "<p>the page"), &["10-10 [] the page"], &[]);
    let document = read("a.eml", &mail("View this mail in your browser.", &page));
    assert!(
        document.text.starts_with("News\n\nA long story.") && !document.text.contains("browser"),
        "{}",
        document.text
    );
}

#[test]
fn attachments_are_files_under_their_names() {
    let mail = "Subject: S\nContent-Type: multipart/mixed; boundary=\"a b\"\n\nno mime here\n--a b\n\nSee below.\n--a b\n\
        Content-Type: text/csv; name=\"=?utf-8?Q?gr=C3=B6=C3=9Fe.csv?=\"\nContent-Transfer-Encoding: base64\n\nayx2CmEsMQo=\n--a b\n\
        Content-Type: image/png\nContent-Disposition: inline\nContent-ID: <x>\n\nxxxx\n--a b\n\
        Content-Type: application/octet-stream\nContent-Disposition: attachment; filename*0=\"a.\"; filename*1=\"bin\"\nContent-Transfer-Encoding: base64\n\nAAECAwQFBgcICQ==\n--a b--\n";
    check(
        mail,
        &[
            "1-3 # [S] S",
            "7-7 [S] See below.",
            "12-12 # [S > größe.csv] größe.csv",
            "12-12 [S > größe.csv] k,v\na,1",
            "1-3 [S] Attachments: a.bin",
        ],
        &[reason::UNSUPPORTED],
    );
}

#[test]
fn messages_in_messages() {
    let inner = "Subject: inner\nFrom: c@x.org\n\ninside";
    let mail = format!(
        "Subject: outer\nContent-Type: multipart/digest; boundary=b\n\n--b\n\n{inner}\n--b\nContent-Type: message/rfc822\n\n{inner} too\n--b--\n"
    );
    check(
        &mail,
        &[
            "1-3 # [outer] outer",
            "6-8 # [outer > inner] inner",
            "6-8 [outer > inner] From: c@x.org",
            "9-9 [outer > inner] inside",
            "13-15 # [outer > inner] inner",
            "13-15 [outer > inner] From: c@x.org",
            "16-16 [outer > inner] inside too",
        ],
        &[],
    );
    let deep = "Subject: s\nContent-Type: message/rfc822\n\n".repeat(2000) + "end";
    let document = read("a.eml", &deep);
    assert_eq!(document.warnings[0].reason, reason::DEEP_NESTING);
    assert_eq!(document.blocks.iter().map(|block| block.heading.len()).max(), Some(4));
}

#[test]
fn what_is_encrypted_is_said() {
    check(
        "Subject: S\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nVersion: 1\n--b--\n",
        &["1-3 # [S] S"],
        &[reason::ENCRYPTED],
    );
    check(
        "Subject: S\n\nbefore\n-----BEGIN PGP MESSAGE-----\n\nabcd\n-----END PGP MESSAGE-----\nafter\n",
        &["1-2 # [S] S", "3-8 [S] before\nafter"],
        &[reason::ENCRYPTED],
    );
    check(
        "Subject: S\n\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\ntext\n- --dashes\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n",
        &["1-2 # [S] S", "6-7 [S] text\n--dashes"],
        &[],
    );
    check(
        "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nAAAA\n",
        &[],
        &[reason::ENCRYPTED],
    );
    check(
        "Subject: S\n\ntext\n\nbegin 644 a.txt\n#0V%T\n`\nend\nafter\n",
        &["1-2 # [S] S", "3-3 [S] text", "9-9 [S] after"],
        &[reason::DROPPED_DATA],
    );
}

#[test]
fn flowed_text_and_odd_encodings() {
    check(
        "Content-Type: text/plain; format=flowed\n\none \ntwo\n>quoted \n> on\n from\n-- \nme\n",
        &["3-4 [] one two", "5-6 quote [] >quoted on", "7-9 [] from\n-- \nme"],
        &[],
    );
    for (bytes, want) in [
        (&b"Subject: x\nContent-Type: text/plain; charset=koi8-r\n\n\xf0\xd2\xc9\xd7\xc5\xd4"[..], "Привет"),
        (b"Subject: x\nContent-Type: text/plain; charset=us-ascii\n\ncaf\xc3\xa9", "café"),
        (b"Subject: x\nContent-Type: text/plain; charset=utf-7\n\nHi +AOk-", "Hi é"),
        (b"Subject: x\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\ncaf=C3=A9 =\nau", "café au"),
        (b"Subject: caf\xe9 au lait et la cr\xe8me\n\nx", "x"),
        (b"\xef\xbb\xbf\n\nSubject: x\n\nbom", "bom"),
        (b"17\nSubject: x\n\nemlx\n<?xml?>", "emlx"),
    ] {
        let document = extract("a.eml", bytes.to_vec(), &Limits::default()).expect("mail");
        assert!(document.text.ends_with(want), "{:?}", document.text);
        assert!(document.warnings.is_empty() && document.title.is_some(), "{document:?}");
    }
    let wide: Vec<u8> = "\u{feff}Subject: ü\nContent-Type: text/plain; charset=utf-16\n\nwide ü"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let document = extract("a.eml", wide, &Limits::default()).expect("mail");
    assert_eq!(document.text, "ü\n\nwide ü");
}

#[test]
fn broken_mail_gives_what_can_be_had() {
    check(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo",
        &["5-5 [] one", "8-8 [] two"],
        &[reason::DAMAGED],
    );
    check("Content-Type: multipart/mixed; boundary=b\n\nno boundary", &["3-3 [] no boundary"], &[]);
    check("Content-Type: multipart/mixed\n\n--bb\n\none\n--bb--\n", &["5-5 [] one"], &[]);
    check("no header at all\nbut text", &["1-2 [] no header at all\nbut text"], &[]);
    check("Subject: only a header\n", &["1-1 # [only a header] only a header"], &[]);
}

#[test]
fn mailboxes() {
    let mailbox = "From a@x Mon Jun 01 10:00:00 2026\nSubject: one\n\n>From the start\n\nFrom b@x Mon Jun 01 11:00:00 2026\n\nno subject\n";
    let document = read("a.mbox", mailbox);
    assert_eq!(
        outline(&document),
        [
            "2-3 # [one] one",
            "4-4 [one] From the start",
            "7-7 # [(no subject)] (no subject)",
            "8-8 [(no subject)] no subject"
        ]
    );
    assert_eq!(document.metadata["messages"], "2");
    // A mailbox is known by its content, and so is a message.
    assert_eq!(read("archive", "From a@x Mon Jun 01 10:00:00 2026\nFrom: a@x\nSubject: one\n\nx").format, "mbox");
    assert_eq!(read("1.", "Message-ID: <1>\nFrom: a@x\nSubject: one\n\nx").format, "eml");
    assert_eq!(read("notes.txt", "From: me\nTo: you\n\nx").format, "text");
    let many = "From a Mon Jun 01 10:00:00 2026\nSubject: s\n\nbody\n\n".repeat(5000);
    assert_eq!(read("a.mbox", &many).blocks.len(), 10_000);
}

#[test]
fn a_saved_page() {
    let mail = "From: <Saved by Blink>\nSubject: Page\nContent-Type: multipart/related; type=\"text/html\"; boundary=b\n\n--b\n\
        Content-Type: text/html\nContent-Location: http://x/\n\n<h1>Head</h1><p>text\n--b\nContent-Type: text/css\nContent-Location: http://x/a.css\n\n.a{}\n--b--\n";
    let document = read("a.mhtml", mail);
    assert_eq!((document.title.as_deref(), document.text.as_str()), (Some("Page"), "Head\n\ntext"));
}

#[test]
fn hostile_mail_is_read_in_time() {
    let n = 20_000;
    for mail in [
        "Content-Type: multipart/mixed; boundary=b\n\n".to_owned()
            + &"--b\nContent-Type: multipart/mixed; boundary=zz\n\nx\n".repeat(n),
        (0..n).map(|i| format!("Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n")).collect(),
        "Subject: ".to_owned() + &"=?utf-8?Q?a".repeat(n),
        "Subject: ".to_owned() + &"=?utf-8?B?".repeat(n) + "\n\nx",
        "To: ".to_owned() + &"<(\"".repeat(n),
        "Content-Type: ".to_owned() + &"a/b; x*0=\"".repeat(n),
        "Received: ".to_owned() + &"from (".repeat(n),
        "X: y\n".repeat(n),
        "Subject: s\n\n".to_owned() + &">".repeat(n * 10),
        "Subject: s\n\n".to_owned() + &"begin 644 a\n".repeat(n),
        "Content-Type: text/calendar\n\n".to_owned() + &"BEGIN:A\n ".repeat(n),
        "From a 10:00 2026\nA: b\n".repeat(n),
    ] {
        let document = read("a.eml", &mail);
        assert!(document.text.len() <= 3 * mail.len(), "{}", &mail[..60]);
        read("a.mbox", &mail);
    }
}

/// A mail of one part of a kind, in base64.
fn of_one(kind: &str, name: &str, bytes: &[u8]) -> String {
    use base64::Engine;
    let body = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("Subject: S\nContent-Type: {kind}; name={name}\nContent-Transfer-Encoding: base64\n\n{body}\n")
}

#[test]
fn the_text_in_a_signature_is_read() {
    let signed = super::signed::tests::holding("Content-Type: text/html\r\n\r\n<p>Signed <b>words</b></p>\r\n");
    for kind in ["application/pkcs7-mime; smime-type=signed-data", "application/x-pkcs7-mime"] {
        check(&of_one(kind, "smime.p7m", &signed), &["1-4 # [S] S", "5-5 [S] Signed words"], &[]);
    }
    let broken = &signed[..signed.len() - 4];
    let kind = "application/pkcs7-mime; smime-type=signed-data";
    check(&of_one(kind, "a.p7m", broken), &["1-4 # [S] S", "1-4 [S] Attachments: a.p7m"], &[reason::DAMAGED]);
    let mut nested = signed;
    for _ in 0..6 {
        let inner = of_one("application/pkcs7-mime", "a.p7m", &nested);
        nested = super::signed::tests::holding(&inner);
    }
    let document = read("a.eml", &of_one("application/pkcs7-mime", "a.p7m", &nested));
    assert_eq!(document.warnings[0].reason, reason::DEEP_NESTING);
}

#[test]
fn the_envelope_of_outlook_is_opened() {
    let envelope = super::tnef::tests::holding("From the envelope.", "sizes.csv", b"k,v\na,1\n");
    let text = "1-4 # [S] S";
    for (kind, name) in [("application/ms-tnef", "winmail.dat"), ("application/octet-stream", "WINMAIL.DAT")] {
        check(
            &of_one(kind, name, &envelope),
            &[
                text,
                "5-5 # [S > message.txt] message.txt",
                "5-5 [S > message.txt] From the envelope.",
                "5-5 # [S > sizes.csv] sizes.csv",
                "5-5 [S > sizes.csv] k,v\na,1",
            ],
            &[],
        );
    }
    check(
        &of_one("application/ms-tnef", "winmail.dat", b"nothing"),
        &[text, "1-4 [S] Attachments: winmail.dat"],
        &[reason::DAMAGED],
    );
}
