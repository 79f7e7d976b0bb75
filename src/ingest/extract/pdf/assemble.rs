//! Placed runs of letters into lines in reading order: columns one after the other, tables row by row.
//!
//! For pages whose text stands upright and runs from left to right. Linear in the runs, but for sorting.

/// Letters set together.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub left: f32,
    pub right: f32,
    /// Distance of the base line from the bottom of the page.
    pub base: f32,
    pub size: f32,
    pub text: String,
}

/// Space between runs, in sizes of their letters: more than this is a space between words.
const WORD_GAP: f32 = 0.16;

/// More than this may be a gutter, and more than that separates cells.
const GUTTER_GAP: f32 = 0.6;
const CELL_GAP: f32 = 1.3;

/// Room above or below a line that sets it apart from columns, in sizes of its letters.
const EDGE_GAP: f32 = 2.2;

/// What stands between cells of a row.
const CELL_MARK: &str = "   ";

/// Fewest lines on each side of a gutter.
const MIN_COLUMN_LINES: usize = 4;

/// Columns are looked for in columns so many times.
const MAX_DEPTH: u8 = 3;

/// Width a line of prose takes of its column, and characters it has, of half of the lines.
const MIN_FILL: f32 = 0.6;
const MIN_PROSE: usize = 18;

/// Runs of one line without a wide gap between them.
#[derive(Debug, Clone)]
struct Segment {
    left: f32,
    right: f32,
    base: f32,
    size: f32,
    text: String,
}

/// Writes the runs of a page as lines, with a blank line between paragraphs; and says of each paragraph how large it is set.
pub fn assemble(runs: Vec<Run>) -> (String, Vec<(String, f32)>) {
    let rows = rows(runs);
    let mut lines = Vec::new();
    order(rows, MAX_DEPTH, &mut lines);
    written(&lines)
}

/// Runs on one base line each, as segments from left to right; rows from top to bottom.
fn rows(mut runs: Vec<Run>) -> Vec<Vec<Segment>> {
    runs.retain(|run| run.left.is_finite() && run.right.is_finite() && run.base.is_finite() && run.size.is_finite());
    runs.sort_by(|a, b| b.base.total_cmp(&a.base).then(a.left.total_cmp(&b.left)));
    let mut grouped: Vec<Vec<Run>> = Vec::new();
    let mut at = (0.0f32, 0.0f32);
    for run in runs {
        // Signs above and below the line belong to it: they are near, for their size.
        let reach = 0.5 * run.size.min(at.1);
        match grouped.last_mut() {
            Some(row) if (at.0 - run.base).abs() <= reach => {
                if run.size > at.1 {
                    at = (run.base, run.size);
                }
                row.push(run);
            }
            _ => {
                at = (run.base, run.size);
                grouped.push(vec![run]);
            }
        }
    }
    grouped.into_iter().map(segments).collect()
}

fn segments(mut row: Vec<Run>) -> Vec<Segment> {
    row.sort_by(|a, b| a.left.total_cmp(&b.left));
    let mut segments: Vec<Segment> = Vec::new();
    for run in row {
        let Some(last) = segments.last_mut() else {
            segments.push(begin(run));
            continue;
        };
        let gap = run.left - last.right;
        let size = run.size.min(last.size).max(1.0);
        if gap > GUTTER_GAP * size {
            segments.push(begin(run));
            continue;
        }
        let is_apart = gap > WORD_GAP * size;
        if is_apart && !last.text.ends_with(char::is_whitespace) && !run.text.starts_with(char::is_whitespace) {
            last.text.push(' ');
        }
        last.text.push_str(&run.text);
        last.right = last.right.max(run.right);
        if run.size > last.size {
            (last.size, last.base) = (run.size, run.base);
        }
    }
    segments
}

fn begin(run: Run) -> Segment {
    Segment { left: run.left, right: run.right, base: run.base, size: run.size, text: run.text }
}

/// Puts rows into reading order: where a gutter runs down between columns of prose, the left one comes first.
fn order(rows: Vec<Vec<Segment>>, depth: u8, lines: &mut Vec<Vec<Segment>>) {
    let gutter = if depth > 0 { gutter(&rows) } else { None };
    let Some(gutter) = gutter else {
        lines.extend(rows);
        return;
    };
    let mut band: Vec<Vec<Segment>> = Vec::new();
    let last = rows.len().saturating_sub(1);
    let (is_head, is_foot) = (is_apart(&rows, 0, 1), is_apart(&rows, last.saturating_sub(1), last));
    for (at, row) in rows.into_iter().enumerate() {
        let is_edge = (at == 0 && is_head) || (at == last && is_foot);
        if is_edge || row.iter().any(|segment| segment.left < gutter && segment.right > gutter) {
            columns(std::mem::take(&mut band), gutter, depth, lines);
            lines.push(row);
        } else {
            band.push(row);
        }
    }
    columns(band, gutter, depth, lines);
}

/// Whether two rows that follow each other are far apart.
fn is_apart(rows: &[Vec<Segment>], above: usize, below: usize) -> bool {
    let first = |at: usize| rows.get(at).and_then(|row| row.first());
    let (Some(above), Some(below)) = (first(above), first(below)) else { return false };
    above.base - below.base > EDGE_GAP * above.size.min(below.size)
}

fn columns(band: Vec<Vec<Segment>>, gutter: f32, depth: u8, lines: &mut Vec<Vec<Segment>>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for row in band {
        let (a, b): (Vec<Segment>, Vec<Segment>) = row.into_iter().partition(|segment| segment.right <= gutter);
        left.extend((!a.is_empty()).then_some(a));
        right.extend((!b.is_empty()).then_some(b));
    }
    order(left, depth - 1, lines);
    order(right, depth - 1, lines);
}

/// Where a gutter runs between two columns of prose, if one does.
fn gutter(rows: &[Vec<Segment>]) -> Option<f32> {
    const STEPS: usize = 200;
    let all = || rows.iter().flatten();
    let left = all().map(|segment| segment.left).fold(f32::INFINITY, f32::min);
    let right = all().map(|segment| segment.right).fold(f32::NEG_INFINITY, f32::max);
    let width = right - left;
    if width.is_nan() || width <= 1.0 || rows.len() < MIN_COLUMN_LINES {
        return None;
    }
    // Segments that cross each place across the page.
    let place = |x: f32| (((x - left) / width * STEPS as f32) as usize).min(STEPS);
    let mut steps = [0i64; STEPS + 2];
    for segment in all() {
        let (first, last) = (place(segment.left), place(segment.right));
        if let Some(step) = steps.get_mut(first) {
            *step += 1;
        }
        if let Some(step) = steps.get_mut(last + 1) {
            *step -= 1;
        }
    }
    let mut crossing = 0;
    let mut crossed = Vec::with_capacity(STEPS + 1);
    for step in steps.iter().take(STEPS + 1) {
        crossing += step;
        crossed.push(crossing);
    }
    // The least crossed place of the middle, in the middle of its like.
    let middle = STEPS / 6..STEPS - STEPS / 6;
    let least = crossed.get(middle.clone())?.iter().min().copied()?;
    let mut best: Option<(usize, usize)> = None;
    let mut start = None;
    for at in middle.start..=middle.end {
        let is_least = at < middle.end && crossed.get(at) == Some(&least);
        match (start, is_least) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                if best.is_none_or(|(a, b)| at - first > b - a) {
                    best = Some((first, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    let (first, end) = best?;
    let gutter = left + width * (first + end) as f32 / 2.0 / STEPS as f32;
    let side = |is_left: bool| -> Vec<Segment> {
        let is_here = |segment: &&Segment| if is_left { segment.right <= gutter } else { segment.left >= gutter };
        rows.iter().filter_map(|row| whole(row.iter().filter(is_here))).collect()
    };
    let crossing = all().filter(|segment| segment.left < gutter && segment.right > gutter).count();
    let (a, b) = (side(true), side(false));
    let is_rare = crossing * 2 <= a.len() + b.len();
    (is_rare && is_prose(&a) && is_prose(&b) && overlap(&a, &b)).then_some(gutter)
}

/// Segments of a row as one.
fn whole<'a>(mut segments: impl Iterator<Item = &'a Segment>) -> Option<Segment> {
    let mut whole = segments.next()?.clone();
    for segment in segments {
        whole.right = whole.right.max(segment.right);
        whole.text.push(' ');
        whole.text.push_str(&segment.text);
    }
    Some(whole)
}

/// Most lines are about as wide as the column, and have words in them.
fn is_prose(side: &[Segment]) -> bool {
    if side.len() < MIN_COLUMN_LINES {
        return false;
    }
    let left = side.iter().map(|segment| segment.left).fold(f32::INFINITY, f32::min);
    let right = side.iter().map(|segment| segment.right).fold(f32::NEG_INFINITY, f32::max);
    let is_line = |segment: &&Segment| {
        segment.right - segment.left >= MIN_FILL * (right - left)
            && segment.text.chars().take(MIN_PROSE).count() == MIN_PROSE
    };
    side.iter().filter(is_line).count() * 2 > side.len()
}

/// The columns stand beside each other.
fn overlap(a: &[Segment], b: &[Segment]) -> bool {
    let ends = |side: &[Segment]| {
        let top = side.iter().map(|segment| segment.base).fold(f32::NEG_INFINITY, f32::max);
        let bottom = side.iter().map(|segment| segment.base).fold(f32::INFINITY, f32::min);
        (bottom, top)
    };
    let ((a_bottom, a_top), (b_bottom, b_top)) = (ends(a), ends(b));
    let shared = a_top.min(b_top) - a_bottom.max(b_bottom);
    shared * 2.0 >= (a_top - a_bottom).min(b_top - b_bottom)
}

/// A line as it is written.
struct Line {
    left: f32,
    right: f32,
    base: f32,
    size: f32,
    is_row: bool,
    text: String,
}

fn written(rows: &[Vec<Segment>]) -> (String, Vec<(String, f32)>) {
    let none: &[Segment] = &[];
    let beside = |at: Option<usize>| at.and_then(|at| rows.get(at)).map_or(none, Vec::as_slice);
    let lines: Vec<Line> = rows
        .iter()
        .enumerate()
        .filter_map(|(at, row)| line(row, [beside(at.checked_sub(1)), beside(Some(at + 1))]))
        .collect();
    // The usual distance of lines, in sizes of their letters.
    let mut pitches: Vec<f32> = lines
        .windows(2)
        .filter_map(|pair| {
            let [a, b] = pair else { return None };
            let pitch = (a.base - b.base) / a.size.max(1.0);
            (pitch > 0.5 && pitch < 2.5 && is_like(a.size, b.size)).then_some(pitch)
        })
        .collect();
    pitches.sort_by(f32::total_cmp);
    let usual = pitches.get(pitches.len() / 2).copied().unwrap_or(1.25);
    let mut out = String::new();
    let mut paragraphs: Vec<(String, f32)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| lines.get(at));
        let is_new = before.is_none_or(|before| is_break(before, line, lines.get(at + 1), usual));
        if before.is_some() {
            out.push_str(if is_new { "\n\n" } else { "\n" });
        }
        out.push_str(&line.text);
        match paragraphs.last_mut() {
            Some((text, _)) if !is_new => text.push_str(&line.text),
            _ => paragraphs.push((line.text.clone(), line.size)),
        }
    }
    (out, paragraphs)
}

fn line(row: &[Segment], beside: [&[Segment]; 2]) -> Option<Line> {
    let (first, last) = (row.first()?, row.last()?);
    let widest = row.iter().max_by_key(|segment| segment.text.len())?;
    let mut text = String::new();
    let mut is_row = false;
    let mut end = first.left;
    for segment in row {
        let words = segment.text.trim();
        if words.is_empty() {
            continue;
        }
        let is_cell =
            !is_mark(&text) && (segment.left - end > CELL_GAP * segment.size.max(1.0) || is_aligned(segment, beside));
        if !text.is_empty() {
            text.push_str(if is_cell { CELL_MARK } else { " " });
            is_row |= is_cell;
        }
        text.push_str(words);
        end = segment.right;
    }
    (!text.is_empty()).then_some(Line {
        left: first.left,
        right: last.right,
        base: widest.base,
        size: widest.size,
        is_row,
        text,
    })
}

/// Whether a segment begins or ends where another one does in the row above or below, and not as the first there.
fn is_aligned(segment: &Segment, beside: [&[Segment]; 2]) -> bool {
    let near = 0.15 * segment.size;
    beside.iter().any(|row| {
        row.iter()
            .skip(1)
            .any(|other| (other.left - segment.left).abs() <= near || (other.right - segment.right).abs() <= near)
    })
}

/// The mark of an item: a sign, or a short number or letter with a full stop or a bracket.
fn is_mark(text: &str) -> bool {
    let bare = text.trim_matches(['(', ')', '.']);
    match bare.chars().count() {
        0 => true,
        1 => bare != text || !bare.contains(char::is_alphanumeric),
        _ => bare != text && bare.len() <= 3 && bare.chars().all(|c| c.is_ascii_digit()),
    }
}

/// Whether a line begins with the number of a section, or of an item.
fn is_numbered(text: &str) -> bool {
    let Some((mark, rest)) = text.split_once(' ') else { return false };
    let is_number = mark.len() <= 8
        && mark.starts_with(|c: char| c.is_ascii_digit())
        && mark.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ')'));
    is_number && rest.trim_start().starts_with(char::is_uppercase)
}

fn is_like(a: f32, b: f32) -> bool {
    (a - b).abs() <= 0.08 * a.max(b)
}

/// Whether a paragraph ends between two lines.
fn is_break(before: &Line, line: &Line, after: Option<&Line>, usual: f32) -> bool {
    let size = line.size.max(1.0);
    let pitch = (before.base - line.base) / size.min(before.size.max(1.0));
    if before.is_row && line.is_row {
        return pitch > 3.0 * usual || pitch < 0.0;
    }
    // A new column, or more room than usual.
    if pitch < 0.0 {
        return !is_carried(before, line);
    }
    let is_full = before.right - before.left >= 0.9 * (line.right - line.left).max(before.right - before.left);
    if is_numbered(&line.text) && !line.is_row && (!is_full || before.text.ends_with(['.', ':', '!', '?'])) {
        return true;
    }
    if pitch > 1.3 * usual || !is_like(before.size, line.size) || before.is_row != line.is_row {
        return true;
    }
    // The first line of a paragraph is set in from the lines around it.
    let is_in = |of: &Line, from: &Line| of.left - from.left > 0.7 * size && of.left - from.left < 5.0 * size;
    let is_item = line.text.starts_with(|c: char| !c.is_alphabetic());
    is_in(line, before)
        && !is_item
        && after.is_none_or(|after| is_in(line, after) || after.left < line.left)
        && before.text.ends_with(['.', '!', '?', ':', '”', '"'])
}

/// A sentence goes on in the next column.
fn is_carried(before: &Line, line: &Line) -> bool {
    is_like(before.size, line.size)
        && !before.text.ends_with(['.', '!', '?', ':', ';'])
        && line.text.starts_with(char::is_lowercase)
        && line.right > line.left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs as left, base line, text; letters are half as wide as high, and 10 high.
    fn check(runs: &[(f32, f32, &str)], want: &str) {
        let runs = runs.iter().map(|&(left, base, text)| {
            let right = left + 5.0 * text.chars().count() as f32;
            Run { left, right, base, size: 10.0, text: text.into() }
        });
        assert_eq!(assemble(runs.collect()).0, want);
    }

    #[test]
    fn runs_become_lines() {
        check(
            &[(50.0, 688.0, "second line"), (50.0, 700.0, "first"), (78.0, 700.0, "line")],
            "first line\nsecond line",
        );
        check(&[(50.0, 700.0, "W"), (55.2, 700.0, "ord")], "Word");
        check(&[(50.0, 700.0, "x"), (55.0, 703.0, "2")], "x2");
        check(&[(50.0, 700.0, "one"), (50.0, 688.0, "two"), (50.0, 660.0, "three")], "one\ntwo\n\nthree");
        check(&[], "");
    }

    #[test]
    fn rows_keep_together() {
        check(
            &[
                (50.0, 700.0, "Part"),
                (200.0, 700.0, "Torque"),
                (50.0, 682.0, "M4"),
                (200.0, 682.0, "14 Nm"),
                (50.0, 664.0, "M5"),
                (200.0, 664.0, "17 Nm"),
            ],
            "Part   Torque\nM4   14 Nm\nM5   17 Nm",
        );
    }

    #[test]
    fn marks_of_items_are_no_cells() {
        check(
            &[(50.0, 700.0, "•"), (65.0, 700.0, "first"), (50.0, 688.0, "2."), (65.0, 688.0, "second")],
            "• first\n2. second",
        );
    }

    #[test]
    fn columns_follow_each_other() {
        let mut runs = vec![(100.0, 740.0, "A title over both of the columns of this page of text")];
        let left: Vec<String> = (0..6).map(|n| format!("left column line number {n}")).collect();
        let right: Vec<String> = (0..6).map(|n| format!("right column line number {n}")).collect();
        for (at, (a, b)) in left.iter().zip(&right).enumerate() {
            let base = 700.0 - 12.0 * at as f32;
            runs.push((50.0, base, a));
            runs.push((300.0, base - 4.0, b));
        }
        let want = format!("{}\n\n{}\n{}", runs[0].2, left.join("\n"), right.join("\n"));
        check(&runs, &want);
    }

    #[test]
    fn strange_places_are_no_harm() {
        let run = |left, base, size| Run { left, right: left, base, size, text: "x".into() };
        let runs = vec![run(f32::NAN, 1.0, 1.0), run(1e30, -1e30, 0.0), run(-1e30, 1e30, 1e30), run(0.0, 0.0, -5.0)];
        assert_eq!(assemble(runs).0.matches('x').count(), 3);
    }
}
