//! Sentence embeddings of messages of 60 characters: built in, and by the full model when
//! `CHATKEEP_MODEL` names its wheel.

use std::path::Path;
use std::sync::LazyLock;

use chatkeep_index::embed::{Embedder, FullModel, built_in, install};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// Messages by the script they are in.
const MESSAGES: [(&str, &str); 4] = [
    ("en", "Could somebody please tell me when the office opens today?"),
    (
        "zh",
        "明天下午三點在台北車站集合,記得帶雨傘和身分證,如果下雨的話就改到星期天上午十點在同一個地方見面,大家請準時不要遲到",
    ),
    (
        "ja",
        "明日の午後三時に駅前で集合してください。雨の場合は日曜日の午前十時に変更します。皆さん時間を守って来てくださいね",
    ),
    ("th", "พรุ่งนี้เจอกันที่สถานีรถไฟบ่ายสามโมงนะคะ อย่าลืมเอาร่มมาด้วย"),
];

fn names() -> impl Iterator<Item = &'static str> {
    MESSAGES.iter().map(|(name, _)| *name)
}

fn message(name: &str) -> &'static str {
    MESSAGES.iter().find(|(other, _)| *other == name).map_or("", |(_, message)| message)
}

#[divan::bench(args = names())]
fn built_in_table(bencher: Bencher<'_, '_>, name: &str) {
    let embedder = built_in();
    bencher.bench(|| embedder.embed(&[black_box(message(name))]));
}

/// Full model, installed for the duration of the bench.
static FULL: LazyLock<Option<FullModel>> = LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "a bench's own setting, not the program's")]
    let source = std::env::var_os("CHATKEEP_MODEL")?;
    let folder = tempfile::tempdir().ok()?;
    let target = folder.path().join("model");
    install(Path::new(&source), &target).ok()?;
    FullModel::open(&target).ok()
});

#[divan::bench(args = names())]
fn full_model(bencher: Bencher<'_, '_>, name: &str) {
    match FULL.as_ref() {
        Some(model) => bencher.bench(|| model.embed(&[black_box(message(name))])),
        None => bencher.bench(|| ()),
    }
}
