//! The samples as files: a photo and its portrait show the same, pictures take turns, and the
//! recording is what its header says.

use super::*;

/// Returns the mean of each colour in a part of a picture.
fn mean(
    picture: &image::RgbImage,
    (left, top): (u32, u32),
    (width, height): (u32, u32),
) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for y in top..top + height {
        for x in left..left + width {
            for (sum, part) in sums.iter_mut().zip(picture.get_pixel(x, y).0) {
                *sum += f64::from(part);
            }
        }
    }
    sums.map(|sum| sum / f64::from(width * height))
}

fn decoded(file: &[u8]) -> image::RgbImage {
    image::load_from_memory(file).unwrap().to_rgb8()
}

#[test]
fn a_portrait_is_the_middle_of_the_photo_of_its_number() {
    for number in 0..8 {
        let photo = decoded(&photo(number).unwrap());
        let portrait = decoded(&portrait(number).unwrap());
        assert_eq!((photo.dimensions(), portrait.dimensions()), ((640, 480), (200, 200)));
        // Quarter by quarter: the photo's middle is 480 pixels wide.
        for (column, row) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let large = mean(&photo, (80 + column * 240, row * 240), (240, 240));
            let small = mean(&portrait, (column * 100, row * 100), (100, 100));
            for (one, other) in large.iter().zip(small) {
                assert!((one - other).abs() < 12.0, "{number}: {large:?} {small:?}");
            }
        }
    }
}

#[test]
fn pictures_are_jpeg_files_and_come_again_after_all_of_them() {
    for number in [0, 1, 5, 11] {
        let (file, small) = (photo(number).unwrap(), portrait(number).unwrap());
        for file in [&file, &small] {
            assert!(file.starts_with(&[0xff, 0xd8, 0xff]) && file.ends_with(&[0xff, 0xd9]));
        }
        assert!(small.len() < file.len());
        // Scenes and palettes take turns; in the end it begins again.
        let again = (1..50).find(|more| photo(number + more * 4).unwrap() == file).unwrap();
        assert!((3..=12).contains(&again), "{again}");
    }
}

#[test]
fn every_number_has_a_picture() {
    for number in [usize::MAX, usize::MAX - 1, usize::MAX / 2] {
        assert!(portrait(number).is_ok(), "{number}");
    }
}

/// Returns a number of the header of a recording.
fn number<const BYTES: usize>(file: &[u8], at: usize) -> u32 {
    let bytes = &file[at..at + BYTES];
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Returns the samples of a second of the recording.
fn second(file: &[u8], at: usize) -> Vec<i16> {
    let rate = number::<4>(file, 24) as usize;
    let samples = file[44..].as_chunks::<2>().0[at * rate..(at + 1) * rate].iter();
    samples.map(|sample| i16::from_le_bytes(*sample)).collect()
}

#[test]
fn the_header_of_the_recording_says_what_it_is() {
    let file = chimes();
    assert_eq!([&file[..4], &file[8..16], &file[36..40]], [&b"RIFF"[..], b"WAVEfmt ", b"data"]);
    assert_eq!(number::<4>(&file, 4) as usize, file.len() - 8);
    assert_eq!(number::<4>(&file, 40) as usize, file.len() - 44);
    let [format, channels] = [20, 22].map(|at| number::<2>(&file, at));
    let (rate, bytes) = (number::<4>(&file, 24), number::<4>(&file, 28));
    let [frame, bits] = [32, 34].map(|at| number::<2>(&file, at));
    assert_eq!((format, channels, bits), (1, 1, 16), "plain numbers of two bytes, one channel");
    assert_eq!((frame, bytes), (channels * bits / 8, rate * frame));
    assert_eq!(number::<4>(&file, 40) / bytes, 600, "ten minutes");
}

#[test]
fn each_note_is_another_and_fades_and_the_chimes_come_again() {
    let file = chimes();
    let seconds: Vec<Vec<i16>> = (0..5).map(|at| second(&file, at)).collect();
    assert_eq!(seconds[0], seconds[4], "four seconds are a period");
    assert_eq!(second(&file, 599), seconds[3], "to the end");
    let mut pitches = Vec::new();
    for samples in &seconds[..4] {
        let loudest = |part: &[i16]| part.iter().map(|sample| sample.unsigned_abs()).max().unwrap();
        let tenths: Vec<u16> = samples.chunks(samples.len() / 10).map(loudest).collect();
        assert!(tenths.is_sorted_by(|a, b| a > b), "it fades: {tenths:?}");
        assert!(tenths[0] > 5_000 && tenths[0] < i16::MAX.unsigned_abs(), "{tenths:?}");
        let heard: Vec<i16> = samples.iter().copied().filter(|sample| *sample != 0).collect();
        let crossings = heard.windows(2).filter(|two| (two[0] < 0) != (two[1] < 0)).count();
        assert!((600..2_000).contains(&crossings), "a note that people hear: {crossings}");
        pitches.push(crossings);
    }
    let mut different = pitches.clone();
    different.sort_unstable();
    different.dedup_by(|a, b| a.abs_diff(*b) < 20);
    assert_eq!(different.len(), 4, "{pitches:?}");
}
