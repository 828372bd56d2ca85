//! Pictures to send, rendered by the program: small scenes, each a function from points to colours.
//!
//! Coordinates are 0..4 (right) by 0..3 (down). A scene layers shapes; a shape is the coverage of a
//! point, from 0 to 1, with a soft edge of about a pixel.

use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;

pub use image::ImageError as DrawError;

const WIDTH: u16 = 640;
const HEIGHT: u16 = 480;
/// Length of a side of a profile picture.
const PORTRAIT: u16 = 200;
/// The edge of a pixel.
const PIXEL: f32 = 4.0 / 640.0;
/// JPEG's quality, of 100.
const QUALITY: u8 = 88;

/// Red, green and blue, from 0 to 1.
type Color = [f32; 3];
/// Gives a point's colour under a palette.
type Scene = fn(f32, f32, &[Color; 4]) -> Color;

const SCENES: [Scene; 4] = [mountains, books, city, chart];
/// Four colours that go together, from far to near.
const PALETTES: [[Color; 4]; 3] = [
    [[0.29, 0.33, 0.56], [0.97, 0.68, 0.48], [0.55, 0.38, 0.53], [0.22, 0.20, 0.36]],
    [[0.26, 0.55, 0.75], [0.99, 0.87, 0.64], [0.32, 0.56, 0.55], [0.12, 0.30, 0.35]],
    [[0.42, 0.32, 0.60], [0.98, 0.72, 0.72], [0.45, 0.35, 0.60], [0.18, 0.16, 0.33]],
];
const WHITE: Color = [1.0, 0.99, 0.96];

/// Returns the picture of that number as a photo: a JPEG file of 640 by 480 pixels. The same number
/// gives the same picture.
///
/// # Errors
/// Returns an error when it cannot be encoded.
pub fn photo(number: usize) -> Result<Vec<u8>, DrawError> {
    render(number, (WIDTH, HEIGHT), (0.0, PIXEL))
}

/// Returns the picture of that number as somebody's profile picture: a square from its middle, a
/// JPEG file of 200 by 200 pixels.
///
/// # Errors
/// Returns an error when it cannot be encoded.
pub fn portrait(number: usize) -> Result<Vec<u8>, DrawError> {
    let step = 3.0 / f32::from(PORTRAIT);
    render(number, (PORTRAIT, PORTRAIT), (0.5, step))
}

/// Renders a scene from that place on, with that much of it for each pixel.
fn render(
    number: usize,
    (width, height): (u16, u16),
    (left, step): (f32, f32),
) -> Result<Vec<u8>, DrawError> {
    let scene = SCENES[number % SCENES.len()];
    // The remainders alone: the sum of the numbers themselves may be too large.
    let turns = number / SCENES.len() % PALETTES.len() + number % PALETTES.len();
    let palette = &PALETTES[turns % PALETTES.len()];
    let mut pixels = Vec::with_capacity(usize::from(width) * usize::from(height) * 3);
    for row in 0..height {
        for column in 0..width {
            let x = left + f32::from(column) * step;
            pixels.extend(scene(x, f32::from(row) * step, palette).map(level));
        }
    }
    let image = RgbImage::from_raw(width.into(), height.into(), pixels).unwrap_or_default();
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, QUALITY).encode_image(&image)?;
    Ok(file)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held to 0..=255 before"
)]
fn level(part: f32) -> u8 {
    (part * 255.0).round().clamp(0.0, 255.0) as u8
}

/// `top` over `base`, covering that much of it.
fn over(base: Color, top: Color, cover: f32) -> Color {
    std::array::from_fn(|i| base[i] + (top[i] - base[i]) * cover)
}

/// Returns the coverage of a point `inside` of an edge (negative: outside).
fn edge(inside: f32) -> f32 {
    (inside / PIXEL + 0.5).clamp(0.0, 1.0)
}

fn disc(x: f32, y: f32, center: (f32, f32), radius: f32) -> f32 {
    edge(radius - (x - center.0).hypot(y - center.1))
}

/// Returns the coverage of a box with round corners, given by its left, top, right and bottom
/// edges.
fn block(x: f32, y: f32, [left, top, right, bottom]: [f32; 4], round: f32) -> f32 {
    let beyond = |at: f32, low: f32, high: f32| (low + round - at).max(at - high + round);
    let (dx, dy) = (beyond(x, left, right), beyond(y, top, bottom));
    edge(round - dx.max(0.0).hypot(dy.max(0.0)) - dx.max(dy).min(0.0))
}

/// Returns a pseudo-random number from 0 to 1, always the same for `a` and `b`.
fn noise(a: f32, b: f32) -> f32 {
    let mut bits = a.to_bits().wrapping_mul(0x9E37_79B1)
        ^ b.to_bits().wrapping_mul(0x85EB_CA77).rotate_left(9);
    for factor in [0x2C1B_3C6D, 0x297A_2D39] {
        bits = (bits ^ (bits >> 15)).wrapping_mul(factor);
    }
    let [_, _, low, high] = (bits ^ (bits >> 15)).to_le_bytes();
    f32::from(u16::from_le_bytes([low, high])) / f32::from(u16::MAX)
}

/// Renders the sky: from the first colour at the top to the second one at `horizon`.
fn sky(y: f32, horizon: f32, palette: &[Color; 4]) -> Color {
    over(palette[0], palette[1], (y / horizon).clamp(0.0, 1.0).powf(0.8))
}

/// Renders a lake between mountains, with the sun low above it.
fn mountains(x: f32, y: f32, palette: &[Color; 4]) -> Color {
    const SHORE: f32 = 2.15;
    // The water reflects the scene above, a little darker and in waves.
    let in_water = y > SHORE;
    let wave = if in_water { ((y - SHORE) * 46.0).sin() * 0.02 * (y - SHORE + 0.3) } else { 0.0 };
    let (px, py) = if in_water { (x + wave, (SHORE - (y - SHORE) * 1.6).max(0.0)) } else { (x, y) };
    let sun = (2.75, 1.05);
    let glow = (1.0 - (px - sun.0).hypot(py - sun.1) / 1.1).max(0.0);
    let mut color = over(sky(py, SHORE, palette), WHITE, glow * glow * 0.55);
    color = over(color, WHITE, disc(px, py, sun, 0.24));
    for (number, (height, depth)) in [(1.32, 0.35), (1.62, 0.7), (1.9, 1.0)].into_iter().enumerate()
    {
        let shift = [0.4, 2.1, 4.4][number];
        let ridge = (px * 1.35 + shift).sin() * 0.24
            + (px * 3.1 + shift * 2.0).sin() * 0.1
            + (px * 7.7 + shift).sin() * 0.03;
        let rock = over(palette[2], palette[3], depth);
        color = over(color, rock, edge(py - (height + ridge)) * (0.55 + 0.45 * depth));
    }
    let water = over(color, palette[0], 0.28);
    over(color, water, edge(y - SHORE))
}

/// Two shelves of books.
fn books(x: f32, y: f32, palette: &[Color; 4]) -> Color {
    const SHELF: f32 = 1.5;
    const PLACE: f32 = 0.2;
    let wood = over([0.80, 0.62, 0.44], palette[1], 0.25);
    let (shelf, down) = ((y / SHELF).floor(), y % SHELF);
    let mut color = over(wood, [0.28, 0.18, 0.12], 0.62 - 0.18 * (down / SHELF));
    let (place, right) = ((x / PLACE).floor(), x % PLACE);
    let pick = noise(place + 1.0, shelf + 3.0);
    let (thin, tall) = (noise(place + 9.0, shelf) * 0.05, noise(place, shelf + 5.0) * 0.32);
    let top = 0.34 + tall;
    let spine = [0.008, top, PLACE - 0.008 - thin, SHELF - 0.1];
    let leather = match pick {
        p if p < 0.25 => palette[0],
        p if p < 0.5 => palette[2],
        p if p < 0.7 => palette[3],
        p if p < 0.85 => [0.86, 0.45, 0.36],
        _ => [0.95, 0.80, 0.52],
    };
    // A gap here and there.
    if noise(place + 4.0, shelf + 8.0) > 0.1 {
        color = over(color, [0.15, 0.09, 0.07], block(right, down, spine, 0.02) * 0.9);
        let [left, top, end, foot] = spine;
        color = over(color, leather, block(right, down, [left, top, end - 0.012, foot], 0.02));
        for band in [0.1, 0.16, 0.62] {
            let stripe = [left + 0.02, top + band, end - 0.035, top + band + 0.022];
            color = over(color, WHITE, block(right, down, stripe, 0.004) * 0.75);
        }
    }
    over(color, wood, edge(down - (SHELF - 0.1)))
}

/// Renders a city at night under the moon.
fn city(x: f32, y: f32, palette: &[Color; 4]) -> Color {
    const CELL: f32 = 0.05;
    let night = over(palette[3], [0.03, 0.04, 0.12], 0.55);
    let mut color = over(night, palette[2], (y / 3.0).powi(2) * 0.9);
    let (column, row) = ((x / CELL).floor(), (y / CELL).floor());
    if noise(column, row + 7.0) > 0.988 {
        let at = ((column + 0.5) * CELL, (row + 0.5) * CELL);
        color = over(color, WHITE, disc(x, y, at, 0.011) * (1.0 - y / 3.0));
    }
    let moon = disc(x, y, (0.8, 0.62), 0.27) * (1.0 - disc(x, y, (0.92, 0.55), 0.24));
    color = over(color, [0.99, 0.95, 0.80], moon);
    for (layer, width) in [(0.0, 0.44), (1.0, 0.36)] {
        let house = (x / width + layer * 0.5).floor();
        let top = 2.05 + layer * 0.3 - noise(house, layer + 2.0) * 0.85;
        let wall = over(palette[3], [0.04, 0.05, 0.11], 0.25 + layer * 0.5);
        color = over(color, wall, edge(y - top));
        let lit = noise(column + layer * 50.0, row) > 0.62 && y > top + 0.08;
        let (right, down) = (x % CELL, y % CELL);
        let pane = block(right, down, [0.012, 0.01, 0.038, 0.038], 0.002);
        if lit {
            let lamp = over([0.99, 0.82, 0.48], palette[1], noise(row, column));
            color = over(color, lamp, pane * (0.5 + layer * 0.45));
        }
    }
    color
}

/// Renders a chart of rising bars.
fn chart(x: f32, y: f32, palette: &[Color; 4]) -> Color {
    const FOOT: f32 = 2.45;
    const STEP: f32 = 0.44;
    let paper = over(WHITE, palette[1], 0.25);
    let mut color = over(paper, [1.0; 3], block(x, y, [0.2, 0.2, 3.8, 2.8], 0.14));
    if x > 0.45 && x < 3.55 && y < FOOT + 0.02 {
        let rule = FOOT + ((y - FOOT) / 0.45).round() * 0.45;
        color = over(color, palette[0], edge(0.006 - (y - rule).abs()) * 0.35 * edge(y - 0.55));
    }
    let number = ((x - 0.5) / STEP).floor().clamp(0.0, 6.0);
    let left = 0.5 + number * STEP;
    let top = FOOT - 0.35 - number * 0.17 - noise(number + 1.0, 2.0) * 0.4;
    let bar =
        block(x, y, [left + 0.07, top, left + STEP - 0.07, FOOT + 0.1], 0.06) * edge(FOOT - y);
    let height = ((FOOT - y) / 1.8).clamp(0.0, 1.0);
    color = over(color, over(palette[0], palette[2], height), bar);
    let mark = (left + STEP / 2.0, top - 0.13);
    over(color, [0.93, 0.45, 0.36], disc(x, y, mark, 0.045))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_show_something_and_differ() {
        let files: Vec<_> = (0..12).map(|number| photo(number).unwrap()).collect();
        for (number, file) in files.iter().enumerate() {
            let shown = image::load_from_memory(file).unwrap().to_rgb8();
            assert_eq!(shown.dimensions(), (u32::from(WIDTH), u32::from(HEIGHT)));
            let colors: std::collections::BTreeSet<_> =
                shown.pixels().map(|pixel| pixel.0.map(|part| part / 32)).collect();
            assert!(colors.len() > 8, "picture {number} has {} colours", colors.len());
            assert!(!files[..number].contains(file), "picture {number} is an earlier one");
        }
        assert_eq!(photo(5).unwrap(), files[5], "the same number, the same picture");
    }
}
