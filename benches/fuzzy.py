"""rapidfuzz `extractOne` on the rules and messages of `cargo bench -p chatkeep-index --bench fuzzy`.

Run that first: it writes the data. Needs `pip install rapidfuzz`.
"""

import pathlib
import statistics
import tempfile
import time

from rapidfuzz import fuzz, process

folder = pathlib.Path(tempfile.gettempdir()) / "fuzzy-bench"
phrases = (folder / "phrases.txt").read_text(encoding="utf-8").splitlines()
messages = (folder / "messages.txt").read_text(encoding="utf-8").splitlines()[:100]

for scorer in (fuzz.ratio, fuzz.token_set_ratio, fuzz.WRatio):
    times = []
    for message in messages:
        start = time.perf_counter()
        process.extractOne(message, phrases, scorer=scorer)
        times.append(time.perf_counter() - start)
    times.sort()
    median, worst = statistics.median(times), times[len(times) * 99 // 100]
    print(f"{scorer.__name__}: p50 {median * 1e3:.2f} ms, p99 {worst * 1e3:.2f} ms")
