//! A recording to send: chimes, as sound without compression.

/// Samples of a second.
const RATE: u32 = 16_000;
/// Length in seconds.
const SECONDS: u32 = 600;
/// Period of the chimes in seconds.
const PERIOD: u32 = 4;
/// Notes of a period in hertz.
const NOTES: [f32; 4] = [659.3, 523.3, 587.3, 392.0];

/// Returns ten minutes of chimes as a WAV file of 19 MB.
pub fn chimes() -> Vec<u8> {
    let period: Vec<u8> = (0..RATE * PERIOD).flat_map(|at| sample(at).to_le_bytes()).collect();
    let bytes = RATE * SECONDS * 2;
    let mut file = Vec::with_capacity(44 + bytes as usize);
    for part in [
        &b"RIFF"[..],
        &(36 + bytes).to_le_bytes(),
        b"WAVEfmt ",
        &16_u32.to_le_bytes(),
        // Plain numbers, one channel.
        &1_u16.to_le_bytes(),
        &1_u16.to_le_bytes(),
        &RATE.to_le_bytes(),
        &(RATE * 2).to_le_bytes(),
        &2_u16.to_le_bytes(),
        &16_u16.to_le_bytes(),
        b"data",
        &bytes.to_le_bytes(),
    ] {
        file.extend_from_slice(part);
    }
    for _ in 0..SECONDS / PERIOD {
        file.extend_from_slice(&period);
    }
    file
}

/// Returns a sample of the period: each note fades within its second.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "within 16 bits, and less than 64,000 samples"
)]
fn sample(at: u32) -> i16 {
    let (note, within) = ((at / RATE) as usize % NOTES.len(), at % RATE);
    let time = within as f32 / RATE as f32;
    let wave = (time * NOTES[note] * std::f32::consts::TAU).sin();
    (wave * (-4.0 * time).exp() * 9_000.0) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_has_its_length_and_is_not_silent() {
        let file = chimes();
        assert_eq!(file.len(), 44 + 600 * 32_000);
        assert!(file[44..40_000].iter().any(|byte| *byte != 0));
        assert_eq!(&file[..4], b"RIFF");
    }
}
