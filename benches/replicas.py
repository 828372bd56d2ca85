"""Time until a message is found where several processes run, and what each search replica costs.

    python3 benches/replicas.py CHATKEEP [MESSAGES [PER_SECOND]]

CHATKEEP is the program. Needs nats-server and PostgreSQL's programs (`initdb` in a folder of
/usr/lib/postgresql, or on the PATH). Starts three processes with the roles `worker,search` and two
with `ingress,api` on NATS JetStream and PostgreSQL, sends MESSAGES signed messages at PER_SECOND,
and asks both APIs for one message in every 50 until they find it. Prints the time from the 200 of
the webhook to the first search that finds the message, and for each process its memory and the size
of its index folder.
"""

import base64
import concurrent.futures
import glob
import hashlib
import hmac
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PROGRAM = os.path.abspath(sys.argv[1])
MESSAGES = int(sys.argv[2]) if len(sys.argv) > 2 else 30_000
PER_SECOND = int(sys.argv[3]) if len(sys.argv) > 3 else 500
SECRET = "0123456789abcdef0123456789abcdef"
CHANNEL = "C" + "0" * 31 + "1"
OWNER = "U" + "0" * 31 + "1"
WORDS = [line.strip() for line in """lunch noon meeting tomorrow where station photo thanks monday
budget invoice garden school please call later tonight dinner weather ticket answer""".split()]


def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def post(address, body):
    data = json.dumps(body, ensure_ascii=False).encode()
    signature = base64.b64encode(hmac.new(SECRET.encode(), data, hashlib.sha256).digest())
    request = urllib.request.Request(
        f"http://{address}/webhook/line", data, {"x-line-signature": signature.decode()})
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def event(number, text):
    return {
        "type": "message", "mode": "active", "timestamp": int(time.time() * 1000),
        "webhookEventId": f"01E{number:023d}", "deliveryContext": {"isRedelivery": False},
        "source": {"type": "group", "groupId": CHANNEL, "userId": OWNER},
        "replyToken": f"{number:032x}",
        "message": {"id": f"{10_000_000_000 + number}", "type": "text", "text": text,
                    "quoteToken": "q"},
    }


def webhook(events):
    return {"destination": "U" + "f" * 32, "events": events}


def ask(address, key, path, method="GET"):
    request = urllib.request.Request(
        f"http://{address}/api{path}", method=method, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def until(what, check, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit(f"waited in vain for {what}")


def memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def folder_size(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


class Deployment:
    def __init__(self, folder):
        self.folder, self.running = folder, []
        os.chmod(folder, 0o755)

    def start(self, name, command, **more):
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen(command, stdout=log, stderr=log, **more)
        self.running.append(process)
        return process

    def servers(self):
        nats, database = port(), port()
        self.start("nats", ["nats-server", "-js", "-a", "127.0.0.1", "-p", str(nats),
                            "-sd", str(self.folder / "nats")])
        programs = shutil.which("initdb") or max(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        programs, data = os.path.dirname(programs), self.folder / "postgres"
        data.mkdir()
        run = {}
        if os.geteuid() == 0:
            shutil.chown(data, "postgres")
            run = {"user": "postgres", "cwd": "/"}
        subprocess.run([f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "postgres"],
                       check=True, stdout=subprocess.DEVNULL, **run)
        self.start("postgres", [f"{programs}/postgres", "-D", data, "-p", str(database), "-k", "",
                                "-h", "127.0.0.1", "-c", "max_connections=200"], **run)
        for at in (nats, database):
            until("the servers", lambda at=at: socket.create_connection(("127.0.0.1", at)).close() is None)
        return f"nats://127.0.0.1:{nats}", f"postgres://postgres@127.0.0.1:{database}/postgres"

    def settings(self, name, bus, database):
        address = f"127.0.0.1:{port()}"
        environment = {
            "PATH": os.environ["PATH"], "CHATKEEP_LISTEN": address, "CHATKEEP_METRICS_LISTEN": "",
            "CHATKEEP_DATA": str(self.folder / name), "CHATKEEP_BUS": bus,
            "CHATKEEP_DATABASE": database, "CHATKEEP_BLOBS": str(self.folder / "blobs"),
            "CHATKEEP_LINE_CHANNEL_SECRET": SECRET, "CHATKEEP_LINE_ACCESS_TOKEN": "none",
            # Nobody is there: people and chats keep their ids for names.
            "CHATKEEP_LINE_API_BASE": "http://127.0.0.1:9", "CHATKEEP_LOG_FILTER": "warn",
            "CHATKEEP_LINE_DATA_API_BASE": "http://127.0.0.1:9",
            "CHATKEEP_RATE_LIMIT_PER_MINUTE": "100000", "CHATKEEP_RATE_LIMIT_BURST": "100000",
        }
        return address, environment

    def end(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait(30)


def main(folder):
    deployment = Deployment(folder)
    try:
        measure(deployment)
    finally:
        deployment.end()


def measure(deployment):
    bus, database = deployment.servers()
    (deployment.folder / "blobs").mkdir()
    _, environment = deployment.settings("cli", bus, database)
    run = lambda *args: subprocess.run(
        [PROGRAM, *args], env=environment, check=True, capture_output=True, text=True).stdout
    run("user", "add", OWNER, "--plan", "pro")
    key = run("key", "create", "--user", OWNER).split()[-1]
    processes = {}
    for name, roles in [(f"worker-{n}", "worker,search") for n in range(3)] + [
            (f"front-{n}", "ingress,api") for n in range(2)]:
        address, environment = deployment.settings(name, bus, database)
        process = deployment.start(name, [PROGRAM, "serve", "--roles", roles], env=environment)
        until(name, lambda: urllib.request.urlopen(f"http://{address}/readyz", timeout=5).status == 200)
        processes[name] = (process, address)
    fronts = [processes[f"front-{n}"][1] for n in range(2)]
    post(fronts[0], webhook([event(0, "hello")]))

    def subscribed():
        ask(fronts[0], key, f"/channels/{CHANNEL}/backup/subscribe", "POST")
        return True

    until("the channel", subscribed)
    report(*traffic(fronts, key), deployment, processes, fronts, key)


def traffic(fronts, key):
    chance, waits, lock = random.Random(7), [], threading.Lock()

    def found(word, sent):
        for address in fronts:
            path = f"/channels/{CHANNEL}/backup/search?q={word}"
            while not ask(address, key, path)["hits"]:
                if time.monotonic() - sent > 60:
                    return sys.stderr.write(f"{word} is not found through {address}\n")
            with lock:
                waits.append(time.monotonic() - sent)

    started, size = time.monotonic(), 10
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for first in range(1, MESSAGES + 1, size):
            due = started + first / PER_SECOND
            time.sleep(max(0, due - time.monotonic()))
            events = []
            for number in range(first, first + size):
                text = " ".join(chance.choice(WORDS) for _ in range(6))
                events.append(event(number, f"{text} mark{number}x"))
            post(fronts[first // size % 2], webhook(events))
            if first // size % 5 == 0:
                pool.submit(found, f"mark{first}x", time.monotonic())
        sending = time.monotonic() - started
    return waits, sending


def report(waits, sending, deployment, processes, fronts, key):
    waits.sort()
    print(f"{MESSAGES} messages in {sending:.1f} s ({MESSAGES / sending:.0f}/s), "
          f"{len(waits)} searches until found")
    at = lambda part: waits[min(len(waits) - 1, int(part * len(waits)))] * 1000
    print(f"until found: p50 {at(0.5):.0f} ms, p99 {at(0.99):.0f} ms, "
          f"longest {waits[-1] * 1000:.0f} ms, mean {statistics.mean(waits) * 1000:.0f} ms")
    for address in fronts:
        count = lambda: ask(address, key, f"/channels/{CHANNEL}/backup/search?q=lunch")["total"]
        print(f"'lunch' through {address}: {count()}")
    for name, (process, _) in processes.items():
        index = deployment.folder / name / "index"
        disk = f", index {folder_size(index):.1f} MB" if index.exists() else ""
        print(f"{name}: {memory(process.pid):.0f} MB resident{disk}")


with tempfile.TemporaryDirectory() as place:
    main(pathlib.Path(place))
