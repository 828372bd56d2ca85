//! Lines of a text file, whatever its encoding and line ends: UTF-8 or UTF-16, with or without a
//! byte order mark.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line in bytes; what is beyond it is dropped and the line told as too long.
const LINE: usize = 4 * 1_024 * 1_024;

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextLine {
    /// Its text without the line's end.
    Text(String),
    /// Something that is no text, and why.
    Broken(&'static str),
}

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new() }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<TextLine>> {
        self.buffer.clear();
        let read = self.input.by_ref().take(LINE as u64).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        if self.buffer.last() != Some(&b'\n') && read == LINE {
            self.skip()?;
            return Ok(Some(TextLine::Broken("the line is too long")));
        }
        while matches!(self.buffer.last(), Some(b'\n' | b'\r')) {
            self.buffer.pop();
        }
        Ok(Some(match std::str::from_utf8(&self.buffer) {
            Ok(text) => TextLine::Text(text.to_owned()),
            Err(_) => TextLine::Broken("the line is not UTF-8"),
        }))
    }

    /// Goes to the next line.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let part = self.input.fill_buf()?;
            let (end, found) = match part.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (part.len(), part.is_empty()),
            };
            self.input.consume(end);
            if found {
                return Ok(());
            }
        }
    }
}

/// A file's text as UTF-8, without its byte order mark.
pub(super) fn decoded<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut input = BufReader::with_capacity(256 * 1_024, input);
    let (mark, big) = match input.fill_buf()? {
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        [0xff, 0xfe, ..] => (2, Some(false)),
        [0xfe, 0xff, ..] => (2, Some(true)),
        // No text begins with half a character, so this is UTF-16 without a mark.
        [1..=0xff, 0, ..] => (0, Some(false)),
        [0, 1..=0xff, ..] => (0, Some(true)),
        _ => (0, None),
    };
    input.consume(mark);
    Ok(match big {
        None => Box::new(input),
        Some(big) => Box::new(BufReader::new(Utf16 { input, big, high: None, out: Vec::new() })),
    })
}

/// UTF-16 as UTF-8; halves of a pair that are alone become the replacement character.
struct Utf16<R> {
    input: R,
    big: bool,
    /// The first half of a pair.
    high: Option<u16>,
    /// What did not fit into the last buffer.
    out: Vec<u8>,
}

impl<R: Read> Utf16<R> {
    /// The next unit; `None` at the end, also of half a unit.
    fn unit(&mut self) -> io::Result<Option<u16>> {
        let mut bytes = [0; 2];
        match self.input.read_exact(&mut bytes) {
            Ok(()) if self.big => Ok(Some(u16::from_be_bytes(bytes))),
            Ok(()) => Ok(Some(u16::from_le_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Decodes the next unit into `out`; `false` at the end.
    fn step(&mut self) -> io::Result<bool> {
        let units = match (self.high.take(), self.unit()?) {
            (None, None) => return Ok(false),
            (None, Some(unit)) if is_high(unit) => {
                self.high = Some(unit);
                return Ok(true);
            }
            (None, Some(unit)) => vec![unit],
            (Some(high), None) => vec![high],
            (Some(high), Some(unit)) if is_high(unit) => {
                self.high = Some(unit);
                vec![high]
            }
            (Some(high), Some(unit)) => vec![high, unit],
        };
        for c in char::decode_utf16(units) {
            let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(true)
    }
}

const fn is_high(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.out.len() < buffer.len() && self.step()? {}
        let length = self.out.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.out[..length]);
        self.out.drain(..length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<TextLine> {
        let mut lines = Lines::new(decoded(bytes).unwrap());
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    fn text(lines: &[&str]) -> Vec<TextLine> {
        lines.iter().map(|line| TextLine::Text((*line).to_owned())).collect()
    }

    #[test]
    fn every_encoding_gives_the_same_lines() {
        let expected = text(&["早安 👋", "", "สวัสดี"]);
        let plain = "早安 👋\r\n\r\nสวัสดี";
        let marked = format!("\u{feff}{plain}");
        let little: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let bare: Vec<u8> = "a\nb".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(lines(&bare), text(&["a", "b"]));
        for bytes in [plain.as_bytes(), marked.as_bytes(), &little, &big] {
            assert_eq!(lines(bytes), expected);
        }
    }

    #[test]
    fn broken_lines_are_told_and_passed() {
        assert_eq!(
            lines(b"a\n\xff\xfe\xfd\nb"),
            [
                TextLine::Text("a".to_owned()),
                TextLine::Broken("the line is not UTF-8"),
                TextLine::Text("b".to_owned()),
            ]
        );
        let mut long = vec![b'x'; LINE + 10];
        long.extend_from_slice(b"\nb\n");
        let found = lines(&long);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], TextLine::Text("b".to_owned()));
        assert_eq!(lines(&[0xff, 0xfe, 0x00, 0xd8]), text(&["\u{fffd}"]));
    }
}
