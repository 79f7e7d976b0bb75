//! What the elements of articles and books are to a reader: of JATS, DocBook, TEI, DITA, FictionBook.

/// How an element is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Has a title and what is under it; some are called by their name where they have no title.
    Section(Option<&'static str>),
    /// Title of what it stands in.
    Title,
    /// As this element of HTML.
    As(&'static str),
    /// A cell of a table.
    Cell,
    /// Holds a figure or table with its caption: a title in it is no heading.
    Caption,
    /// A reference to literature: titles in it are no headings.
    Citation,
    /// A line of verse.
    Line,
    /// What is said of the document: only what is known of it is read.
    Meta,
    Author,
    /// Words of a name.
    Name,
    Surname,
    Date,
    Keywords,
    Skip,
    /// Not known: its words are part of the text around it.
    Inline,
}

/// The role of an element by its local name.
pub fn role(name: &str, in_meta: bool) -> Role {
    match name {
        "abstract" | "trans-abstract" => Role::Section(Some("Abstract")),
        "ack" => Role::Section(Some("Acknowledgements")),
        "ref-list" | "bibliography" | "listBibl" => Role::Section(Some("References")),
        "article" | "book" | "TEI" | "TEI.2" | "FictionBook" | "topic" | "concept" | "task" | "reference"
        | "refentry" | "sec" | "section" | "sect1" | "sect2" | "sect3" | "sect4" | "sect5" | "refsect1"
        | "refsect2" | "refsect3" | "refsection" | "simplesect" | "chapter" | "part" | "appendix" | "app"
        | "preface" | "glossary" | "div" | "div1" | "div2" | "div3" | "div4" | "div5" | "div6" => Role::Section(None),
        "title" | "head" | "article-title" | "book-title" | "bridgehead" | "refentrytitle" | "refname" => Role::Title,
        "article-meta" | "front-stub" | "info" | "articleinfo" | "bookinfo" | "chapterinfo" | "sectioninfo"
        | "refentryinfo" | "refmeta" | "teiHeader" | "description" | "prolog" => Role::Meta,
        "author" | "contrib" | "editor" => Role::Author,
        "name" | "string-name" | "collab" | "personname" | "given-names" | "firstname" | "first-name"
        | "middle-name" | "persName" | "forename" | "othername" | "lineage" => Role::Name,
        "surname" | "last-name" => Role::Surname,
        "pub-date" | "pubdate" | "date" if in_meta => Role::Date,
        "kwd-group" | "keywordset" => Role::Keywords,
        "p" | "para" | "simpara" | "ab" | "aff" | "stanza" | "lg" | "speaker" | "subtitle" | "formalpara"
        | "shortdesc" | "cmd" | "refpurpose" | "dateline" | "byline" | "closer" | "opener" | "salute" | "signed"
        | "trailer" => Role::As("p"),
        "disp-quote" | "blockquote" | "epigraph" | "cite" => Role::As("blockquote"),
        "programlisting" | "screen" | "preformat" | "codeblock" | "literallayout" | "synopsis" | "eg"
        | "code-block" => Role::As("pre"),
        "itemizedlist" | "simplelist" | "ul" | "list" | "listPerson" => Role::As("ul"),
        "orderedlist" | "procedure" | "ol" | "steps" | "substeps" => Role::As("ol"),
        "def-list" | "variablelist" | "glosslist" | "dl" => Role::As("dl"),
        "list-item" | "listitem" | "item" | "member" | "step" | "li" => Role::As("li"),
        "term" | "dt" | "glossterm" => Role::As("dt"),
        "def" | "dd" | "glossdef" => Role::As("dd"),
        "table" | "informaltable" => Role::As("table"),
        "thead" => Role::As("thead"),
        "tbody" => Role::As("tbody"),
        "tfoot" => Role::As("tfoot"),
        "tr" | "row" | "strow" | "sthead" => Role::As("tr"),
        "td" | "th" | "entry" | "cell" | "stentry" => Role::Cell,
        "fig"
        | "figure"
        | "table-wrap"
        | "boxed-text"
        | "supplementary-material"
        | "fn"
        | "example"
        | "mediaobject" => Role::Caption,
        "ref" | "mixed-citation" | "element-citation" | "citation" | "biblioentry" | "bibliomixed" | "biblStruct"
        | "bibl" | "product" | "related-object" => Role::Citation,
        "l" | "v" | "line" | "lb" | "break" => Role::Line,
        "journal-meta" | "article-id" | "article-categories" | "custom-meta-group" | "history" | "counts"
        | "funding-group" | "self-uri" | "related-article" | "object-id" | "pub-id" | "tex-math" | "annotation"
        | "indexterm" | "index-term" | "binary" | "stylesheet" | "graphic" | "encodingDesc" | "profileDesc"
        | "revisionDesc" | "xenoData" | "publicationStmt" | "sourceDesc" | "document-info" | "publish-info"
        | "src-title-info" | "genre" | "coverpage" | "revhistory" | "copyright" | "legalnotice" | "releaseinfo"
        | "permissions" | "author-notes" | "volume-id" | "contrib-id" | "colspec" | "remark" | "metadata" | "id"
        | "facsimile" | "fw" | "textobject" => skip(name, in_meta),
        "body" | "back" | "front" | "text" | "group" | "caption" | "title-group" | "contrib-group" | "authorgroup"
        | "fileDesc" | "titleStmt" | "title-info" | "titlepage" | "docTitle" | "label" | "tgroup" | "varlistentry"
        | "def-item" | "glossentry" | "annotation-fb" => Role::Inline,
        _ if in_meta => Role::Skip,
        _ => Role::Inline,
    }
}

/// Some of these mean something else in the text.
fn skip(name: &str, in_meta: bool) -> Role {
    match name {
        "annotation" if in_meta => Role::Section(None),
        "permissions" | "copyright" | "history" | "genre" | "metadata" | "id" if !in_meta => Role::Inline,
        _ => Role::Skip,
    }
}
