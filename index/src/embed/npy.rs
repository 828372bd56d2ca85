//! Reading of arrays in `NumPy`'s format (NPY format 1.0: magic, version, length of the header, the
//! header as a Python literal, the numbers), and of lists of numbers in chatkeep's own files.

/// Returns the single-precision numbers of an array in C order; `None` for any other array.
pub(super) fn floats(file: &[u8]) -> Option<Vec<f32>> {
    Some(from_bytes(body(file, "'<f4'")?))
}

/// Returns the bytes of an array of bytes in C order; `None` for any other array.
pub(super) fn bytes(file: &[u8]) -> Option<&[u8]> {
    body(file, "'|u1'")
}

fn body<'a>(file: &'a [u8], kind: &str) -> Option<&'a [u8]> {
    let rest = file.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_first_chunk()?;
    let (header, body) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let header = str::from_utf8(header).ok()?;
    (header.contains(kind) && header.contains("'fortran_order': False")).then_some(body)
}

/// Reads numbers of four bytes each, little-endian.
pub(super) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect()
}

/// Writes numbers for [`from_bytes`].
pub(super) fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: &str, order: &str, body: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': {kind}, 'fortran_order': {order}, 'shape': (2,), }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(body);
        file
    }

    #[test]
    fn arrays_of_the_right_kind_are_read() {
        let numbers = to_bytes(&[1.5, -2.0]);
        assert_eq!(floats(&file("'<f4'", "False", &numbers)), Some(vec![1.5, -2.0]));
        assert_eq!(floats(&file("'<f8'", "False", &numbers)), None);
        assert_eq!(floats(&file("'<f4'", "True", &numbers)), None);
        assert_eq!(bytes(&file("'|u1'", "False", &[7, 8])), Some(&[7, 8][..]));
    }
}
