//! How many tokens a text will cost a chat model whose tokenizer we do not have.
//!
//! Useful for: filling a context window without running over it. Not for: chunk sizes, which the embedder's own tokenizer
//! counts exactly.

/// Estimates tokens from above: a third of a token a byte, as holds for words of any alphabet; digits and signs one
/// each, because many tokenizers split them; three halves for characters of three bytes, three for those of four.
pub(super) fn tokens(text: &str) -> usize {
    let sixths: usize = text
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | ' ' | '\n' => 2,
            '\0'..='\x7f' => 6,
            _ => [4, 9, 18][letter.len_utf8() - 2],
        })
        .sum();
    sixths.div_ceil(6)
}

/// Tokens of a message beyond its text: roles and template marks.
pub(super) const MESSAGE_TOKENS: usize = 8;

/// What passages may cost: the context without the answer, the rest of the prompt, and a tenth in reserve because the
/// count is an estimate. 0 if nothing is left.
pub(super) fn for_passages(context_tokens: usize, max_tokens: u32, overhead_tokens: usize) -> usize {
    (context_tokens - context_tokens / 10).saturating_sub(max_tokens as usize).saturating_sub(overhead_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_from_above() {
        for (text, least) in [
            ("", 0),
            ("The quick brown fox jumps over the lazy dog", 9),
            ("1987-03-12", 10),
            ("我们的员工有二十五天年假", 18),
            ("Größenänderungen", 5),
            ("fn main() { println!(\"{}\", x[1]); }", 15),
            ("🦀🦀", 6),
        ] {
            assert!(tokens(text) >= least, "{text}: {}", tokens(text));
            assert!(tokens(text) >= text.len().div_ceil(3) || !text.is_ascii(), "{text}");
        }
    }

    #[test]
    fn a_window_too_small_leaves_nothing() {
        assert_eq!(for_passages(4096, 800, 300), 2587);
        assert_eq!(for_passages(800, 800, 0), 0);
        assert_eq!(for_passages(0, u32::MAX, usize::MAX), 0);
    }
}
