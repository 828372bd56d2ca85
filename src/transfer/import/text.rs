//! Lines of a decoded text file ([`super::encoding`]), whatever its line ends.

use std::io::{self, BufRead, Read as _};

/// Maximum length of a line in bytes, without its end; a longer one is dropped and reported.
const LINE: usize = 4 * 1_024 * 1_024;
/// Maximum length of the end of a line in bytes.
const END: usize = 2;

/// Line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextLine {
    /// Text without the line end.
    Text(String),
    /// Line that is no text, and the reason.
    Broken(&'static str),
}

/// Reader of lines.
pub(super) struct Lines<R> {
    input: R,
    /// Set when the file was in another encoding, so that invalid bytes are not those of the file.
    decoded: bool,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(input: R, decoded: bool) -> Self {
        Self { input, decoded, buffer: Vec::new() }
    }

    /// Returns the next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<TextLine>> {
        self.buffer.clear();
        let most = LINE + END;
        let read = self.input.by_ref().take(most as u64).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        let is_cut = read == most && self.buffer.last() != Some(&b'\n');
        if is_cut {
            self.skip()?;
        }
        while matches!(self.buffer.last(), Some(b'\n' | b'\r')) {
            self.buffer.pop();
        }
        if is_cut || self.buffer.len() > LINE {
            return Ok(Some(TextLine::Broken("the line is too long")));
        }
        Ok(Some(match std::str::from_utf8(&self.buffer) {
            Ok(text) => TextLine::Text(text.to_owned()),
            Err(_) if self.decoded => {
                TextLine::Broken("the line is not in the encoding of the file")
            }
            Err(_) => TextLine::Broken("the line is not UTF-8"),
        }))
    }

    /// Skips to the next line.
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

#[cfg(test)]
#[path = "text_tests.rs"]
mod text_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<TextLine> {
        let mut lines = Lines::new(bytes, false);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn broken_lines_are_told_and_passed() {
        assert_eq!(
            lines(b"a\n\xff\xfe\xfd\r\nb"),
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
    }
}
