use super::*;

fn check(language: &str, text: &str, want: &[(&str, &str)]) {
    let blocks = blocks(text, language).expect("the language has a grammar");
    let got: Vec<_> =
        blocks.iter().map(|block| (block.heading.join(" > "), text[block.span.range()].to_owned())).collect();
    let want: Vec<_> = want.iter().map(|&(heading, text)| (heading.to_owned(), text.to_owned())).collect();
    assert_eq!(got, want, "{language}");
}

#[test]
fn rust() {
    check(
        "rust",
        "//! module\n\nuse std::fmt;\n\n/// Adds.\n#[inline]\npub fn add(a: u8) -> u8 {\n    fn inner() {}\n    a\n}\n\nimpl<T> fmt::Debug for Pump<T> {\n    /// Starts.\n    pub fn start(&self) {\n        go();\n    }\n\n    fn stop() {}\n}\n\nconst X: u8 = 1;\n",
        &[
            ("", "//! module\n\nuse std::fmt;"),
            ("add", "/// Adds.\n#[inline]\npub fn add(a: u8) -> u8 {\n    fn inner() {}\n    a\n}"),
            ("Pump", "impl<T> fmt::Debug for Pump<T> {"),
            ("Pump > start", "    /// Starts.\n    pub fn start(&self) {\n        go();\n    }"),
            ("Pump > stop", "    fn stop() {}\n}"),
            ("", "const X: u8 = 1;"),
        ],
    );
}

#[test]
fn python() {
    check(
        "python",
        "\"\"\"Module.\n\ndef not_code(): pass\n\"\"\"\nimport os\n\n# why\n@cached\ndef a(x):\n    \"\"\"Doc.\"\"\"\n    return 1\n\nclass B:\n    y = 1\n\n    @property\n    def c(self):\n        def d(): pass\n        return d\n\nprint(a)\n",
        &[
            ("", "\"\"\"Module.\n\ndef not_code(): pass\n\"\"\"\nimport os"),
            ("a", "# why\n@cached\ndef a(x):\n    \"\"\"Doc.\"\"\"\n    return 1"),
            ("B", "class B:\n    y = 1"),
            ("B > c", "    @property\n    def c(self):\n        def d(): pass\n        return d"),
            ("", "print(a)"),
        ],
    );
}

#[test]
fn javascript_and_typescript() {
    check(
        "javascript",
        "import x from 'x';\n\n/** Adds. */\nexport function add(a) {\n  return a;\n}\n\nexport const go = async () => {\n  run();\n};\n\nexport default class Pump extends Base {\n  // starts\n  start() {\n    return <b/>;\n  }\n}\n\nexports.stop = function () {\n};\n",
        &[
            ("", "import x from 'x';"),
            ("add", "/** Adds. */\nexport function add(a) {\n  return a;\n}"),
            ("go", "export const go = async () => {\n  run();\n};"),
            ("Pump", "export default class Pump extends Base {"),
            ("Pump > start", "  // starts\n  start() {\n    return <b/>;\n  }\n}"),
            ("exports.stop", "exports.stop = function () {\n};"),
        ],
    );
    check(
        "typescript",
        "interface Options {\n  a: string;\n}\n\nnamespace N {\n  export function f(): void {\n  }\n}\n\nconst View = () => {\n  return <div>x</div>;\n};\n",
        &[
            ("Options", "interface Options {\n  a: string;\n}"),
            ("N", "namespace N {"),
            ("N > f", "  export function f(): void {\n  }\n}"),
            ("View", "const View = () => {\n  return <div>x</div>;\n};"),
        ],
    );
}

#[test]
fn the_c_family() {
    check(
        "c",
        "/* Copyright X */\n\n#include <a.h>\n\nstruct point {\n  int x;\n};\n\n/* Parses. */\nstatic char *parse(const char *s)\n{\n  return 0;\n}\n",
        &[
            ("", "/* Copyright X */"),
            ("", "#include <a.h>"),
            ("point", "struct point {\n  int x;\n};"),
            ("parse", "/* Parses. */\nstatic char *parse(const char *s)\n{\n  return 0;\n}"),
        ],
    );
    check(
        "cpp",
        "namespace a {\n\ntemplate <class T>\nclass Pump {\n public:\n  int flow() const { return 1; }\n};\n\nvoid Pump::start(int speed) {\n}\n\n}  // namespace a\n",
        &[
            ("a", "namespace a {"),
            ("a > Pump", "template <class T>\nclass Pump {\n public:"),
            ("a > Pump > flow", "  int flow() const { return 1; }\n};"),
            ("a > Pump > start", "void Pump::start(int speed) {\n}"),
            ("a", "}  // namespace a"),
        ],
    );
    check(
        "java",
        "package p;\n\n/** A pump. */\npublic class Pump {\n    @Override\n    public void start() {\n    }\n}\n",
        &[
            ("", "package p;"),
            ("Pump", "/** A pump. */\npublic class Pump {"),
            ("Pump > start", "    @Override\n    public void start() {\n    }\n}"),
        ],
    );
    check(
        "csharp",
        "using System;\n\nnamespace N\n{\n    /// <summary>x</summary>\n    [Serializable]\n    public class Pump\n    {\n        public void Start() { }\n    }\n}\n",
        &[
            ("", "using System;"),
            ("N", "namespace N\n{"),
            ("N > Pump", "    /// <summary>x</summary>\n    [Serializable]\n    public class Pump\n    {"),
            ("N > Pump > Start", "        public void Start() { }\n    }\n}"),
        ],
    );
}

#[test]
fn go_ruby_php_shell_and_sql() {
    check(
        "go",
        "package main\n\n// Server serves.\ntype Server struct {\n\tx int\n}\n\n// Serve runs.\nfunc (s *Server) Serve() error {\n\treturn nil\n}\n\nfunc main() {\n}\n",
        &[
            ("", "package main"),
            ("Server", "// Server serves.\ntype Server struct {\n\tx int\n}"),
            ("Server > Serve", "// Serve runs.\nfunc (s *Server) Serve() error {\n\treturn nil\n}"),
            ("main", "func main() {\n}"),
        ],
    );
    check(
        "ruby",
        "require 'x'\n\nmodule A\n  class Pump < Base\n    # Starts.\n    def start\n    end\n\n    def self.build(x)\n    end\n  end\nend\n",
        &[
            ("", "require 'x'"),
            ("A", "module A"),
            ("A > Pump", "  class Pump < Base"),
            ("A > Pump > start", "    # Starts.\n    def start\n    end"),
            ("A > Pump > build", "    def self.build(x)\n    end"),
            ("A > Pump", "  end"),
            ("A", "end"),
        ],
    );
    check(
        "php",
        "<?php\nnamespace App;\n\nclass Pump {\n    /** Starts. */\n    public function start(): void {\n    }\n}\n",
        &[
            ("", "<?php\nnamespace App;"),
            ("Pump", "class Pump {"),
            ("Pump > start", "    /** Starts. */\n    public function start(): void {\n    }\n}"),
        ],
    );
    check(
        "shell",
        "set -e\n\n# Deploys.\ndeploy() {\n  echo x\n}\n\ndeploy\n",
        &[("", "set -e"), ("deploy", "# Deploys.\ndeploy() {\n  echo x\n}"), ("", "deploy")],
    );
    check(
        "sql",
        "-- Pumps.\nCREATE TABLE pumps (\n  id int\n);\n\nSELECT 1;\n",
        &[("pumps", "-- Pumps.\nCREATE TABLE pumps (\n  id int\n);"), ("", "SELECT 1;")],
    );
}

#[test]
fn errors_lose_nothing_and_other_files_are_not_parsed() {
    let broken = "fn good() {\n    1\n}\n\n)) let é = }{ ((\n\nfn also() {\n    2\n}\n";
    let found = blocks(broken, "rust").expect("it has items");
    let covered: String = found.iter().map(|block| &broken[block.span.range()]).collect();
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(bare(&covered), bare(broken));
    assert!(found.iter().any(|block| block.heading == ["good"]));
    assert!(blocks("a: 1\n", "yaml").is_none());
    assert!(blocks(&"export function a(){return 1}".repeat(500), "javascript").is_none(), "minified");
    assert!(blocks(&"x = 1\n".repeat(MAX_BYTES), "python").is_none(), "too large");
    for piece in ["(", "<a", "\"", "fn a(", "class A {", "`${", "x=", "é "] {
        let text = format!("{}\n", piece.repeat(20)).repeat(20);
        for language in ["rust", "python", "typescript", "cpp", "sql", "ruby", "shell", "php", "csharp", "go"] {
            let found = blocks(&text, language).unwrap_or_default();
            let covered: String = found.iter().map(|block| &text[block.span.range()]).collect();
            assert!(found.is_empty() || bare(&covered) == bare(&text), "{language} {piece}");
        }
    }
}
