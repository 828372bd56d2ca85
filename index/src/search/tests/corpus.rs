//! Random small corpora, and queries for them that often find something.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Channels of the messages.
pub(super) const CHANNELS: &[&str] = &["c0", "c1", "c2"];

/// Parts of messages. No hyphens and no commas: what they join has tests of its own.
const PARTS: &[&str] = &[
    "明天",
    "見面",
    "停車場",
    "在",
    "台北車站",
    "营业时间",
    "駅前",
    "の",
    "予約",
    "コンビニ",
    "ﾊﾟｽﾜｰﾄﾞ",
    "ร้าน",
    "เปิด",
    "กี่โมง",
    "น\u{e49}\u{e33}",
    "น\u{e4d}\u{e49}\u{e32}",
    "ที่จอดรถ",
    "주차장은 ",
    "어디",
    "영업시간",
    "see ",
    "you ",
    "Café ",
    "cafe\u{301}",
    "station ",
    "ＷｉＦｉ",
    "don’t ",
    "C++",
    "x1",
    "2980",
    "12:30",
    " 42 ",
    "１２",
    "🎉",
    "👍🏽",
    "❤\u{fe0f}",
    "👩\u{200d}💻",
    "🇹🇼",
    " https://a.example/x ",
    " www.b.example ",
    " ",
    "\r\n",
    "\u{3000}",
    "。",
    "！",
    "？",
    "…",
    "(",
    ")",
    "@",
    "#",
    "～",
];

/// Conditions of a query beside its words.
const FILTERS: &[&str] = &[
    "from:U1",
    "-from:U2",
    "from:U0 from:U1",
    "type:text",
    "type:image type:sticker",
    "-type:video",
    "has:link",
    "-has:link",
    "has:media",
    "-has:media",
    "after:1970-01-01T00:00:10Z",
    "before:1970-01-01T00:00:31Z",
];

/// Generates the text of a message.
pub(super) fn chat_text() -> impl Strategy<Value = String> {
    vec(select(PARTS), 0..8).prop_map(|parts| parts.concat())
}

/// Generates up to `most` messages `m0`, `m1`, … of three channels and forty seconds, so that some
/// are of the same time.
pub(super) fn messages(most: usize) -> impl Strategy<Value = Vec<IndexDoc>> {
    let kinds = select(query::MESSAGE_TYPES.to_vec());
    let one = (chat_text(), select(CHANNELS), 0_u8..4, kinds, 0_i64..40);
    vec(one, 1..=most).prop_map(|all| {
        let numbered = (0_u32..).zip(all);
        let messages = numbered.map(|(number, (text, channel, sender, kind, second))| IndexDoc {
            channel_id: channel.to_owned(),
            message_id: format!("m{number}"),
            sender_id: (sender < 3).then(|| format!("U{sender}")),
            kind: kind.to_owned(),
            sent_at: second * 1_000,
            text,
        });
        messages.collect()
    })
}

/// Generates a piece of what a message may have, which may begin and end anywhere.
fn piece() -> impl Strategy<Value = String> {
    (vec(select(PARTS), 1..3), 0_usize..5, 1_usize..7)
        .prop_map(|(parts, from, length)| parts.concat().chars().skip(from).take(length).collect())
}

/// Generates such a piece without white space.
fn word() -> impl Strategy<Value = String> {
    piece().prop_map(|piece| piece.split_whitespace().collect())
}

/// Generates a part of a query.
pub(super) fn clause() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => word(),
        2 => piece().prop_map(|piece| format!("\"{piece}\"")),
        1 => word().prop_map(|word| format!("-{word}")),
        1 => piece().prop_map(|piece| format!("-\"{piece}\"")),
        1 => word().prop_map(|word| format!("{word}?")),
        2 => select(FILTERS).prop_map(str::to_owned),
    ]
}

/// Generates queries; some of them are errors, as an empty one is.
pub(super) fn query_texts(count: usize) -> impl Strategy<Value = Vec<String>> {
    vec(vec(clause(), 1..4).prop_map(|clauses| clauses.join(" ")), count)
}

/// Returns the options of a writer of few messages.
pub(super) fn small_writer() -> WriterOptions {
    WriterOptions { threads: 1, ..WriterOptions::default() }
}

/// Creates an index in memory of these messages, in three commits.
pub(super) fn indexed(docs: &[IndexDoc]) -> MessageIndex {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(small_writer()).unwrap();
    for part in docs.chunks(docs.len().div_ceil(3).max(1)) {
        let puts: Vec<_> = part.iter().cloned().map(IndexChange::Put).collect();
        writer.apply(&puts).unwrap();
        writer.commit("").unwrap();
    }
    index
}
