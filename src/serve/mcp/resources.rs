//! Documents as resources: `rag://doc/{id}`, from a byte on with `?offset=`.

use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::{
    handler::untrusted,
    reply::{BUDGET_TOKENS, cursor, cut, one_line, read_cursor},
    state::State,
    tools::{document_of, text_of_document},
};
use crate::serve::told::Told;

const DOCUMENT: &str = "rag://doc/";
/// Documents of one page.
const PAGE: usize = 100;
const MIME: &str = "text/plain";

pub fn templates() -> Vec<ResourceTemplate> {
    let whole = ResourceTemplate::new("rag://doc/{id}", "document")
        .with_title("A document")
        .with_description(
            "The text of a document, or the beginning of a long one; `search` and `list_sources` give ids.",
        )
        .with_mime_type(MIME);
    let part = ResourceTemplate::new("rag://doc/{id}{?offset}", "document-from")
        .with_title("A document from a byte on")
        .with_description("The text of a document from a byte on.")
        .with_mime_type(MIME);
    vec![whole, part]
}

/// The documents, page by page. With no index yet there are none.
pub fn list(state: &State, from: Option<&str>) -> Result<ListResourcesResult, Told> {
    let skip = read_cursor(from)?;
    let Some(snapshot) = state.documents()? else { return Ok(ListResourcesResult::default()) };
    let ids = snapshot.source_ids(None, None)?;
    let mut resources = Vec::new();
    for id in ids.iter().skip(skip).take(PAGE) {
        let Some(source) = snapshot.source(*id)? else { continue };
        let mut resource = Resource::new(format!("{DOCUMENT}{id}"), one_line(&source.display_path()))
            .with_mime_type(MIME)
            .with_size(source.text_bytes);
        if let Some(title) = &source.title {
            resource = resource.with_title(one_line(title));
        }
        resources.push(resource);
    }
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = (skip + PAGE < ids.len()).then(|| cursor(skip + PAGE).as_str().unwrap_or_default().to_owned());
    Ok(listed)
}

/// The text of a document. Errors: usage for an address that is none of ours, not found.
pub fn read(state: &State, uri: &str) -> Result<ReadResourceResult, Told> {
    let wrong = || {
        Told::usage(format!("`{}` is no resource of this server", one_line(uri)))
            .hint("resources are `rag://doc/{id}` and `rag://doc/{id}?offset={byte}`")
    };
    let rest = uri.strip_prefix(DOCUMENT).ok_or_else(wrong)?;
    let (id, offset) = match rest.split_once('?') {
        Some((id, query)) => {
            (id, query.strip_prefix("offset=").and_then(|digits| digits.parse::<usize>().ok()).ok_or_else(wrong)?)
        }
        None => (rest, 0),
    };
    let snapshot = state.need_documents()?;
    let source = document_of(&snapshot, Some(id), None, None)?;
    let whole = text_of_document(&snapshot, source.id)?;
    let start = whole.floor_char_boundary(offset.min(whole.len()));
    let text = cut(&whole[start..], BUDGET_TOKENS);
    let next = start + text.len();
    let mut meta = untrusted();
    meta.0.insert("ragstone/total_bytes".to_owned(), whole.len().into());
    if next < whole.len() {
        let more = format!("{DOCUMENT}{}?offset={next}", source.id);
        meta.0.insert("ragstone/next".to_owned(), more.into());
    }
    let contents = ResourceContents::text(text, uri).with_mime_type(MIME).with_meta(meta);
    Ok(ReadResourceResult::new(vec![contents]))
}
