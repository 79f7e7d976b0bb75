//! Pages as an engine gives them into pages as a reader wants them.
//!
//! Ligatures, presentation forms and accents set alone become letters, lines from right to left come into reading order,
//! and headers and footers are kept once. Nothing else is normalised: ² stays ².

mod edges;
mod forms;
pub mod hyphens;
pub mod rtl;

pub use forms::bullets;

/// Cleans the text of one page, as far as that needs no other.
pub fn page(text: String) -> String {
    forms::compose_accents(rtl::in_reading_order(forms::bullets(forms::line_ends(text))))
}

/// Cleans what shows only when all pages are there. Linear in their size.
pub fn document(pages: &mut [String]) {
    edges::drop_repeated(pages);
}
