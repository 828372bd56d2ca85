//! Sentence embeddings: texts as vectors that are near each other when the texts mean the same.
//!
//! - [`built_in`]: static vectors of pieces of words, always available;
//! - [`FullModel`]: Universal Sentence Encoder multilingual v3, once [`install`] has installed it.

mod charsmap;
mod error;
mod files;
mod full;
mod install;
#[cfg(test)]
mod laws;
mod layers;
mod network;
mod npy;
mod pieces;
mod sentencepiece;
mod table;
mod tokenizer;

use std::fmt;
use std::sync::{Arc, LazyLock};

use tantivy::directory::OwnedBytes;

pub use error::ModelError;
pub use full::FullModel;
pub use install::{install, vocabulary};
pub use table::Table;
pub use tokenizer::Tokenizer;

/// Table that comes with the program, made by `index/examples/distill`.
const BUILT_IN: &[u8] = include_bytes!("../../data/built-in.table");

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// Returns its name in status and logs.
    fn name(&self) -> &str;

    /// Returns the length of a vector.
    fn dimensions(&self) -> usize;

    /// Returns one vector of length 1 for each text, one after another. A text without known
    /// content gives zeros. The numbers of a vector are ordered by their information (principal
    /// components), so that the first 64 to 128 alone preselect well for the full comparison.
    fn embed(&self, texts: &[&str]) -> Vec<f32>;
}

/// Returns the embedder that comes with the program; called `built-in`.
pub fn built_in() -> Arc<dyn Embedder> {
    #[expect(clippy::expect_used, reason = "the table is part of the program, and a test opens it")]
    static TABLE: LazyLock<Arc<Table>> = LazyLock::new(|| {
        let table = Table::new("built-in", OwnedBytes::new(BUILT_IN));
        Arc::new(table.expect("the built-in table is valid"))
    });
    Arc::<Table>::clone(&TABLE)
}

/// Scales `vector` to length 1, unless it is 0.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in vector {
            *number /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cosine of two texts by the built-in table.
    fn likeness(a: &str, b: &str) -> f32 {
        let vectors = built_in().embed(&[a, b]);
        let (a, b) = vectors.split_at(built_in().dimensions());
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn what_means_the_same_is_nearer_than_what_does_not() {
        for (text, same, other) in [
            (
                "what is the wifi password",
                "how do I get on the wireless network",
                "what is the time",
            ),
            ("你們幾點關門", "營業時間到幾點", "怎麼請假"),
            ("你们几点关门", "营业时间到几点", "怎么请假"),
            ("何時まで営業していますか", "閉店時間を教えてください", "会議の資料を送ってください"),
            ("와이파이 비밀번호 알려 주세요", "무선 인터넷 암호가 뭐예요", "내일 회의가 있나요"),
            ("ร้านเปิดถึงกี่โมง", "เวลาปิดร้าน", "ขอรหัสผ่าน"),
        ] {
            let (near, far) = (likeness(text, same), likeness(text, other));
            assert!(near > far, "{text}: {same} {near}, {other} {far}");
        }
    }

    #[test]
    fn languages_share_one_space() {
        for (text, same, other) in [
            ("where is the station", "車站在哪裡", "退款"),
            ("weather tomorrow", "明日の天気", "パスワード"),
            ("cancel my order", "ยกเลิกคำสั่งซื้อ", "อากาศ"),
            ("restaurant", "식당", "의사"),
        ] {
            let (near, far) = (likeness(text, same), likeness(text, other));
            assert!(near > far + 0.1, "{text}: {same} {near}, {other} {far}");
        }
    }

    #[test]
    fn vectors_have_length_one_and_nothing_has_none() {
        let vectors = built_in().embed(&["hello", "  ", "😂", "🪿", "ဆိုင်ဖွင့်လဲ"]);
        let lengths: Vec<f32> = vectors
            .chunks_exact(built_in().dimensions())
            .map(|vector| vector.iter().map(|number| number * number).sum())
            .collect();
        assert!((lengths[0] - 1.0).abs() < 1e-4 && lengths[1] == 0.0);
        assert!((lengths[2] - 1.0).abs() < 1e-4, "some emoji mean something");
        assert_eq!(lengths[3..], [0.0, 0.0], "what the model does not know means nothing");
    }
}
