#!/usr/bin/env python3
"""Collects the texts that the built-in table is distilled with: collect.py PACKAGES OUTPUT

PACKAGES is a folder with the folders `debs`, `wheels`, `npm` (unpacked packages, each in a folder of
its name; `benches/README.md` lists them) and `chat` (`en-chitchat.jsonl.gz`, `th-wisesight.txt.gz`,
`*.json` in SQuAD form). OUTPUT is a folder that gets a file a source, a text a line. The same
packages give the same files. Needs the PyPI packages msgpack and opencc-python-reimplemented.
"""

import gettext
import gzip
import html
import json
import random
import re
import sys
import zipfile
from pathlib import Path

import msgpack
import opencc

LANGUAGES = r"(ja|ko|th|en|C|zh|zh[_-](?:TW|CN|HK|tw|cn|hant|hans|Hant|Hans))"
LONGEST = 100  # letters; messages are short

# Maximum number of texts of a source. Sources that are not named are taken whole.
MOST = {
    "catalogues": 120_000, "catalogues-en": 30_000, "mediawiki": 20_000, "help": 26_000,
    "reference": 7_000, "manuals": 8_000, "fortunes": 40_000, "mozilla": 30_000,
    "thai-words": 40_000, "words-en": 15_000, "words-ja": 10_000, "words-ko": 15_000,
    "words-zh": 20_000, "cldr": 18_000, "emoji": 12_000, "edict": 16_000, "chat-en": 140_000,
}

# Number of texts generated from our own frames, by language.
PHRASES = {"en": 60_000, "ja": 110_000, "ko": 110_000, "th": 110_000, "zh-Hant": 110_000}

SENTENCE = re.compile(r"(?<=[。!?！？])|(?<=[.!?])\s+|\n+")
PLACEHOLDER = re.compile(r"%[-+0-9.]*\d*\$?[sdiufxcn@lL]+|%\(\w+\)[sd]|\{\{?[^{}]{0,60}\}?\}|\$\{?[\w.]+\}?|%\d")
PARTICLE = re.compile(r"(.)\((은|이|을|이랑|으로)\)")
BLOCK = re.compile(r"</?(?:p|td|tr|li|h\d|div|dt|dd|br|title|item|desc|note)\b[^>]*>")


def clean(text, split=True):
    """Yields the sentences of a text without markup and placeholders, mostly letterless ones left out."""
    text = re.sub(r"<[^<>]{1,200}>", " ", html.unescape(text))
    for part in SENTENCE.split(text) if split else [text]:
        part = re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029_&]+", " ", PLACEHOLDER.sub(" ", part or ""))
        part = re.sub(r"\s+", " ", part).strip(" -*•·|\"'")
        if 1 <= len(part) <= LONGEST and sum(map(str.isalpha, part)) >= max(1, len(part) * 0.45):
            yield part


def strings(value):
    """Yields all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def load(path):
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError:
        return {}


def in_language(root, pattern):
    """Returns the files whose path has one of our languages as a folder's or the file's name."""
    named = re.compile(rf"/{LANGUAGES}(?:\.UTF-8)?(?:/|[.-][^/]*$)")
    return [path for path in sorted(root.glob(pattern)) if path.is_file() and named.search(str(path))]


def catalogues(root):
    """Yields translated messages of programs, and some of the English ones."""
    for path in in_language(root, "**/*.mo"):
        try:
            messages = gettext.GNUTranslations(path.open("rb"))._catalog
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        codes = path.name in ("iso_639-3.mo", "iso_3166-2.mo")  # names of thousands of small places
        for number, (key, value) in enumerate(messages.items()):
            if isinstance(value, str) and key and not (codes and number % 5):
                yield "catalogues", value
                yield "catalogues-en", (key[0] if isinstance(key, tuple) else key).split("\x04")[-1]


def documents(debs):
    """Yields help pages, manuals, fortunes and interface texts of Debian packages."""
    for path in in_language(debs / "mediawiki", "**/i18n/**/*.json"):
        for text in strings(load(path)):
            yield "mediawiki", re.sub(r"\[\[|\]\]|'''|\{\{[^{}]*\}\}|\$\d", " ", text)
    pages = [("help", "libreoffice-help-*/**/*.html"), ("reference", "debian-*/**/*.html")]
    for source, pattern in pages:
        for path in sorted(debs.glob(pattern)):
            page = re.sub(r"(?s)<(script|style|head).*?</\1>", " ", path.read_text("utf-8", "ignore"))
            yield from ((source, block) for block in BLOCK.split(page))
    for path in in_language(debs / "gnome-user-docs", "usr/share/help/**/*.page"):
        yield from (("help", block) for block in BLOCK.split(path.read_text("utf-8", "ignore")))
    for path in sorted(debs.glob("manpages-*/usr/share/man/*/man[167]/*.gz")):
        for line in gzip.open(path, "rt", errors="ignore"):
            if line[0] not in ".'":
                yield "manuals", re.sub(r"\\f.|\\", "", line)
    for path in sorted(debs.glob("fortunes*/usr/share/games/fortunes/*")):
        if path.is_file() and path.suffix not in (".dat", ".u8"):
            for text in path.read_text("utf-8", "ignore").split("\n%\n"):
                yield "fortunes", re.sub(r"\x1b\[[0-9;]*m", "", text)
    for path in sorted(debs.glob("*-l10n-*/**/*.xpi")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith((".ftl", ".properties")):
                    yield from mozilla(archive.read(name).decode("utf-8", "ignore"))
    for line in (debs / "edict/usr/share/edict/edict").open(encoding="euc-jp", errors="ignore"):
        entry = re.match(r"(\S+?)(?:\[| )[^/]*/(.*?)/", line)
        if entry and "(P)" in line:
            yield "edict", re.split(r"[;(]", entry[1])[0]
            yield "edict", re.sub(r"\([^)]*\)", "", entry[2])


def mozilla(messages):
    for line in messages.split("\n"):
        value = line.split("=", 1)[1] if "=" in line else line if line.startswith("    ") else ""
        if value and not line.startswith("#"):
            yield "mozilla", re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), value)


def python_packages(wheels):
    for path in sorted(wheels.glob("chatterbot_corpus/**/*.yml")):
        if path.parent.name in ("chinese", "traditionalchinese", "japanese", "korean", "thai", "english"):
            for line in path.read_text("utf-8", "ignore").split("\n"):
                line = re.sub(r"^[\s-]+", "", line).strip()
                if not re.match(r"(categories|conversations):", line):
                    yield "chatterbot", line
    for path in in_language(wheels / "home_assistant_intents", "**/data/*.json"):
        yield from (("intents", text) for text in intents(load(path)))
    for path in in_language(wheels / "home_assistant_frontend", "**/translations/**/*.json"):
        yield from (("frontend", text) for text in strings(load(path)))
    for path in sorted(wheels.glob("hsk_sentences_audio/**/sentences.json")):
        for text in strings(load(path)):
            if len(text) > 3 and not re.search(r"^http|[āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ]", text):
                yield "hsk", text
    for path in sorted(wheels.glob("pythainlp/pythainlp/corpus/*.txt")):
        for line in path.read_text("utf-8", "ignore").split("\n"):
            if re.search("[\u0e00-\u0e7f]", line):
                yield "thai-words", line.split("\t")[0]
    for language in ("en", "ja", "ko", "zh"):
        found = sorted(wheels.glob(f"wordfreq/wordfreq/data/*_{language}.msgpack.gz"))  # large, small
        bins = msgpack.load(gzip.open(found[0]), raw=False)[1:]
        words = [word for words in bins for word in words][: MOST[f"words-{language}"]]
        yield from ((f"words-{language}", word) for word in words)


def intents(data):
    """Generates sentences from templates: [optional], (a|b), <rule>, {slot}."""
    chance, rules = random.Random(7), data.get("expansion_rules", {})
    slots = {
        name: [value if isinstance(value, str) else value.get("in", "") for value in slot.get("values", [])]
        for name, slot in data.get("lists", {}).items()
    }
    groups = [group for intent in data.get("intents", {}).values() for group in intent.get("data", [])]
    for template in [template for group in groups for template in group.get("sentences", [])]:
        for _ in range(12):
            text = template
            for _ in range(8):
                text = re.sub(r"<(\w+)>", lambda rule: f"({rules.get(rule[1], '')})", text)
                text = re.sub(r"\{(\w+)(?::\w+)?\}", lambda slot: chance.choice(slots.get(slot[1]) or [""]), text)
            for _ in range(60):
                text = re.sub(r"\[([^\[\]()]*)\]", lambda part: chance.choice([part[1], ""]), text, count=1)
                text = re.sub(r"\(([^()\[\]]*)\)", lambda part: chance.choice(part[1].split("|")), text, count=1)
            yield text
    yield from strings(data.get("responses", {}))


def other(npm, chat):
    for path in in_language(npm, "cldr-*/**/*.json"):
        yield from (("cldr", text) for text in strings(load(path)) if len(text) > 1)
    for language in ("en", "ja", "ko", "th", "zh", "zh-hant"):
        for emoji in load(npm / f"emojibase-data/package/{language}/data.json"):
            for text in [emoji.get("label", ""), *(emoji.get("tags") or [])]:
                yield "emoji", text
    for line in gzip.open(chat / "en-chitchat.jsonl.gz", "rt"):
        yield "chat-en", json.loads(line)["text"] or ""
    for line in gzip.open(chat / "th-wisesight.txt.gz", "rt"):
        yield "chat-th", line
    for path in sorted(chat.glob("*.json")):
        for article in load(path)["data"]:
            for paragraph in article["paragraphs"]:
                yield path.stem, paragraph["context"].replace("[SEP]", "\n")


def phrases(taken):
    """Generates questions to people and bots, from our own frames and fillers and words from `taken`."""
    made, traditional = {}, opencc.OpenCC("s2t")
    words = {"en": "words-en", "ja": "edict", "ko": "words-ko", "th": "thai-words", "zh-Hant": "words-zh"}
    for language, parts in sorted(load(Path(__file__).with_name("phrases.json")).items()):
        more = [word for word in sorted(taken[words[language]]) if language == "en" or not word.isascii()]
        more = list(map(traditional.convert, more)) if language == "zh-Hant" else more
        chance, made[language] = random.Random(f"phrases {language}"), set()
        lists = {name: listed(part) for name, part in parts.items() if name not in ("actions", "forms")}
        does = actions(parts)
        while len(made[language]) < PHRASES[language]:
            made[language].add(phrase(chance, lists, does, more))
    simplified = opencc.OpenCC("t2s")
    made["zh-Hans"] = {simplified.convert(text) for text in sorted(made["zh-Hant"])[::2]}
    return {f"phrases-{language}": sorted(texts) for language, texts in made.items()}


def listed(part):
    """Returns the content of a list of `phrases.json`: lines of texts with | between them."""
    return [text for line in ([part] if isinstance(part, str) else part) for text in line.split("|")]


def actions(parts):
    """Returns the actions, each as its form by slot. Verbs that change are stems by the ending they have."""
    if "forms" not in parts:
        return [{"a": action} for action in listed(parts["actions"])]
    slots = listed(parts["forms"][""])
    return [
        {slot: stem + form for slot, form in zip(slots, listed(parts["forms"][ending]))}
        for ending, stems in parts["actions"].items() for stem in listed(stems)
    ]


def phrase(chance, lists, does, more):
    """Returns a frame with its slots filled, sometimes with an opener before it and an end after it.

    Slots: a topic `{n}`, an action `{a}` (in Japanese and Korean also in its other forms), others of
    both `{n2}` and `{a2}`, a time `{t}`, a person `{p}`, a place `{r}`, a state or reason `{s}`.
    """
    topics = [chance.choice(lists["topics"] if chance.random() < 0.6 else more) for _ in range(2)]
    slots = dict(chance.choice(does))
    slots.update((f"{slot}2", form) for slot, form in chance.choice(does).items())
    slots.update(n=topics[0], n2=topics[1])
    for slot, name in (("t", "times"), ("p", "people"), ("r", "places"), ("s", "states")):
        slots[slot] = chance.choice(lists[name])
    text = re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]], chance.choice(lists["frames"]))
    if chance.random() < 0.12:
        text = chance.choice(lists["openers"]) + text
    if chance.random() < 0.3:
        text += chance.choice(lists["ends"])
    return PARTICLE.sub(particle, text)


def particle(found):
    """Returns a Korean particle that is written in brackets in its form after the letter before it."""
    before, after_consonant = found.groups()
    final = (ord(before) - ord("가")) % 28 if "가" <= before <= "힣" else 0
    if final == 0 or (after_consonant == "으로" and final == 8):
        return before + {"은": "는", "이": "가", "을": "를", "이랑": "랑", "으로": "로"}[after_consonant]
    return before + after_consonant


def main():
    packages, output = map(Path, sys.argv[1:])
    found = {}
    whole = {"chat-en", "chat-th", "edict", "emoji", "cldr"}  # one text each, not sentences
    for source, text in (
        *catalogues(packages / "debs"), *catalogues(packages / "wheels/django"), *documents(packages / "debs"),
        *python_packages(packages / "wheels"), *other(packages / "npm", packages / "chat"),
    ):
        for part in clean(text, source not in whole):
            found.setdefault(source, {})[part] = None
    taken = {}
    for source, texts in sorted(found.items()):
        most = MOST.get(source, len(texts))
        taken[source] = random.Random(5).sample(sorted(texts), min(most, len(texts)))
    taken.update(phrases(taken))
    output.mkdir(parents=True, exist_ok=True)
    for source, texts in taken.items():
        (output / f"{source}.txt").write_text("\n".join(sorted(texts)) + "\n", "utf-8")
        print(source, len(texts))


if __name__ == "__main__":
    main()
