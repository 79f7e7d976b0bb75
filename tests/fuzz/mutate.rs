//! Other inputs from kept ones: bytes changed, taken out, put in, said twice, or taken from another input.

/// A small deterministic generator, so that a seed can be run again.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// What stands at the edges of formats and of numbers.
const WORDS: [&[u8]; 24] = [
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x80\0\0\0",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    "\u{301}".as_bytes(),
    "\u{1f468}\u{200d}".as_bytes(),
    b"<",
    b"</",
    b"/>",
    b"]]>",
    b"&#x110000;",
    b"\\",
    b"{",
    b"}",
    b"\"",
    b"|",
    b"```",
    b"\t",
    b" ",
    b"99999999999999999999",
    b"-1",
    b":",
];

const MOST_BYTES: usize = 4096;

/// One to eight changes to one of the inputs.
pub fn mutate(kept: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = kept[dice.below(kept.len())].clone();
    for _ in 0..=dice.below(8) {
        let at = dice.below(bytes.len() + 1);
        let end = bytes.len().min(at + 1 + dice.below(32));
        match dice.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => {
                let other = &kept[dice.below(kept.len())];
                let from = dice.below(other.len() + 1);
                let until = other.len().min(from + dice.below(64));
                bytes.splice(at..at, other[from..until].iter().copied());
            }
            5 => drop(bytes.splice(at..at, WORDS[dice.below(WORDS.len())].iter().copied())),
            _ => bytes.truncate(if dice.below(8) == 0 { at } else { MOST_BYTES }),
        }
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

/// A name for a file with these bytes (FNV-1a).
pub fn name_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
