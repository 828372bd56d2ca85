//! Detects the encoding of a text, and decodes it to UTF-8.
//!
//! Phones write UTF-8, computers UTF-8 or UTF-16. Texts that somebody saved again on an older
//! computer are in its code page, which is detected by the number of lines that make sense.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, Decoder, DecoderResult, EUC_JP, EUC_KR, Encoding, GB18030, SHIFT_JIS, UTF_8, UTF_16BE,
    UTF_16LE, WINDOWS_874,
};

use super::super::line::{Fit, Survey};

/// Size of the sample at the beginning in bytes.
const SAMPLE: u64 = 1_024 * 1_024;
/// Size of that of JSON, most of which is ASCII.
const JSON_SAMPLE: u64 = 8 * 1_024;
/// Byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Byte that no UTF-8 has. Any character might have been sent, the replacement character as well.
const INVALID: u8 = 0xff;
/// Buffer size in bytes.
const BUFFER: usize = 256 * 1_024;
/// Code pages of the languages that the LINE app exports in.
const CODE_PAGES: [&Encoding; 6] = [SHIFT_JIS, WINDOWS_874, BIG5, GB18030, EUC_KR, EUC_JP];
/// Minimum ratio of characters other than ASCII to broken ones in a text that is accepted as UTF-8.
const MOSTLY: usize = 20;

/// Unsupported encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported(pub(super) &'static str);

/// Detects the encoding of a text: UTF-8 or UTF-16 by its first bytes, else UTF-8, or for texts of
/// the LINE app the code page in which it makes sense.
pub(super) fn detect(
    input: impl Read,
    line: bool,
) -> io::Result<Result<&'static Encoding, Unsupported>> {
    let mut sample = Vec::new();
    input.take(SAMPLE).read_to_end(&mut sample)?;
    Ok(of_sample(&sample, line))
}

/// Input of which a sample was read, which is there once more.
pub(super) type Sampled<R> = Chain<Cursor<Vec<u8>>, R>;

/// Detects the encoding of JSON, which may be no code page. Returns it with the whole input.
pub(super) fn detect_json<R: Read>(mut input: R) -> io::Result<(&'static Encoding, Sampled<R>)> {
    let mut sample = Vec::new();
    input.by_ref().take(JSON_SAMPLE).read_to_end(&mut sample)?;
    let encoding = of_sample(&sample, false).unwrap_or(UTF_8);
    Ok((encoding, Cursor::new(sample).chain(input)))
}

fn of_sample(sample: &[u8], line: bool) -> Result<&'static Encoding, Unsupported> {
    if matches!(sample, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..]) {
        return Err(Unsupported("UTF-32"));
    }
    if let Some((encoding, _)) = Encoding::for_bom(sample) {
        return Ok(encoding);
    }
    if let Some(encoding) = unmarked_utf_16(sample) {
        return Ok(encoding);
    }
    if !line || is_utf_8(sample) {
        return Ok(UTF_8);
    }
    code_page(sample)
}

/// Detects UTF-16 without a byte order mark: line ends and digits have a half that is 0, always the
/// same one. Of a few other characters it is the other one (`一`, the ideographic space), so that
/// these look like ASCII in the wrong byte order, but never like the end of a line.
fn unmarked_utf_16(sample: &[u8]) -> Option<&'static Encoding> {
    let zeros = |first| sample.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let ends = |unit: [u8; 2]| sample.chunks_exact(2).filter(|pair| **pair == unit).count();
    let many = |zeros: usize| 20 * zeros >= sample.len() / 2 && zeros > 0;
    let (even, odd) = (zeros(0), zeros(1));
    let (little, big) = (ends([b'\n', 0]), ends([0, b'\n']));
    match () {
        () if many(odd) && big == 0 && (little > 0 || odd > 4 * even) => Some(UTF_16LE),
        () if many(even) && little == 0 && (big > 0 || even > 4 * odd) => Some(UTF_16BE),
        () => None,
    }
}

/// Returns true for UTF-8, apart from a few broken characters, and one that is cut at the end.
fn is_utf_8(sample: &[u8]) -> bool {
    let (mut whole, mut broken) = (0, 0);
    for chunk in sample.utf8_chunks() {
        whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    broken <= 1 + whole / MOSTLY && (broken == 0 || whole > 0)
}

/// Returns the code page in which a text of the LINE app makes the most sense.
fn code_page(sample: &[u8]) -> Result<&'static Encoding, Unsupported> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let sense = |encoding: &'static Encoding| {
        let (text, broken) = encoding.decode_without_bom_handling(sample);
        let mut survey = Survey::default();
        text.lines().for_each(|line| survey.line(line));
        let sense = if survey.fit() == Fit::Line { survey.sense() } else { 0 };
        // One may be cut at the end of the sample.
        let broken = broken && text.matches(char::REPLACEMENT_CHARACTER).count() > 1;
        (!broken, sense, encoding == guess)
    };
    let best = CODE_PAGES.iter().map(|encoding| (sense(encoding), *encoding));
    let best = best.max_by_key(|(sense, _)| *sense);
    match best {
        Some(((true, sense, _), encoding)) if sense > 0 => Ok(encoding),
        _ if CODE_PAGES.contains(&guess) => Ok(guess),
        _ => Err(Unsupported(guess.name())),
    }
}

/// Decodes a text to UTF-8, without its byte order mark. What is not in the encoding is no UTF-8
/// afterwards.
pub(super) fn decoded<'a>(
    input: impl Read + 'a,
    encoding: &'static Encoding,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    if encoding == UTF_8 {
        // One read may give less than the mark.
        let mut start = Vec::new();
        input.by_ref().take(MARK.len() as u64).read_to_end(&mut start)?;
        if start == MARK {
            start.clear();
        }
        return Ok(Box::new(Cursor::new(start).chain(input)));
    }
    let decoder = encoding.new_decoder_with_bom_removal();
    let out = vec![0; BUFFER + 1];
    Ok(Box::new(Recoded { input, decoder, out, length: 0, at: 0, ended: false }))
}

/// Reader that recodes another encoding to UTF-8, with [`INVALID`] for what is not in the encoding.
struct Recoded<R> {
    input: BufReader<R>,
    decoder: Decoder,
    /// Buffer; its last byte has room for an [`INVALID`] one behind as much as is decoded at once.
    out: Vec<u8>,
    /// Number of bytes in `out`.
    length: usize,
    /// Number of those that were read.
    at: usize,
    ended: bool,
}

impl<R: Read> Recoded<R> {
    fn fill(&mut self) -> io::Result<()> {
        while self.at == self.length && !self.ended {
            let bytes = self.input.fill_buf()?;
            let last = bytes.is_empty();
            let out = &mut self.out[..BUFFER];
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(bytes, out, last);
            self.input.consume(read);
            (self.at, self.length) = (0, written);
            match result {
                DecoderResult::InputEmpty => self.ended = last,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    self.out[written] = INVALID;
                    self.length += 1;
                }
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Recoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: Read> BufRead for Recoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(&self.out[self.at..self.length])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod encoding_tests;

#[cfg(test)]
mod tests {
    use super::*;

    const JAPANESE: &str = "[LINE] 週末の会のトーク履歴\r\n保存日時：2024/01/06 10:00\r\n\r\n\
        2024/01/05(金)\r\n09:31\t花子\tおはよう\r\n09:32\t花子\t[写真]\r\n";
    const THAI: &str = "[LINE] ประวัติการแชทกับ กลุ่ม\n\nศ. 05/01/2567\n09:31\tสมชาย\tสวัสดีครับ\n";
    const CHINESE: &str = "[LINE] 與午餐的聊天記錄\n\n2024/01/05（五）\n上午09:31\t小明\t早安\n上午09:32\t小明\t[貼圖]\n";

    fn read(bytes: &[u8]) -> String {
        let encoding = of_sample(bytes, true).unwrap();
        let mut text = Vec::new();
        decoded(bytes, encoding).unwrap().read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn unicode_with_and_without_a_mark() {
        for text in [JAPANESE, THAI, CHINESE, "2024.01.05 Friday\n09:31 Ann 早安 👋\n"] {
            let marked = format!("\u{feff}{text}");
            assert_eq!(read(text.as_bytes()), text);
            assert_eq!(read(marked.as_bytes()), text);
            for whole in [marked.as_str(), text] {
                let little: Vec<u8> = whole.encode_utf16().flat_map(u16::to_le_bytes).collect();
                let big: Vec<u8> = whole.encode_utf16().flat_map(u16::to_be_bytes).collect();
                assert_eq!(read(&little), text);
                assert_eq!(read(&big), text);
            }
        }
        assert_eq!(read(&[0xff, 0xfe, 0x00, 0xd8]), "\u{fffd}");
        assert_eq!(of_sample(&[0xff, 0xfe, 0, 0, 65, 0, 0, 0], true), Err(Unsupported("UTF-32")));
    }

    #[test]
    fn code_pages_are_recognised() {
        for (text, encoding) in [
            (JAPANESE, SHIFT_JIS),
            (JAPANESE, EUC_JP),
            (THAI, WINDOWS_874),
            (CHINESE, BIG5),
            ("2024年1月5日 星期五\n上午9:31\t小明\t早上好，大家都在吗\n", GB18030),
            ("2024년 1월 5일 금요일\n오전 9:31\t민수\t[사진]\n", EUC_KR),
        ] {
            let (bytes, _, unmappable) = encoding.encode(text);
            assert!(!unmappable);
            assert_eq!(of_sample(&bytes, true), Ok(encoding), "{text}");
            assert_eq!(read(&bytes), text);
        }
    }

    #[test]
    fn a_few_broken_characters_leave_it_utf_8() {
        let mut bytes = JAPANESE.as_bytes().to_vec();
        bytes.extend_from_slice(b"\xff\xfe\n");
        assert_eq!(of_sample(&bytes, true), Ok(UTF_8));
        // JSON is UTF-8 or UTF-16, whatever its content.
        assert_eq!(of_sample(b"{\x83\x84\xe0}", false), Ok(UTF_8));
        let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode("Journée d'été à Besançon, déjà\n");
        assert!(of_sample(&bytes, true).is_err_and(|Unsupported(name)| name == "windows-1252"));
    }
}
