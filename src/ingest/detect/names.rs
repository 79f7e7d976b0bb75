//! What names say: extensions, whole names, the words that people use.

use super::Format;

/// The file extension for what people call a format: an extension itself (`md`, `.rs`) or one of our words (`markdown`).
pub fn extension_for(word: &str) -> Option<String> {
    let word = word.trim_start_matches('.').to_lowercase();
    let extension = match word.as_str() {
        "text" | "plain" => "txt",
        "markdown" => "md",
        "python" => "py",
        "rust" => "rs",
        "javascript" => "js",
        "typescript" => "ts",
        "shell" => "sh",
        "ruby" => "rb",
        "notebook" => "ipynb",
        "asciidoc" => "adoc",
        "latex" => "tex",
        other => other,
    };
    by_name("", extension).is_some().then(|| extension.to_owned())
}

/// Names of office formats, with their templates and their forms with macros.
pub(super) fn office_name(extension: &str) -> Option<Format> {
    Some(match extension {
        "docx" | "docm" | "dotx" | "dotm" => Format::Docx,
        "pptx" | "pptm" | "ppsx" | "ppsm" | "potx" | "potm" => Format::Pptx,
        "xlsx" | "xlsm" | "xltx" | "xltm" => Format::Xlsx,
        "xls" | "xlt" => Format::Xls,
        "odt" | "ott" | "fodt" => Format::Odt,
        "ods" | "ots" | "fods" => Format::Ods,
        "odp" | "otp" | "fodp" => Format::Odp,
        _ => return None,
    })
}

pub(super) fn by_name(name: &str, extension: &str) -> Option<Format> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let whole = match file {
        "Makefile" | "makefile" | "GNUmakefile" => Some("make"),
        "Dockerfile" | "Containerfile" => Some("dockerfile"),
        "Jenkinsfile" => Some("groovy"),
        "Rakefile" | "Gemfile" | "Vagrantfile" => Some("ruby"),
        "CMakeLists.txt" => Some("cmake"),
        "Cargo.lock" => Some("toml"),
        _ => None,
    };
    if let Some(language) = whole {
        return Some(Format::Code(language));
    }
    Some(match extension {
        "txt" | "text" => Format::Text,
        "log" => Format::Log,
        "srt" | "vtt" => Format::Subtitles,
        "ipynb" => Format::Notebook,
        "rst" | "rest" => Format::Rst,
        "adoc" | "asciidoc" | "asc" => Format::AsciiDoc,
        "org" => Format::Org,
        "tex" | "latex" | "ltx" => Format::Latex,
        "md" | "markdown" | "mdown" | "mkd" | "mkdn" | "mdx" | "qmd" | "rmd" => Format::Markdown,
        "html" | "htm" | "xhtml" | "xht" => Format::Html,
        "pdf" => Format::Pdf,
        "csv" | "tsv" | "tab" | "psv" => Format::Csv,
        "json" | "json5" | "jsonc" | "geojson" | "webmanifest" | "har" => Format::Json,
        "jsonl" | "ndjson" => Format::Jsonl,
        "eml" | "emlx" => Format::Eml,
        "mbox" | "mbx" => Format::Mbox,
        "mht" | "mhtml" => Format::Mhtml,
        "xml" | "nxml" | "svg" | "rss" | "atom" | "opml" | "fb2" | "tei" | "dita" | "dbk" | "docbook" | "kml"
        | "gpx" | "tmx" | "xlf" | "xliff" => Format::Xml,
        "rtf" => Format::Rtf,
        "epub" => Format::Epub,
        other => return office_name(other).or_else(|| language(other).map(Format::Code)),
    })
}

/// The language of a file extension.
fn language(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "rs" => "rust",
        "py" | "pyi" | "pyw" => "python",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "ts" | "tsx" | "mts" | "cts" => "typescript",
        "vue" => "vue",
        "svelte" => "svelte",
        "go" => "go",
        "java" => "java",
        "c" | "h" => "c",
        "cpp" | "cc" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "h++" | "ipp" | "inl" | "cu" | "cuh" => "cpp",
        "cs" | "csx" => "csharp",
        "fs" | "fsx" | "fsi" => "fsharp",
        "rb" | "rake" | "gemspec" => "ruby",
        "php" | "phtml" => "php",
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "bats" => "shell",
        "ps1" | "psm1" | "psd1" => "powershell",
        "bat" | "cmd" => "batch",
        "sql" => "sql",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "scala" | "sc" | "sbt" => "scala",
        "groovy" | "gradle" => "groovy",
        "lua" => "lua",
        "pl" | "pm" => "perl",
        "r" => "r",
        "jl" => "julia",
        "hs" | "lhs" => "haskell",
        "ml" | "mli" => "ocaml",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "lisp" | "el" | "scm" | "rkt" => "lisp",
        "dart" => "dart",
        "zig" => "zig",
        "nim" => "nim",
        "d" => "d",
        "m" | "mm" => "objective-c",
        "f" | "f90" | "f95" | "for" => "fortran",
        "vb" | "bas" => "basic",
        "pas" | "pp" => "pascal",
        "asm" | "s" => "assembly",
        "proto" => "protobuf",
        "graphql" | "gql" => "graphql",
        "tf" | "hcl" | "tfvars" => "hcl",
        "nix" => "nix",
        "cmake" => "cmake",
        "mk" => "make",
        "dockerfile" => "dockerfile",
        "css" | "scss" | "sass" | "less" => "css",
        "xsd" | "xsl" | "xslt" | "plist" | "csproj" | "wsdl" | "rng" | "dtd" => "xml",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "ini" | "cfg" | "conf" | "properties" | "editorconfig" | "desktop" | "service" => "ini",
        _ => return None,
    })
}
