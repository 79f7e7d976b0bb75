use std::sync::Arc;

use super::*;
use crate::index::vector::{
    encode::{LiveRows, NewRow, SegmentOptions, encode_segment, merge},
    layout::{ALIGN, FOOTER_BYTES, HEADER_BYTES, HEADER_CHECKSUM, NEEDED, REQUIRED, SECTION_BYTES},
    tombstones::Tombstones,
};

fn open(bytes: &[u8]) -> Result<Segment, Damage> {
    Segment::open(Arc::new(bytes.to_vec()))
}

/// The example of `docs/format.md`.
fn tiny() -> Vec<u8> {
    let rows = [
        NewRow { id: 9, hash: [0xbb; 16], vector: &[1.0, -2.0] },
        NewRow { id: 5, hash: [0xaa; 16], vector: &[0.5, 0.25] },
    ];
    encode_segment(2, &rows, &SegmentOptions::default())
}

/// A segment with its header checksum made right again after a change.
fn resealed(mut bytes: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut bytes);
    let table = HEADER_BYTES + SECTION_BYTES * usize::from(bytes[10]);
    let checksum = crc32c::crc32c(&[&bytes[..HEADER_CHECKSUM], &bytes[HEADER_BYTES..table]].concat());
    bytes[HEADER_CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Everything made right again but what the change broke: section checksums and that of the whole.
fn resealed_whole(bytes: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = resealed(bytes, |bytes| {
        change(bytes);
        for index in 0..usize::from(bytes[10]) {
            let entry = HEADER_BYTES + SECTION_BYTES * index;
            let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
            let (offset, length) = (number(entry + 8), number(entry + 16));
            let checksum = crc32c::crc32c(&bytes[offset..offset + length]);
            bytes[entry + 24..entry + 28].copy_from_slice(&checksum.to_le_bytes());
        }
    });
    let footer = bytes.len() - FOOTER_BYTES;
    let checksum = crc32c::crc32c(&bytes[..footer]);
    bytes[footer..footer + 4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Where a section of the tiny segment starts.
fn start_of(kind: u32) -> usize {
    Header::decode(&tiny()).unwrap().section(kind).unwrap().offset as usize
}

#[test]
fn the_page_shows_the_bytes_we_write() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md")).unwrap();
    let (_, example) = page.split_once("```segment\n").expect("the page has an example");
    let (example, _) = example.split_once("```").expect("the example ends");
    let bytes = tiny();
    let shown: String = bytes
        .chunks(16)
        .enumerate()
        .filter(|(_, line)| line.iter().any(|&byte| byte != 0))
        .map(|(index, line)| {
            let line: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{:04x}  {}\n", 16 * index, line.join(" "))
        })
        .collect();
    assert_eq!(example, shown);
    assert!(page.contains(&format!("{} bytes; lines of zeros", bytes.len())));
}

#[test]
fn what_is_written_is_read() {
    let bytes = tiny();
    let segment = open(&bytes).unwrap();
    segment.verify().unwrap();
    assert_eq!((segment.dim(), segment.len(), segment.is_empty()), (2, 2, false));
    assert_eq!(segment.ids(), [9, 5]);
    assert_eq!(segment.rows(0..2, &mut Vec::new()), [1.0, -2.0, 0.5, 0.25]);
    assert_eq!(segment.row(1), &[0.5, 0.25][..]);
    assert_eq!((segment.hash(0), segment.hash(1)), ([0xbb; 16], [0xaa; 16]));
    assert_eq!(segment.sum(), [1.5, -1.75]);
    assert_eq!([5, 9, 0, 7, u64::MAX].map(|id| segment.find_id(id)), [Some(1), Some(0), None, None, None]);
    assert_eq!([0xaa, 0xbb, 0, 0xff].map(|byte| segment.find_hash(&[byte; 16])), [Some(1), Some(0), None, None]);
    for section in Header::decode(&bytes).unwrap().sections {
        assert_eq!(section.offset as usize % ALIGN, 0);
    }
}

#[test]
fn rows_of_one_text_are_found_in_their_order() {
    let vector = [0.0];
    let row = |id: u64| NewRow { id, hash: [(id % 3) as u8; 16], vector: &vector };
    let segment = open(&encode_segment(1, &(0..10).map(row).collect::<Vec<_>>(), &SegmentOptions::default())).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.find_hash(&[1; 16]), Some(1));
    assert_eq!(segment.rows_with_hash(&[1; 16]).collect::<Vec<_>>(), [1, 4, 7]);
    assert_eq!(segment.rows_with_hash(&[3; 16]).count(), 0);
}

#[test]
fn a_segment_may_have_no_rows_or_one() {
    let empty = open(&encode_segment(7, &[], &SegmentOptions::default())).unwrap();
    empty.verify().unwrap();
    assert!(empty.is_empty() && empty.ids().is_empty());
    assert_eq!((empty.find_id(0), empty.find_hash(&[0; 16]), empty.sum()), (None, None, &[0.0; 7][..]));

    let one = open(&encode_segment(
        1,
        &[NewRow { id: u64::MAX, hash: [0; 16], vector: &[f32::MAX] }],
        &SegmentOptions::default(),
    ))
    .unwrap();
    one.verify().unwrap();
    assert_eq!((one.find_id(u64::MAX), one.find_hash(&[0; 16])), (Some(0), Some(0)));
}

#[test]
fn what_would_not_verify_is_not_written() {
    let row = |id: u64, vector| NewRow { id, hash: [0; 16], vector };
    type Case<'a> = (usize, Vec<NewRow<'a>>, &'a str);
    let cases: [Case<'_>; 5] = [
        (0, vec![], "dimension 0, 1 to 65536 expected"),
        (65_537, vec![], "dimension 65537, 1 to 65536 expected"),
        (2, vec![row(4, &[1.0])], "length of the vector of 4"),
        (1, vec![row(4, &[f32::NAN])], "the vector of 4 is not finite"),
        (1, vec![row(4, &[1.0]), row(3, &[1.0]), row(4, &[1.0])], "two rows have one id"),
    ];
    for (dim, rows, expected) in cases {
        let panic = std::panic::catch_unwind(|| encode_segment(dim, &rows, &SegmentOptions::default())).unwrap_err();
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn no_flipped_bit_and_no_cut_goes_unseen() {
    let bytes = tiny();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(segment) = open(&flipped) {
                assert!(segment.verify().is_err(), "bit {bit} of byte {at}");
                assert!((256..640).contains(&at) || (640..644).contains(&at), "opening reads the head: byte {at}");
                let _ = (segment.find_id(5), segment.find_hash(&[0xaa; 16]), segment.row(1));
            }
        }
        assert!(open(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(open(&[&bytes[..], &[0]].concat()).is_err());
}

#[test]
fn a_false_header_under_a_true_checksum_is_refused() {
    fn put<const N: usize>(at: usize, value: [u8; N]) -> impl Fn(&mut Vec<u8>) {
        move |bytes| bytes[at..at + N].copy_from_slice(&value)
    }
    let entry = |index: usize, field: usize| HEADER_BYTES + SECTION_BYTES * index + field;
    type Change = Box<dyn Fn(&mut Vec<u8>)>;
    let cases: Vec<(&str, Change)> = vec![
        ("version 2, this program reads version 1", Box::new(put(8, [2, 0]))),
        ("dimension 0", Box::new(put(12, 0u32.to_le_bytes()))),
        ("dimension 4294967295", Box::new(put(12, u32::MAX.to_le_bytes()))),
        ("section of kind 2 has 16 bytes, 524288 expected", Box::new(put(12, 65_536u32.to_le_bytes()))),
        ("section of kind 1 has 16 bytes, 34359738360 expected", Box::new(put(16, u64::from(u32::MAX).to_le_bytes()))),
        ("rows, at most 4294967295 expected", Box::new(put(16, u64::MAX.to_le_bytes()))),
        ("657 bytes stated, 656 found", Box::new(put(24, 657u64.to_le_bytes()))),
        ("metric 4, 1 to 3 expected", Box::new(put(32, 4u32.to_le_bytes()))),
        ("zeros expected", Box::new(put(40, [1]))),
        ("section of kind 6 is missing", Box::new(|bytes| bytes[10] = 5)),
        ("section of kind 99 is needed and unknown", Box::new(put(entry(0, 0), 99u32.to_le_bytes()))),
        ("section of kind 1 is missing", Box::new(put(entry(0, 0), [99, 0, 0, 0, 0, 0, 0, 0]))),
        ("section of kind 1 stands twice", Box::new(put(entry(1, 0), 1u32.to_le_bytes()))),
        ("has unknown flags 0x3", Box::new(put(entry(0, 4), 3u32.to_le_bytes()))),
        ("has no place at 264", Box::new(put(entry(0, 8), 264u64.to_le_bytes()))),
        ("has no place at 192", Box::new(put(entry(0, 8), 192u64.to_le_bytes()))),
        ("section of kind 2 has no place at 256", Box::new(put(entry(1, 8), 256u64.to_le_bytes()))),
        ("has no place at 18446744073709551552", Box::new(put(entry(5, 8), (u64::MAX - 63).to_le_bytes()))),
        ("has no place at 256 with 18446744073709551615 bytes", Box::new(put(entry(0, 16), u64::MAX.to_le_bytes()))),
        ("has no place at 576 with 65 bytes", Box::new(put(entry(5, 16), 65u64.to_le_bytes()))),
        ("zeros expected", Box::new(put(entry(0, 28), [1]))),
        (
            "footer expected",
            Box::new(|bytes| {
                bytes[648] = b'r';
            }),
        ),
    ];
    for (expected, change) in cases {
        let error = open(&resealed(tiny(), change)).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}: {expected}");
    }
    for count in [65, 0xffff_u16] {
        let mut bytes = tiny();
        bytes[10..12].copy_from_slice(&count.to_le_bytes());
        assert!(open(&bytes).unwrap_err().to_string().contains("at most 64 expected"));
    }
    assert_eq!(open(&[]).unwrap_err().to_string(), "8 bytes expected, 0 left at byte 0");
    assert_eq!(open(&[b'x'; 700]).unwrap_err().to_string(), "`RAGVEC` expected at byte 0");
}

#[test]
fn sections_of_later_versions_are_skipped_unless_they_are_needed() {
    // The tiny segment with a seventh section before the footer: 64 bytes of codes.
    let with_section = |flags: u32| {
        let tiny = tiny();
        let header = Header::decode(&tiny).unwrap();
        let mut sections = header.sections.clone();
        let (old_table, new_table) = (256, HEADER_BYTES + SECTION_BYTES * 7);
        let shift = (new_table.next_multiple_of(ALIGN) - old_table) as u64;
        sections.iter_mut().for_each(|section| section.offset += shift);
        let codes = [0xcd; 64];
        let offset = 640 + shift;
        sections.push(Section { kind: 99, flags, offset, length: 64, checksum: crc32c::crc32c(&codes) });
        let mut bytes = Header { sections, ..header }.encode(offset + 64 + FOOTER_BYTES as u64);
        bytes.resize(old_table + shift as usize, 0);
        bytes.extend(&tiny[old_table..640]);
        bytes.extend(codes);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend(&tiny[644..]);
        bytes
    };
    let segment = open(&with_section(0)).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.row(0), &[1.0, -2.0][..]);
    assert!(open(&with_section(REQUIRED)).unwrap_err().to_string().contains("a newer program wrote it"));

    let mut damaged = with_section(0);
    let codes = damaged.len() - FOOTER_BYTES - 1;
    damaged[codes] = 0;
    assert!(open(&damaged).unwrap().verify().unwrap_err().what.contains("section 99"));
}

#[test]
fn tables_and_rows_that_are_false_under_true_checksums_are_found() {
    let cases: [(&str, u32, usize, &[u8]); 8] = [
        ("ids of the table do not rise", kind::ID_TABLE, 0, &[10]),
        ("ids of the table do not rise", kind::ID_TABLE, 0, &[9]),
        ("the table names another row", kind::ID_TABLE, 16, &[0]),
        ("the table names another row", kind::ID_TABLE, 16, &[0xff; 4]),
        ("hashes of the table do not rise", kind::HASH_ORDER, 0, &[0]),
        ("hashes of the table do not rise", kind::HASH_ORDER, 4, &[0xff; 4]),
        ("is not finite", kind::ROWS, 4, &[0, 0, 0x80, 0x7f]),
        ("the sum is not that of the rows", kind::SUM, 8, &[1]),
    ];
    for (expected, kind, at, value) in cases {
        let at = start_of(kind) + at;
        let bytes = resealed_whole(tiny(), |bytes| bytes[at..at + value.len()].copy_from_slice(value));
        let segment = open(&bytes).unwrap();
        let damage = segment.verify().expect_err(expected);
        assert!(damage.what.contains(expected), "{damage}");
        // Unsound, and still nothing false is found and nothing panics.
        for (id, row) in [(9, 0), (5, 1)] {
            assert!(segment.find_id(id).is_none_or(|found| found == row));
        }
        for byte in [0xaa, 0xbb] {
            assert!(segment.find_hash(&[byte; 16]).is_none_or(|found| segment.hash(found) == [byte; 16]));
        }
    }
}

#[test]
fn a_gap_that_is_not_zero_is_found() {
    let mut bytes = tiny();
    bytes[639] = 1;
    assert!(open(&bytes).unwrap().verify().unwrap_err().what.contains("of the whole file"));
}

#[test]
fn a_segment_at_an_odd_address_reads_the_same() {
    struct Shifted(Vec<u8>);
    impl std::ops::Deref for Shifted {
        type Target = [u8];
        fn deref(&self) -> &[u8] {
            &self.0[3..]
        }
    }
    let segment = Segment::open(Arc::new(Shifted([&[0; 3], &tiny()[..]].concat()))).unwrap();
    segment.verify().unwrap();
    assert_eq!((segment.ids(), &*segment.row(0), segment.sum()), (&[9, 5][..], &[1.0, -2.0][..], &[1.5, -1.75][..]));
}

#[test]
fn merging_keeps_live_rows_and_nothing_else() {
    let row = |id: u64, vector| NewRow { id, hash: [id as u8; 16], vector };
    let first = open(&encode_segment(1, &[row(1, &[1.0]), row(2, &[2.0]), row(3, &[3.0])], &SegmentOptions::default()))
        .unwrap();
    let second = open(&encode_segment(1, &[row(2, &[20.0]), row(4, &[4.0])], &SegmentOptions::default())).unwrap();
    let (mut dead, none) = (Tombstones::default(), Tombstones::default());
    dead.insert(1);

    let bytes = merge(&[(&first, &dead), (&second, &none)], &SegmentOptions::default()).unwrap().unwrap();
    assert_eq!(
        bytes,
        encode_segment(
            1,
            &[row(1, &[1.0]), row(3, &[3.0]), row(2, &[20.0]), row(4, &[4.0])],
            &SegmentOptions::default()
        )
    );

    let twice = LiveRows::of(&[(&first, &none), (&second, &none)]).err().unwrap();
    assert_eq!(twice.what, "id 2 is alive in two rows");

    (0..3).for_each(|row| dead.insert(row));
    assert_eq!(merge(&[(&first, &dead)], &SegmentOptions::default()), Ok(None));
    assert_eq!(merge(&[], &SegmentOptions::default()), Ok(None));

    let mut damaged = encode_segment(1, &[row(7, &[7.0])], &SegmentOptions::default());
    damaged[start_of(kind::ROWS) + 1] ^= 1;
    assert!(merge(&[(&open(&damaged).unwrap(), &none)], &SegmentOptions::default()).is_err());
}

#[test]
fn every_kind_has_a_length() {
    use crate::index::vector::layout::{MAX_DIM, MAX_ROWS, section_length};
    for kind in NEEDED {
        assert!(section_length(kind, MAX_DIM, MAX_ROWS).is_some());
    }
    assert_eq!(section_length(99, 1, 1), None);
}

#[test]
fn rows_of_half_the_width_are_read_as_they_were_rounded() {
    let rows: Vec<Vec<f32>> =
        (0..70_u16).map(|row| (0..5_u8).map(|at| (f32::from(row) - 30.0) / 7.0 + f32::from(at)).collect()).collect();
    let new: Vec<_> = (0..).zip(&rows).map(|(id, row)| NewRow { id, hash: [0; 16], vector: row }).collect();
    let options = SegmentOptions { rows: RowFormat::F16, codes_from: 1, ..SegmentOptions::default() };
    let bytes = encode_segment(5, &new, &options);
    let half = open(&bytes).unwrap();
    half.verify().unwrap();
    assert_eq!(half.row_format(), RowFormat::F16);
    assert_eq!(half.row_bytes(3).len(), 10);
    for (at, row) in rows.iter().enumerate() {
        let rounded: Vec<f32> = row.iter().map(|&value| half::f16::from_f32(value).to_f32()).collect();
        assert_eq!(half.row(at), rounded);
    }
    let merged = merge(&[(&half, &Tombstones::default())], &options).unwrap().unwrap();
    let merged = open(&merged).unwrap();
    assert!((0..70).all(|at| merged.row(at) == half.row(at)), "what was rounded once stays");

    let both = resealed(bytes, |bytes| {
        // The last section becomes a second one of rows, of a length that would be right.
        let count = usize::from(bytes[10]);
        let entry = HEADER_BYTES + SECTION_BYTES * (count - 1);
        bytes[entry..entry + 4].copy_from_slice(&kind::ROWS.to_le_bytes());
        bytes[entry + 16..entry + 24].copy_from_slice(&1400_u64.to_le_bytes());
    });
    assert!(open(&both).is_err());
    let huge = [NewRow { id: 1, hash: [0; 16], vector: &[70_000.0] }];
    assert!(std::panic::catch_unwind(|| encode_segment(1, &huge, &options)).is_err());
}
