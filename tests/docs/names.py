"""Checks that what the documentation names exists: files, metrics, settings, identifiers; and that
what code says of the documentation leads somewhere. Run from anywhere after the book was built.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "target" / "book"
TOP = (
    "benches/", "core/", "deploy/", "docs/", "emulator/", "index/", "migrations/", "src/", "tests/",
    "workers/",
)
# Pages for developers: their identifiers are those of the code.
DEVELOPERS = ("docs/architecture.md", "docs/decisions/", "docs/glossary.md", "CONTRIBUTING.md")
# Read by tests and benches only, or by other programs.
VARIABLES = {"CHATKEEP_CONFIG", "CHATKEEP_KEY", "CHATKEEP_MODEL", "CHATKEEP_SEARCH_CHANNELS",
             "CHATKEEP_SEARCH_CORPUS", "CHATKEEP_SEARCH_KIND", "CHATKEEP_SEARCH_MESSAGES",
             "CHATKEEP_SEARCH_QUERIES", "CHATKEEP_TEST_KILLS"}


def tracked(*patterns: str) -> list[str]:
    """Returns the files of the repository, also new ones, that match."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [file for file in files.stdout.splitlines() if (ROOT / file).is_file()]


class Names:
    """What there is to be named."""

    def __init__(self) -> None:
        settings = (ROOT / "deploy" / "chatkeep.toml").read_text()
        self.settings = tomllib.loads(settings)
        self.variables = VARIABLES | set(re.findall(r"CHATKEEP_\w+", settings))
        metrics = (ROOT / "core" / "src" / "metric.rs").read_text()
        self.metrics = set(re.findall(r'"(chatkeep_\w+)"', metrics))
        code = "\n".join((ROOT / file).read_text() for file in tracked("*.rs", "*.sql", "*.toml"))
        self.words = set(re.findall(r"\w+", code))
        kinds = (ROOT / "core" / "store" / "src" / "outbox_kind.rs").read_text()
        self.events = set(re.findall(r'= "(\w+\.\w+)",', kinds))

    def fault(self, page: str, name: str) -> str | None:
        """Returns what is wrong with a name, if it is one of those that are known."""
        if name.startswith(TOP) and re.fullmatch(r"[\w./-]+", name) and "NNNN" not in name:
            return None if (ROOT / name).exists() else "no such file"
        if metric := re.fullmatch(r"(chatkeep_\w+?)(_bucket)?(\{.*\})?", name):
            return None if metric[1] in self.metrics else "no such metric"
        if setting := re.fullmatch(r"([a-z_]+)\.([a-z_]+)", name):
            section = self.settings.get(setting[1])
            known = name in self.events or not isinstance(section, dict) or setting[2] in section
            return None if known else "no such setting"
        if variable := re.match(r"CHATKEEP_\w+", name):
            of_bot = re.match(r"CHATKEEP_LINE_SHOP_(\w+)", name)
            plain = f"CHATKEEP_LINE_{of_bot[1]}" if of_bot else variable[0]
            return None if plain.rstrip("_") in self.variables else "no such variable"
        identifier = re.fullmatch(r"\w*(_|[a-z][A-Z])\w*|\w+(::\w+)+", name)
        if page.startswith(DEVELOPERS) and identifier:
            missing = [part for part in name.split("::") if part not in self.words]
            return f"not in the code: {missing[0]}" if missing else None
        return None


def faults_of_pages() -> list[str]:
    """Returns what pages name that is not there."""
    names = Names()
    faults = []
    for page in tracked("*.md"):
        text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(), flags=re.M | re.S)
        for name in re.findall(r"`([^`\n]+)`", text):
            if fault := names.fault(page, name):
                faults.append(f"{page}: `{name}`: {fault}")
    return faults


def faults_of_code() -> list[str]:
    """Returns what code says of pages that are not there."""
    faults = []
    scripts = ("tests/run", ".ci/run", "deploy/release", "deploy/package", "deploy/tools")
    for file in tracked("*.rs", "*.sql", "*.toml", "*.py", "*.sh", *scripts):
        if file == "tests/docs/names.py":
            continue
        for page, anchor in re.findall(r"docs/([\w/-]+)\.md(?:#([\w-]+))?", (ROOT / file).read_text()):
            built = BOOK / f"{page}.html"
            if not built.exists():
                faults.append(f"{file}: docs/{page}.md: no such page")
            elif anchor and f'id="{anchor}"' not in built.read_text():
                faults.append(f"{file}: docs/{page}.md#{anchor}: no such heading")
    return faults


def main() -> None:
    """Prints what is wrong, and fails if anything is."""
    faults = faults_of_pages() + faults_of_code()
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
