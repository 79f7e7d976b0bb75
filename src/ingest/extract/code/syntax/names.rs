//! The name of an item, as a path: `Pump::start` is `start` in `Pump`.

use tree_sitter::Node;

use crate::ingest::extract::clean::title;

/// Longest name.
const MAX_NAME_BYTES: usize = 200;

/// Deepest declarator that is followed: a pointer to a function that returns a pointer.
const MAX_DECLARATORS: usize = 12;

/// The names of a node, outermost first; `None` if it has none that is worth a heading.
pub fn path(node: Node<'_>, text: &str) -> Option<Vec<String>> {
    let name = match node.kind() {
        "impl_item" => base(said(node.child_by_field_name("type")?, text)?),
        "class_specifier" | "struct_specifier" | "union_specifier" | "enum_specifier" => {
            // Without a body it is only a use of the type.
            node.child_by_field_name("body")?;
            said(node.child_by_field_name("name")?, text)?
        }
        // Of a namespace without a body nothing stands inside it.
        "namespace_definition" => {
            node.child_by_field_name("body")?;
            said(node.child_by_field_name("name")?, text)?
        }
        "type_definition" => {
            if !text.get(node.byte_range())?.contains('{') {
                return None;
            }
            said(node.child_by_field_name("declarator")?, text)?
        }
        "type_declaration" => {
            let spec = node.named_child(0).filter(|spec| matches!(spec.kind(), "type_spec" | "type_alias"))?;
            said(spec.child_by_field_name("name")?, text)?
        }
        "lexical_declaration" | "variable_declaration" => bound(node, text)?,
        "expression_statement" => assigned(node, text)?,
        "property_declaration" if !text.get(node.byte_range())?.contains('\n') => return None,
        "method_declaration" if node.child_by_field_name("receiver").is_some() => {
            let receiver = said(node.child_by_field_name("receiver")?, text)?;
            let kind = receiver.trim_matches(['(', ')']).split_whitespace().last()?.trim_start_matches('*');
            let name = said(node.child_by_field_name("name")?, text)?;
            return Some([base(kind), name].into_iter().filter_map(title).collect());
        }
        "function_definition" if node.child_by_field_name("declarator").is_some() => declared(node, text)?,
        kind if kind.starts_with("create_") || kind == "alter_table" => table(node, text)?,
        _ => said(node.child_by_field_name("name")?, text)?,
    };
    let names: Vec<String> = match node.kind() {
        "function_definition" | "class_specifier" | "namespace_definition" | "class" | "module" => {
            split(name).into_iter().filter_map(title).collect()
        }
        _ => title(name).into_iter().collect(),
    };
    (!names.is_empty()).then_some(names)
}

fn said<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    text.get(node.byte_range()).filter(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES)
}

/// A type without its parameters.
fn base(name: &str) -> &str {
    name.split(['<', '[', '(']).next().unwrap_or(name).trim_start_matches(['&', '*']).trim()
}

/// Cuts `a::b` apart, but not inside the parameters of a type, and not an operator.
fn split(name: &str) -> Vec<&str> {
    if name.contains('<') || name.contains("operator") { vec![name] } else { name.split("::").collect() }
}

/// The innermost declarator of a C function.
fn declared<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let mut inner = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_DECLARATORS {
        match inner.child_by_field_name("declarator") {
            Some(next) => inner = next,
            // A reference or brackets around it, which name no field.
            None if matches!(inner.kind(), "reference_declarator" | "parenthesized_declarator") => {
                inner = inner.named_child(0)?;
            }
            None => break,
        }
    }
    said(inner, text)
}

/// `const name = () => …`: the name of a function or a class that is bound to it.
fn bound<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let declarator = node.named_child(0).filter(|child| child.kind() == "variable_declarator")?;
    let value = declarator.child_by_field_name("value")?;
    is_function(value).then(|| declarator.child_by_field_name("name")).flatten().and_then(|name| said(name, text))
}

/// `exports.name = function …`.
fn assigned<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let assignment = node.named_child(0).filter(|child| child.kind() == "assignment_expression")?;
    let value = assignment.child_by_field_name("right")?;
    is_function(value).then(|| assignment.child_by_field_name("left")).flatten().and_then(|name| said(name, text))
}

fn is_function(value: Node<'_>) -> bool {
    matches!(value.kind(), "arrow_function" | "function_expression" | "function" | "generator_function" | "class")
}

/// The object that a statement of SQL creates.
fn table<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let mut cursor = node.walk();
    let named =
        node.named_children(&mut cursor).find(|child| matches!(child.kind(), "object_reference" | "identifier"))?;
    said(named, text).map(|name| name.trim_matches(['"', '`', '[', ']']))
}
