//! Reading of `SentencePiece` model files, which are Protocol Buffers messages
//! (`sentencepiece_model.proto`): `ModelProto` has the pieces in field 1 and the normalizer in
//! field 3; a piece its text in field 1, its score in 2, its type in 3; the normalizer its compiled
//! map in 2.

use super::ModelError;

/// Types of pieces that text is cut into: normal and user defined ones.
const TEXT_TYPES: [u64; 2] = [1, 4];

/// Content of a model file.
pub(super) struct SentencePiece {
    /// Text of every piece that text is cut into, with its number.
    pub(super) pieces: Vec<(String, u32)>,
    /// Score of every piece, by number.
    pub(super) scores: Vec<f32>,
    /// Compiled map of characters.
    pub(super) charsmap: Vec<u8>,
}

/// A field's number and value.
type Field<'a> = (u64, Value<'a>);

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Float(f32),
    Other,
}

/// Parses a model file.
pub(super) fn read(bytes: &[u8]) -> Result<SentencePiece, ModelError> {
    parse(bytes).ok_or_else(|| ModelError::damaged("sp.model", "it is no SentencePiece model"))
}

fn parse(bytes: &[u8]) -> Option<SentencePiece> {
    let mut model = SentencePiece { pieces: Vec::new(), scores: Vec::new(), charsmap: Vec::new() };
    for (field, value) in fields(bytes)? {
        match (field, value) {
            (1, Value::Bytes(piece)) => add_piece(&mut model, piece)?,
            (3, Value::Bytes(normalizer)) => model.charsmap = charsmap(normalizer)?,
            _ => {}
        }
    }
    Some(model)
}

/// Adds a piece.
fn add_piece(model: &mut SentencePiece, bytes: &[u8]) -> Option<()> {
    let (mut text, mut score, mut kind) = ("", 0.0, TEXT_TYPES[0]);
    for (field, value) in fields(bytes)? {
        match (field, value) {
            (1, Value::Bytes(bytes)) => text = str::from_utf8(bytes).ok()?,
            (2, Value::Float(value)) => score = value,
            (3, Value::Number(value)) => kind = value,
            _ => {}
        }
    }
    let number = u32::try_from(model.scores.len()).ok()?;
    if TEXT_TYPES.contains(&kind) {
        model.pieces.push((text.to_owned(), number));
    }
    model.scores.push(score);
    Some(())
}

fn charsmap(bytes: &[u8]) -> Option<Vec<u8>> {
    fields(bytes)?.into_iter().find_map(|field| match field {
        (2, Value::Bytes(map)) => Some(map.to_vec()),
        _ => None,
    })
}

/// Parses the fields of a message.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => take(&mut bytes, 8).map(|_| Value::Other)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Value::Bytes(take(&mut bytes, length)?)
            }
            5 => Value::Float(f32::from_le_bytes(*take(&mut bytes, 4)?.first_chunk()?)),
            _ => return None,
        };
        fields.push((tag >> 3, value));
    }
    Some(fields)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a length-delimited field.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        field.extend_from_slice(bytes);
        field
    }

    fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
        let mut piece = field(1, text.as_bytes());
        piece.push(2 << 3 | 5);
        piece.extend(score.to_le_bytes());
        piece.extend([3 << 3, kind]);
        field(1, &piece)
    }

    #[test]
    fn pieces_keep_their_numbers_and_controls_are_no_text() {
        let mut bytes = piece("<s>", 0.0, 3);
        bytes.extend(piece("猫", -1.5, 1));
        bytes.extend(field(3, &field(2, b"map")));
        let model = read(&bytes).unwrap();
        assert_eq!(model.pieces, [("猫".to_owned(), 1)]);
        assert_eq!(model.scores, [0.0, -1.5]);
        assert_eq!(model.charsmap, b"map");
    }

    #[test]
    fn cut_files_are_refused() {
        let bytes = piece("猫", -1.5, 1);
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
    }
}
