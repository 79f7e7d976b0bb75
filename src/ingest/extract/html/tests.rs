use super::*;
use crate::ingest::{
    detect::Format,
    document::BlockKind,
    extract::{Limits, Passwords, reason},
};

fn extract(html: &str) -> Document {
    let limits = Limits::default();
    let document = Html
        .extract(Input {
            bytes: html.into(),
            format: Format::Html,
            limits: &limits,
            passwords: &Passwords::default(),
            pages: &[],
        })
        .expect("a page always has text");
    assert_eq!(document.check(), Ok(()), "{html}");
    document
}

fn outline(document: &Document) -> Vec<String> {
    let word = |kind: &BlockKind| match kind {
        BlockKind::Heading(level) => format!("h{level}"),
        BlockKind::Table { .. } => "table".into(),
        BlockKind::Paragraph
        | BlockKind::List
        | BlockKind::Quote
        | BlockKind::Fence
        | BlockKind::Code
        | BlockKind::Record => format!("{kind:?}").to_lowercase(),
    };
    document
        .blocks
        .iter()
        .map(|b| format!("{} [{}] {}", word(&b.kind), b.heading.join(" > "), &document.text[b.span.range()]))
        .collect()
}

fn check(html: &str, want: &[&str]) {
    assert_eq!(outline(&extract(html)), want, "{html}");
}

#[test]
fn headings_paragraphs_and_entities() {
    check(
        "<title>T</title>hello <b>wo</b>rld<h1>A &amp; <div>B</div></h1><p>one<br>two<p>three&nbsp;four<h3>C</h3><div>five<h2>D</h2></div>six",
        &[
            "paragraph [] hello world",
            "h1 [A & B] A & B",
            "paragraph [A & B] one\ntwo",
            "paragraph [A & B] three four",
            "h3 [A & B > C] C",
            "paragraph [A & B > C] five",
            "h2 [A & B > D] D",
            "paragraph [A & B > D] six",
        ],
    );
}

#[test]
fn lists() {
    check(
        "<ul><li>one<li><p>two</p><p>more</p><ol start=3><li>x</li><li>y</ol></ul><dl><dt>term<dd>meaning</dl>",
        &["list [] - one\n- two\n  more\n  3. x\n  4. y", "list [] - term\n  meaning"],
    );
}

#[test]
fn tables_lists_and_code_in_their_places() {
    check(
        "<blockquote>q</blockquote><table><caption>cap</caption><tr><th>K<th>V<tr><td>speed<td>42</table>\
         <pre><code class='language-rust'>let x = 1;\nlet y = 2;</code></pre>",
        &[
            "quote [] q",
            "paragraph [] cap",
            "table [] | K | V |\n| --- | --- |\n| speed | 42 |",
            "fence [] ```rust\nlet x = 1;\nlet y = 2;\n```",
        ],
    );
}

#[test]
fn a_table_that_lays_out_a_page_is_running_text() {
    check(
        "<table><tr><td>menu<td><h1>Head</h1><p>body</p><table><tr><td>a<td>b</table></table>after",
        &[
            "paragraph [] menu",
            "h1 [Head] Head",
            "paragraph [Head] body",
            "table [Head] | a | b |",
            "paragraph [Head] after",
        ],
    );
}

#[test]
fn what_a_reader_does_not_see_is_left_out() {
    check(
        "<head><title>T</title><style>.a{}</style></head><body><!-- comment --><nav><ul><li>Home</ul></nav><script>x<y</script \
         x><noscript>no</noscript><p hidden>a<p>b<div style='display: none'><p>c</div><span aria-hidden=true>d</span>\
         <div aria-hidden=true>e</div><svg><title>pic</title></svg><template>f</template><span style='font-size:0'>g</span>\
         <dialog>h</dialog><ul><li>i</ul>",
        &["paragraph [] b", "paragraph [] e", "list [] - i"],
    );
    let document = extract("<title>A <b> \n title</title><meta name=Author content='Ann B'><p>x\u{200b}y&shy;z");
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("A <b> title"), Some("Ann B")));
    assert_eq!((document.text.as_str(), document.metadata["removed_characters"].as_str()), ("xyz", "2"));
}

#[test]
fn lines_are_those_of_the_source() {
    let document = extract(
        "<html>\n<h1>A\n</h1>\n\n<p>one\ntwo &amp;\nthree</p><ul>\n<li>x\n<li>y</ul>\n<table>\n<tr><td>1<td>2\n</table>",
    );
    let lines: Vec<_> =
        document.blocks.iter().map(|b| b.lines.map(|l| (l.first, l.last)).expect("html has lines")).collect();
    assert_eq!(lines, [(2, 2), (5, 7), (8, 9), (10, 12)], "{:?}", outline(&document));
}

#[test]
fn encodings_are_declared_or_guessed() {
    for (html, want) in [
        (&b"<meta charset=koi8-r><p>\xf0\xd2\xc9\xd7\xc5\xd4"[..], "Привет"),
        (
            b"<META HTTP-EQUIV=content-type CONTENT='text/html; charset=windows-1251'><p>\xcf\xf0\xe8\xe2\xe5\xf2",
            "Привет",
        ),
        (b"<meta charset=iso-8859-1><p>\xc3\xa9t\xc3\xa9", "été"),
        (b"\xef\xbb\xbf<meta charset=utf-16><p>\xc3\xa9", "é"),
    ] {
        let limits = Limits::default();
        let document = Html
            .extract(Input {
                bytes: html.to_vec(),
                format: Format::Html,
                limits: &limits,
                passwords: &Passwords::default(),
                pages: &[],
            })
            .expect("a page");
        assert_eq!(document.text, want);
    }
}

#[test]
fn any_nesting_is_read_in_linear_time() {
    let n = 50_000;
    for (html, want) in [
        (format!("{}core{}", "<div>".repeat(n), "</div>".repeat(n)), "core"),
        (format!("{}core", "<p><b><i>".repeat(n)), "core"),
        (format!("{}core", "<table><tr><td>".repeat(n)), "core"),
        (format!("{}core", "<ul><li>".repeat(n)), "core"),
        (format!("{}core", "<blockquote>".repeat(n)), "core"),
        (format!("{}{}core", "<div>".repeat(n), "</p></span></td>".repeat(n)), "core"),
        (format!("{}core", "<div hidden>".repeat(n)), ""),
        (format!("{}core", "</div>".repeat(n)), "core"),
        (format!("{}core", "<a href='x".repeat(n)), ""),
        (format!("{}core", "<h1><h2>".repeat(n)), "core"),
        (format!("<table>{}</table>core", "<td rowspan=60 colspan=60>x".repeat(1000)), "core"),
    ] {
        let document = extract(&html);
        assert!(document.text.ends_with(want), "{}…: {:?}", &html[..20], document.text.get(..100));
        assert!(document.text.len() < 20 * html.len());
    }
}

#[test]
fn text_has_a_limit() {
    let limits = Limits { max_text_bytes: 1000, ..Limits::default() };
    let html = format!("<table>{}</table>", "<tr><td>a<td>b".repeat(1000));
    let input = Input {
        bytes: html[..3500].into(),
        format: Format::Html,
        limits: &limits,
        passwords: &Passwords::default(),
        pages: &[],
    };
    assert_eq!(Html.extract(input).map(|d| d.text.len()).map_err(|p| p.reason), Err(reason::TOO_LARGE.into()));
}

#[test]
fn what_stands_around_the_main_part_is_left_out_where_little_is_lost() {
    let story = "A long story. ".repeat(20);
    let story = story.trim_end();
    check(
        &format!(
            "<h1>Site</h1><header>top</header><div>menu</div><main><h2>A</h2><p>{story}<aside>note</aside></main><footer>bottom</footer>"
        ),
        &["h2 [A] A", &format!("paragraph [A] {story}"), "paragraph [A] note"],
    );
    check(
        &format!(
            "<div role=main><div><p>{story}</div><blockquote>q<footer>by x</footer></blockquote></div><div>after</div>"
        ),
        &[&format!("paragraph [] {story}"), "quote [] q", "quote [] by x"],
    );
    check(
        "<p>a long text before it<main>m</main><p>and after",
        &["paragraph [] a long text before it", "paragraph [] m", "paragraph [] and after"],
    );
    check(
        &format!("<h1>T</h1><p>{story}</p><aside>ad</aside><footer>(c)</footer>"),
        &["h1 [T] T", &format!("paragraph [T] {story}")],
    );
    check(
        "<p>x</p><footer>all there is in this page</footer>",
        &["paragraph [] x", "paragraph [] all there is in this page"],
    );
    check(&format!("<table><tr><td>menu<td><main><p>{story}</main></table>"), &[&format!("paragraph [] {story}")]);
}

#[test]
fn furniture_has_names() {
    check(
        "<a href='#main'>Skip to main content</a><div id=cookie-consent-bar>We use cookies<button>OK</button></div><ul class=breadcrumb><li>Home</ul>\
         <h2>Head<a href='#head'>#</a></h2><p>a<span class=sr-only>unseen</span> b<sup><a href='#n1'>[1]</a></sup> <a href='#x'>c</a></p><div hidden=until-found>found</div><div class=section id=cookie-consent>about</div><form role=search>Search</form>",
        &["h2 [Head] Head", "paragraph [Head] a b[1] c", "paragraph [Head] found", "paragraph [Head] about"],
    );
}

#[test]
fn pictures_formulas_and_numbers() {
    check(
        "<p>see<img src=a alt='A chart of flow'>here <img alt=logo><img alt='spacer gif' width=1><a href=x><img alt='Build status'></a></p>\
         <p>10<sup>-6</sup> m<sup>2</sup>, 1<sup>st</sup>, <math><mi>a</mi><mi>b</mi><annotation encoding='application/x-tex'>{\\displaystyle \\frac ab}</annotation></math> and <math><mi>x</mi><annotation encoding=Maple>y</annotation></math></p>\
         <ol><li>a<li value=5>b<li>c</ol>",
        &[
            "paragraph [] see A chart of flow here",
            "paragraph [] 10^-6 m^2, 1st, \\frac ab and x",
            "list [] 1. a\n5. b\n6. c",
        ],
    );
}

#[test]
fn programs_beside_their_line_numbers() {
    check(
        "<table><tr><td class=linenos><pre>1\n2</pre><td><pre><code class=language-c>int a;\nint b;</code></pre></table><table><tr><th>k<th>v<tr><td>x<td><pre>a\nb</pre></table>",
        &["fence [] ```c\nint a;\nint b;\n```", "table [] | k | v |\n| --- | --- |\n| x | a b |"],
    );
    check("<table><tr><td><p>a|b<p>c</table>", &["paragraph [] a|b", "paragraph [] c"]);
}

#[test]
fn marks_and_regions_are_read_in_linear_time() {
    let n = 50_000;
    for piece in [
        "<a href='#x'>",
        "<sup>",
        "<math><annotation encoding=tex>",
        "<main>",
        "<aside>",
        "<footer><main>",
        "<a href='#x'>#</a>",
        "<main>x</main>",
        "<img alt='a b'>",
    ] {
        let document = extract(&(piece.repeat(n) + "core"));
        assert!(document.text.len() < 20 * n, "{piece}");
    }
}
