//! The grammars, and what their kinds of nodes are to us.

use tree_sitter::{Language, Node};

/// What a node is to the one who cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Has a name, and is not cut while it is short.
    Item,
    /// Has a name, and others with names may stand inside it.
    Container,
    /// Stands around an item and belongs to it.
    Wrapper,
    /// Has no name, but items inside it.
    Body,
    Other,
}

/// The grammars a source may be in, the likeliest first: a C header may be C++, TypeScript may hold JSX.
pub fn grammars(language: &str) -> Vec<Language> {
    let grammars: &[tree_sitter_language::LanguageFn] = match language {
        "rust" => &[tree_sitter_rust::LANGUAGE],
        "python" => &[tree_sitter_python::LANGUAGE],
        "javascript" => &[tree_sitter_javascript::LANGUAGE],
        "typescript" => &[tree_sitter_typescript::LANGUAGE_TYPESCRIPT, tree_sitter_typescript::LANGUAGE_TSX],
        "go" => &[tree_sitter_go::LANGUAGE],
        "java" => &[tree_sitter_java::LANGUAGE],
        "c" => &[tree_sitter_c::LANGUAGE, tree_sitter_cpp::LANGUAGE],
        "cpp" => &[tree_sitter_cpp::LANGUAGE],
        "csharp" => &[tree_sitter_c_sharp::LANGUAGE],
        "ruby" => &[tree_sitter_ruby::LANGUAGE],
        "php" => &[tree_sitter_php::LANGUAGE_PHP],
        "shell" => &[tree_sitter_bash::LANGUAGE],
        "sql" => &[tree_sitter_sequel::LANGUAGE],
        _ => &[],
    };
    grammars.iter().map(|&grammar| grammar.into()).collect()
}

/// One table for all grammars: they agree on what they call things.
pub fn role(node: Node<'_>) -> Role {
    match node.kind() {
        // A namespace of TypeScript.
        "expression_statement" if node.named_child(0).is_some_and(|child| child.kind() == "internal_module") => {
            Role::Wrapper
        }
        // Rust
        "function_item" | "function_signature_item" | "macro_definition" | "type_item" => Role::Item,
        "struct_item" | "enum_item" | "union_item" | "trait_item" | "impl_item" | "mod_item" => Role::Container,
        // Python, C, C++, PHP, shell, JavaScript, TypeScript, Go, Java, C#, Ruby
        "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "method_definition"
        | "method_declaration"
        | "abstract_method_signature"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "destructor_declaration"
        | "operator_declaration"
        | "property_declaration"
        | "delegate_declaration"
        | "local_function_statement"
        | "method"
        | "singleton_method"
        | "type_alias_declaration"
        | "type_definition"
        | "alias_declaration"
        | "concept_definition"
        | "preproc_function_def"
        | "type_declaration"
        | "lexical_declaration"
        | "variable_declaration"
        | "expression_statement" => Role::Item,
        "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "annotation_type_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "record_struct_declaration"
        | "struct_declaration"
        | "trait_declaration"
        | "namespace_declaration"
        | "namespace_definition"
        | "internal_module"
        | "class"
        | "singleton_class"
        | "class_specifier"
        | "struct_specifier"
        | "union_specifier"
        | "enum_specifier" => Role::Container,
        // The root of some trees has this kind too, but no name.
        "module" => Role::Container,
        // SQL
        "create_table"
        | "create_view"
        | "create_materialized_view"
        | "create_function"
        | "create_procedure"
        | "create_trigger"
        | "create_type"
        | "create_index"
        | "create_schema"
        | "create_sequence"
        | "create_database"
        | "create_role"
        | "alter_table" => Role::Item,
        "export_statement" | "decorated_definition" | "template_declaration" | "ambient_declaration" | "statement" => {
            Role::Wrapper
        }
        "ERROR"
        | "declaration_list"
        | "field_declaration_list"
        | "class_body"
        | "interface_body"
        | "enum_body"
        | "enum_body_declarations"
        | "annotation_type_body"
        | "enum_declaration_list"
        | "block"
        | "statement_block"
        | "body_statement"
        | "compound_statement"
        | "linkage_specification"
        | "preproc_if"
        | "preproc_ifdef"
        | "preproc_else"
        | "preproc_elif"
        | "file_scoped_namespace_declaration"
        | "foreign_mod_item"
        | "access_specifier"
        | "program"
        | "global_statement" => Role::Body,
        _ => Role::Other,
    }
}
