//! Sample media for the demo, made by the program: pictures and a recording. A crate of its own
//! because millions of points are computed, too slowly without optimisation.

mod pictures;
mod recording;
#[cfg(test)]
mod tests;

pub use pictures::{DrawError, photo, portrait};
pub use recording::chimes;
