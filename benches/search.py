"""Search beside the index crate: SQLite FTS5 (trigram) and PostgreSQL (pg_trgm, ILIKE).

    pip install "psycopg[binary]"
    CHATKEEP_SEARCH_CORPUS=/tmp/corpus cargo bench -p chatkeep-index --bench search_million
    python benches/search.py speed /tmp/corpus
    python benches/search.py quality SET.json SEARCH_QUALITY

`speed` searches the same messages for the same queries. `quality` reads a set in SQuAD form and
prints the mean reciprocal rank (first ten) of each question's paragraph; SEARCH_QUALITY is the
example of the index crate (`cargo build --release -p chatkeep-index --example search_quality`).
PostgreSQL is started here, from /usr/lib/postgresql/*/bin, and ends with the script.
"""

import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import psycopg


@contextlib.contextmanager
def postgres():
    """Returns a connection to a server of its own."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    folder = tempfile.mkdtemp(prefix="search-pg-")
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)

    def run(*command):
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    data = f"{folder}/data"
    options = f"-k {folder} -c listen_addresses= -c shared_buffers=512MB -c fsync=off"
    options += " -c maintenance_work_mem=512MB -c max_parallel_workers_per_gather=0 -c jit=off"
    try:
        run(f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        run(f"{programs}/pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        with psycopg.connect(host=folder, user="postgres", autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_trgm")
            yield connection
    finally:
        subprocess.run([f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop"], user=user, cwd="/", stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def messages(folder):
    with open(f"{folder}/messages.tsv", encoding="utf-8") as lines:
        for line in lines:
            channel, sent_at, text = line.rstrip("\n").split("\t", 2)
            yield channel, int(sent_at), text


def queries(folder):
    with open(f"{folder}/queries.tsv", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t", 2) for line in lines]


def report(name, asked, search, budget=15.0):
    """Times a search for each query, as many as the budget of seconds allows."""
    for kind in ("two", "four", "word"):
        times, found, begun = [], 0, time.perf_counter()
        for _, channel, text in (query for query in asked if query[0] == kind):
            start = time.perf_counter()
            found += len(search(channel, text))
            times.append(time.perf_counter() - start)
            if time.perf_counter() - begun > budget:
                break
        times.sort()
        at = [times[len(times) * share // 100] * 1e6 for share in (50, 99)]
        print(f"{name:28} {kind:5} p50 {at[0]:10.1f} µs  p99 {at[1]:10.1f} µs  ({len(times)} queries, {found} found)", flush=True)


def speed(folder):
    asked = queries(folder)
    with tempfile.TemporaryDirectory() as passing:
        path = f"{passing}/messages.db"
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        begun = time.perf_counter()
        db.execute("CREATE TABLE m (id INTEGER PRIMARY KEY, channel TEXT, sent_at INTEGER, text TEXT)")
        db.execute("CREATE VIRTUAL TABLE f USING fts5 (text, content = 'm', content_rowid = 'id', tokenize = 'trigram')")
        db.executemany("INSERT INTO m (channel, sent_at, text) VALUES (?, ?, ?)", messages(folder))
        table = time.perf_counter() - begun
        db.execute("INSERT INTO f (f) VALUES ('rebuild')")
        db.execute("CREATE INDEX c ON m (channel, sent_at)")
        db.commit()
        print(f"FTS5 trigram: {time.perf_counter() - begun - table:.1f} s to index, {os.path.getsize(path) / 1e6:.0f} MB with the messages")

        def fts(order):
            statement = f"SELECT m.id FROM f JOIN m ON m.id = f.rowid WHERE f.text MATCH ? AND m.channel = ? ORDER BY {order} LIMIT 20"
            return lambda channel, text: db.execute(statement, ('"' + text.replace('"', '""') + '"', channel)).fetchall()

        report("FTS5 trigram, by relevance", asked, fts("f.rank"))
        report("FTS5 trigram, by time", asked, fts("m.sent_at DESC"))
    with postgres() as pg:
        pg.execute("CREATE TABLE m (id BIGSERIAL, channel TEXT, sent_at BIGINT, text TEXT)")
        with pg.cursor().copy("COPY m (channel, sent_at, text) FROM STDIN") as copy:
            for message in messages(folder):
                copy.write_row(message)
        pg.execute("CREATE INDEX c ON m (channel, sent_at)")
        pg.execute("ANALYZE m")

        def like(channel, text):
            pattern = "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
            statement = "SELECT id FROM m WHERE channel = %s AND text ILIKE %s ORDER BY sent_at DESC LIMIT 20"
            return pg.execute(statement, (channel, pattern)).fetchall()

        report("PostgreSQL ILIKE, by time", asked, like)
        begun = time.perf_counter()
        pg.execute("CREATE INDEX t ON m USING gin (text gin_trgm_ops)")
        size = pg.execute("SELECT pg_relation_size('t')").fetchone()[0]
        print(f"pg_trgm: {time.perf_counter() - begun:.1f} s to index, {size / 1e6:.0f} MB the index alone")
        pg.execute("DROP INDEX c")
        report("pg_trgm, by time", asked, like)


def reciprocal_rank(ids, wanted):
    return next((1 / place for place, found in enumerate(ids[:10], 1) if found == wanted), 0.0)


def quality(path, program):
    with open(path, encoding="utf-8") as file:
        articles = json.load(file)["data"]
    found = [paragraph for article in articles for paragraph in article["paragraphs"]]
    texts = [" ".join(paragraph["context"].split()) for paragraph in found]
    asked = [(number, question["question"]) for number, paragraph in enumerate(found) for question in paragraph["qas"]]
    with tempfile.TemporaryDirectory() as passing:
        with open(f"{passing}/p", "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
        with open(f"{passing}/q", "w", encoding="utf-8") as file:
            file.writelines(f"{number}\t{' '.join(question.split())}\n" for number, question in asked)
        subprocess.run([program, f"{passing}/p", f"{passing}/q"], check=True)

    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE f USING fts5 (text, tokenize = 'trigram')")
    db.executemany("INSERT INTO f (rowid, text) VALUES (?, ?)", enumerate(texts))

    def fts(question):
        terms = {question[at : at + 3].replace('"', '""') for at in range(len(question) - 2)}
        match = " OR ".join(f'"{term}"' for term in sorted(terms))
        if not match:
            return []
        rows = db.execute("SELECT rowid FROM f WHERE text MATCH ? ORDER BY rank LIMIT 10", (match,))
        return [row[0] for row in rows]

    total = sum(reciprocal_rank(fts(question), number) for number, question in asked)
    print(f"FTS5 trigram, any of: MRR@10 {total / len(asked):.4f}", flush=True)
    some = asked[:: max(1, len(asked) // 400)]
    with postgres() as pg:
        pg.execute("CREATE TABLE p (id INT, text TEXT)")
        with pg.cursor().copy("COPY p FROM STDIN") as copy:
            for row in enumerate(texts):
                copy.write_row(row)
        for measure in ("similarity(text, %s)", "word_similarity(%s, text)"):
            statement = f"SELECT id FROM p ORDER BY {measure} DESC LIMIT 10"
            ranks = (reciprocal_rank([row[0] for row in pg.execute(statement, (question,))], number) for number, question in some)
            print(f"pg_trgm {measure.split('(')[0]}: MRR@10 {sum(ranks) / len(some):.4f} ({len(some)} questions)", flush=True)


if __name__ == "__main__":
    {"speed": speed, "quality": quality}[sys.argv[1]](*sys.argv[2:])
