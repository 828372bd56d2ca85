//! Tests of texts in other encodings, whole and broken, however long they are and wherever they are
//! divided in reading.

use proptest::prelude::*;

use super::super::text::{Lines, TextLine};
use super::*;
use crate::sample_tests::regex;

/// Encodings by their byte order marks.
const MARKED: [(&Encoding, &[u8]); 3] =
    [(UTF_8, b"\xef\xbb\xbf"), (UTF_16LE, b"\xff\xfe"), (UTF_16BE, b"\xfe\xff")];

/// Returns a text in one of those encodings, which no encoder writes.
fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    if encoding == UTF_16LE {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    } else if encoding == UTF_16BE {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    } else {
        let (bytes, _, is_lossy) = encoding.encode(text);
        assert!(!is_lossy, "{text} cannot be written as {}", encoding.name());
        bytes.into_owned()
    }
}

fn read(input: impl Read, encoding: &'static Encoding) -> String {
    let mut text = Vec::new();
    decoded(input, encoding).unwrap().read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the encoding of JSON, and its text.
fn read_json(input: impl Read) -> (&'static Encoding, String) {
    let (encoding, input) = detect_json(input).unwrap();
    (encoding, read(input, encoding))
}

/// Reader that gives a few bytes at a time.
struct Dripping<'a>(&'a [u8], usize);

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_text_with_a_mark_is_read_as_it_is(text in regex("\\PC(\\PC|[\n\r\t]|早安){0,40}")) {
        for (encoding, mark) in MARKED {
            let bytes = [mark, &encoded(&text, encoding)].concat();
            for is_line in [false, true] {
                prop_assert_eq!(of_sample(&bytes, is_line), Ok(encoding));
            }
            prop_assert_eq!(&read(&*bytes, encoding), &text);
            for step in 1..7 {
                prop_assert_eq!(&read(Dripping(&bytes, step), encoding), &text);
                let json = read_json(Dripping(&bytes, step));
                prop_assert_eq!(json, (encoding, text.clone()));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        for encoding in CODE_PAGES.into_iter().chain([UTF_16LE, UTF_16BE]) {
            let whole = read(&*bytes, encoding);
            prop_assert_eq!(&read(Dripping(&bytes, 1), encoding), &whole);
        }
        let _ = of_sample(&bytes, true);
        let mut lines = Lines::new(decoded(&*bytes, UTF_8).unwrap(), false);
        let mut count = 0;
        while lines.next().unwrap().is_some() {
            count += 1;
        }
        prop_assert!(count <= bytes.split(|byte| *byte == b'\n').count());
    }
}

/// A character lies across the border of the first buffer, or its text across that of the second.
#[test]
fn long_texts_are_read_across_the_borders_of_buffers() {
    for (encoding, character, shift) in [
        (UTF_16LE, "👍", 1),
        (UTF_16BE, "👍", 3),
        (SHIFT_JIS, "早", 1),
        (EUC_JP, "早", 1),
        (BIG5, "早", 1),
        (GB18030, "👍", 1),
        (GB18030, "👍", 2),
        (GB18030, "👍", 3),
        (EUC_KR, "안", 1),
        (WINDOWS_874, "ส", 0),
    ] {
        let count = BUFFER / encoded(character, encoding).len() + 3;
        let text = "a".repeat(shift) + &character.repeat(count);
        let bytes = encoded(&text, encoding);
        assert!(read(&*bytes, encoding) == text, "{} from byte {shift} on", encoding.name());
    }
}

#[test]
fn a_text_that_is_cut_tells_its_last_line_and_no_other() {
    let text = "早安 👍\n晚安 👍\n";
    for (encoding, mark) in MARKED {
        let bytes = [mark, &encoded(text, encoding)].concat();
        for end in mark.len()..=bytes.len() {
            let input = decoded(&bytes[..end], encoding).unwrap();
            let mut lines = Lines::new(input, encoding != UTF_8);
            let read: Vec<_> = std::iter::from_fn(|| lines.next().unwrap()).collect();
            let Some((last, others)) = read.split_last() else { continue };
            let whole = ["早安 👍", "晚安 👍"];
            for (line, whole) in others.iter().zip(whole) {
                assert_eq!(line, &TextLine::Text(whole.to_owned()), "{end}");
            }
            match last {
                TextLine::Text(last) => assert!(whole[others.len()].starts_with(last), "{end}"),
                TextLine::Broken(why) => assert!(why.contains("not"), "{why}"),
            }
        }
    }
}

#[test]
fn an_empty_file_is_an_empty_text() {
    for (encoding, mark) in MARKED {
        assert_eq!(of_sample(mark, true), Ok(encoding));
        assert_eq!(read(mark, encoding), "");
    }
    assert_eq!(of_sample(b"", true), Ok(UTF_8));
    assert_eq!(of_sample(b"\n", true), Ok(UTF_8));
    assert_eq!(read(&b""[..], UTF_8), "");
}

#[test]
fn other_encodings_of_unicode_are_refused_by_name() {
    for bytes in [&b"\xff\xfe\0\0a\0\0\0"[..], b"\0\0\xfe\xff\0\0\0a"] {
        for is_line in [false, true] {
            assert_eq!(of_sample(bytes, is_line), Err(Unsupported("UTF-32")));
        }
    }
}

#[test]
fn only_the_first_mark_is_none_of_the_text() {
    for (encoding, mark) in MARKED {
        let bytes = [mark, &encoded("\u{feff}a\u{feff}", encoding)].concat();
        assert_eq!(read(&*bytes, encoding), "\u{feff}a\u{feff}", "{}", encoding.name());
    }
}

#[test]
fn a_text_without_a_mark_may_have_any_character() {
    // Of some of these characters the half is 0 that is not 0 in line ends and digits.
    for text in [
        "2024.01.05 星期五\n09:30 小明 一起吃飯\n09:31 小美 好\u{3000}一點半\n",
        "{\"id\":\"m1\",\"type\":\"text\",\"content\":\"一起吃飯\"}",
        "2024/01/05(金)\n09:30\t花子\t\"\u{3000}\u{3000}\u{3000}一\u{3000}一\u{3000}\u{3000}\n\
         \u{3000}一\u{3000}\u{3000}\u{3000}一\u{3000}\u{3000}\u{3000}一一一一一一\"\n",
    ] {
        for encoding in [UTF_16LE, UTF_16BE] {
            let bytes = encoded(text, encoding);
            for is_line in [false, true] {
                assert_eq!(detect(&*bytes, is_line).unwrap(), Ok(encoding), "{text}");
            }
            assert_eq!(read_json(&*bytes), (encoding, text.to_owned()));
        }
    }
}

#[test]
fn a_replacement_character_that_somebody_sent_is_a_text() {
    for encoding in [UTF_16LE, UTF_16BE, GB18030] {
        let mut bytes = encoded("a\u{fffd}b\nc", encoding);
        // Half a character.
        bytes.push(0x81);
        let mut lines = Lines::new(decoded(&*bytes, encoding).unwrap(), true);
        let sent = TextLine::Text("a\u{fffd}b".to_owned());
        assert_eq!(lines.next().unwrap(), Some(sent), "{}", encoding.name());
        assert!(matches!(lines.next().unwrap(), Some(TextLine::Broken(_))), "{}", encoding.name());
        assert_eq!(lines.next().unwrap(), None);
    }
}
