"""Recognition of phrases with typos and small changes: fuzzy rules beside rapidfuzz.

    pip install rapidfuzz
    python3 benches/typos.py CHATKEEP [clinc:PATH]

CHATKEEP is the program. The phrases are the questions of every other rule of our own sets (and of
CLINC150 one `train` phrase of every other intent); they come back with one and two typos, in
another order, with words before and after, with a piece missing, and in the other width. The other
rules' questions and messages, and what is outside of all, must not be answered. rapidfuzz answers
from the score on that lets as many of those pass.
"""

import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from rapidfuzz import fuzz, process, utils

FIXTURES = pathlib.Path(__file__).parent.parent / "index" / "tests" / "fixtures"
AROUND = {
    "en": (["hey ", "excuse me, "], [" please", " thanks!"]),
    "zh-Hant": (["請問", "不好意思，"], ["，謝謝", "有人知道嗎"]),
    "ja": (["すみません、", "あの、"], ["教えてください", "、お願いします"]),
    "ko": (["안녕하세요 ", "혹시 "], [" 알려주세요", " 부탁드려요"]),
    "th": (["ขอถามหน่อย", "รบกวนสอบถาม "], ["ครับ", " ช่วยตอบที"]),
}
chance = random.Random(5)


def typo(text, letters):
    """Returns a text with one letter replaced, left out, added, or exchanged with the next."""
    at = chance.randrange(len(text) - 1)
    one = chance.choice(letters)
    return chance.choice([
        text[:at] + one + text[at + 1 :],
        text[:at] + text[at + 1 :],
        text[:at] + one + text[at:],
        text[:at] + text[at + 1] + text[at] + text[at + 2 :],
    ])


def order(text):
    parts = text.split() if " " in text else list(text)
    at = chance.randrange(1, len(parts)) if len(parts) > 1 else 0
    return (" " if " " in text else "").join(parts[at:] + parts[:at])


def missing(text):
    parts = text.split() if len(text.split()) > 3 else list(text)
    length = max(1, len(parts) // 5)
    at = chance.randrange(len(parts) - length + 1)
    return (" " if len(text.split()) > 3 else "").join(parts[:at] + parts[at + length :])


def width(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text.upper())


def around(text, language):
    before, after = AROUND[language]
    return chance.choice(before) + text + chance.choice(after)


def typed(phrase, language, letters):
    return {
        "typo": typo(phrase, letters),
        "two typos": typo(typo(phrase, letters), letters),
        "order": order(phrase),
        "more words": around(phrase, language),
        "typo, more words": around(typo(phrase, letters), language),
        "missing": missing(phrase),
        "width": width(phrase),
    }


def ours(program, phrases, messages):
    """Returns the ordinals of the answers, None where there is none."""
    rules = [{"id": str(at), "keywords": [p], "answer": "-"} for at, p in enumerate(phrases)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"items": rules}, file)
        file.flush()
        lines = "\n".join(json.dumps({"text": text}) for text in messages)
        args = [program, "qa", "try", "--rules", file.name, "--mode", "fuzzy"]
        told = subprocess.run(args, input=lines, capture_output=True, text=True, check=True)
    ids = [json.loads(line)["ruleId"] for line in told.stdout.splitlines()]
    return [None if rule is None else int(rule) for rule in ids]


def theirs(scorer, phrases, messages, outside, passing):
    def best(texts):
        rows = process.cdist(texts, phrases, scorer=scorer, processor=utils.default_process)
        return rows.argmax(1), rows.max(1)

    scores = sorted(best(outside)[1], reverse=True)
    least = scores[min(passing, len(scores) - 1)]
    return [int(at) if score > least else None for at, score in zip(*best(messages))]


def sets(arguments):
    """Yields language, phrases, and messages that must not be answered."""
    both = [json.loads((FIXTURES / name).read_text("utf-8"))
            for name in ("paraphrases.json", "group_paraphrases.json")]
    for language in both[0]:
        rules = [rule for kind in both for rule in kind[language]["rules"]]
        outside = [text for kind in both for text in kind[language]["outside"]]
        outside += [text for rule in rules[1::2] for text in [rule["question"], *rule["messages"]]]
        yield language, [rule["question"] for rule in rules[::2]], outside
    for argument in arguments:
        parts = json.loads(pathlib.Path(argument.removeprefix("clinc:")).read_text("utf-8"))
        intents = collections.defaultdict(list)
        for text, intent in parts["train"]:
            intents[intent].append(text)
        texts = [intents[intent][0] for intent in sorted(intents)]
        outside = texts[1::2] + [text for text, _ in parts["oos_val"]]
        yield "en", texts[::2], outside


def main(program, *arguments):
    for language, phrases, outside in sets(arguments):
        letters = [c for phrase in phrases for c in phrase if c.isalnum()]
        made = [(kind, at, text) for at, phrase in enumerate(phrases)
                for kind, text in typed(phrase, language, letters).items()]
        messages = [text for _, _, text in made]
        answers = ours(program, phrases, messages + outside)
        passing = sum(answer is not None for answer in answers[len(made) :])
        print(f"{language}: {len(phrases)} phrases, {passing} of {len(outside)} outside answered")
        rows = {"fuzzy": answers[: len(made)]}
        for scorer in (fuzz.ratio, fuzz.token_set_ratio, fuzz.partial_ratio, fuzz.WRatio):
            rows[scorer.__name__] = theirs(scorer, phrases, messages, outside, passing)
        for name, given in rows.items():
            right = collections.Counter(kind for (kind, at, _), got in zip(made, given) if at == got)
            shares = (f"{kind} {right[kind] / len(phrases):.0%}" for kind, _, _ in made[:7])
            print(f"  {name:16} {sum(right.values()) / len(made):6.1%}: {', '.join(shares)}")


main(*sys.argv[1:])
