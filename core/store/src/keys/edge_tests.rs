//! Tests of what is stored of a secret: its hash, and the last characters for its owner.

use super::*;

#[test]
fn a_secret_is_stored_as_the_published_hash() {
    // Vectors of the standard; keys of every earlier version are found by it.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!((hash("").as_str(), hash("abc").as_str()), (empty, abc));
}

#[test]
fn a_mask_is_four_whole_characters() {
    for (secret, masked) in [
        ("ck_0123456789", "6789"),
        ("ck_早安晚安", "早安晚安"),
        ("👍👍👍👍👍", "👍👍👍👍"),
        ("abcd", "abcd"),
        ("", ""),
    ] {
        assert_eq!(mask(secret), masked);
    }
}
