"""What twenty questions cost a model in calls and tokens: questions.py URL KEY [old].

URL is that of a demo (`chatkeep demo`, sample `full`), KEY its API key. Each question is a script of
the calls that lead to its answer, and fails when what it looks for is not in what came back. With `old`
only `list_channels`, `get_messages`, `search_messages` and `get_members` are called, with the
arguments that they had before the other tools came: a program of any age can be asked.

Tokens are estimated as the server does: three ASCII letters or one other character are a token. The
text of an answer counts, which is what most clients pass on; arguments are not counted.
"""

import datetime
import json
import sys
import urllib.request

URL, KEY, OLD = sys.argv[1].rstrip("/") + "/mcp", sys.argv[2], "old" in sys.argv[3:]


class Client:
    """Calls tools and counts what they cost."""

    def __init__(self):
        self.calls = 0
        self.tokens = 0
        self.said = ""
        self.ids = {}

    def call(self, tool, **arguments):
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        result = answer.get("result") or sys.exit(f"{tool} {arguments}: {answer}")
        text = result["content"][0]["text"]
        self.calls += 1
        self.tokens += tokens(text)
        self.said += text
        if result.get("isError"):
            sys.exit(f"{tool} {arguments}: {text}")
        return result["structuredContent"]

    def channel(self, name):
        """Id of a channel by a part of its name; a model that has no names looks it up once."""
        if not self.ids:
            listed = self.call("list_channels")["channels"]
            self.ids = {row["name"]: row["channelId"] for row in listed}
        return next(id for known, id in self.ids.items() if name in known)

    def pages(self, **arguments):
        """Messages of all pages."""
        messages = []
        while True:
            page = self.call("get_messages", **arguments)
            messages += page["messages"]
            if not page["nextCursor"]:
                return messages
            arguments["cursor"] = page["nextCursor"]


def tokens(text):
    ascii_only = sum(1 for character in text if character.isascii())
    return -(-ascii_only // 3) + len(text) - ascii_only


def days_ago(days):
    return (datetime.date.today() - datetime.timedelta(days=days)).isoformat()


def since(client, name, days):
    return client.pages(channelId=client.channel(name), **{"from": days_ago(days)}, limit=100)


def around(client, name, hit, minutes=60):
    """Messages around a hit, for a model that can only ask for a time."""
    time = datetime.datetime.fromisoformat(hit["time"].replace("Z", "+00:00"))
    span = datetime.timedelta(minutes=minutes)
    times = {"from": (time - span).isoformat(), "to": (time + span).isoformat()}
    return client.call("get_messages", channelId=client.channel(name), **times, limit=50)["messages"]


FOOTBALL, HOUSING, COOKING, SHOP = "Taipei Dragons", "景安花園", "水曜お料理", "ร้านขนม"
NAMES = {
    FOOTBALL: "Taipei Dragons FC ⚽",
    HOUSING: "景安花園住戶群",
    COOKING: "水曜お料理の会",
    SHOP: "ร้านขนมบ้านสวน 🌸 ลูกค้าประจำ",
}


def week(client, name):
    if OLD:
        return since(client, name, 7)
    return client.call("get_overview", channelId=NAMES[name], days=7)


def everywhere(client):
    if OLD:
        return [since(client, name, 2) for name in NAMES]
    return client.call("get_overview", days=2)


def month(client, name):
    if OLD:
        return since(client, name, 30)
    return client.call("get_overview", channelId=NAMES[name], days=30)


def found(client, query, name=None):
    """Hits of a search; the first message that it shows must be there."""
    arguments = {"query": query}
    if name:
        arguments["channelId"] = client.channel(name) if OLD else NAMES[name]
    hits = client.call("search_messages", **arguments)["hits"]
    return hits or sys.exit(f"nothing found for {query}")


def with_context(client, query, name):
    """A hit with what was said around it."""
    hit = found(client, query, name)[0]
    if OLD:
        return around(client, name, hit)
    return client.call("get_context", message=hit.get("url") or hit["id"], before=3, after=5)


def by_person(client, name, person, query):
    arguments = {"channelId": client.channel(name) if OLD else NAMES[name]}
    if OLD:
        members = client.call("get_members", channelId=arguments["channelId"], limit=100)["members"]
        person = next(row["userId"] for row in members if row["name"] == person)
    return client.call("search_messages", query=query, senderId=person, **arguments)["hits"]


def newest_picture(client):
    return found(client, "type:image", FOOTBALL)[0]


def the_picture(client):
    hit = newest_picture(client)
    if OLD:
        return "a key with read:media and REST"
    return client.call("get_media", message=hit["id"], preview=True)["file"]


def the_link(client):
    hit = found(client, "parking", FOOTBALL)[0]
    client.calls, client.tokens = 0, 0  # the person has the link
    client.ids = {}
    if OLD:
        # The id is at the end of the link, and no tool takes it: its time is found by reading on.
        for page in range(100):
            arguments = {"cursor": cursor} if page else {}
            answer = client.call(
                "get_messages", channelId=client.channel(FOOTBALL), limit=100, **arguments
            )
            cursor = answer["nextCursor"]
            if any(row["id"] == hit["id"] for row in answer["messages"]):
                return answer
        sys.exit("not found")
    return client.call("get_context", message=f"{URL[:-4]}/c/{client_id(hit)}/m/{hit['id']}")


def client_id(hit):
    return hit["url"].split("/c/")[1].split("/m/")[0]


def cited(client):
    hit = found(client, "parking", FOOTBALL)[0]
    client.calls, client.tokens = 0, 0  # it was read in an earlier conversation
    if OLD:
        return found(client, f'"{hit["text"].strip("…")[:60]}"')
    return client.call("verify_citation", url=hit["id"], quoted=hit["text"])["verdict"]


def members(client):
    return client.call("get_members", channelId=client.channel(HOUSING) if OLD else NAMES[HOUSING])


def on_a_day(client):
    day = found(client, "parking", FOOTBALL)[0]["time"][:10]
    client.calls, client.tokens = 0, 0  # the person names the day
    channel = client.channel(FOOTBALL) if OLD else NAMES[FOOTBALL]
    return client.pages(channelId=channel, date=day, limit=100)


def topics(client):
    """What each channel is about."""
    if OLD:
        return [
            client.call("get_messages", channelId=client.channel(name), limit=3) for name in NAMES
        ]
    return client.call("list_channels", recent=True)


def gaps(client):
    """Gaps of a month in one channel."""
    if OLD:
        return client.pages(channelId=client.channel(HOUSING), **{"from": days_ago(30)}, limit=100)
    return ["gaps", client.call("get_overview", channelId=NAMES[HOUSING], days=30)["gaps"]]


QUESTIONS = [
    ("What happened in the football club this week?", lambda c: week(c, FOOTBALL)),
    ("What did I miss everywhere since yesterday?", everywhere),
    ("Who wrote most in the housing group this month?", lambda c: month(c, HOUSING)),
    ("Which questions did nobody answer in the cooking class this month?", lambda c: month(c, COOKING)),
    ("Which files and links were shared in the housing group this month?", lambda c: month(c, HOUSING)),
    ("Who joined or left, what was edited or taken back this month?", lambda c: month(c, FOOTBALL)),
    ("Is anything missing in the housing group this month?", gaps),
    ("When and where do we train?", lambda c: found(c, "training", FOOTBALL)),
    ("Somebody asked about parking: what was the answer?", lambda c: with_context(c, "parking", FOOTBALL)),
    ("Is there a physio on match days?", lambda c: with_context(c, "physio", FOOTBALL)),
    ("教室の場所はどこですか？", lambda c: with_context(c, "会場", COOKING)),
    ("停電是什麼時候？", lambda c: with_context(c, "停", HOUSING)),
    ("Which results did Grace report?", lambda c: by_person(c, FOOTBALL, "Grace", "full time")),
    ("What was said on that day?", on_a_day),
    ("What was said around the message behind this link?", the_link),
    ("What is in the newest picture?", the_picture),
    ("Does the message that you cited last week still say so?", cited),
    ("Who is in the housing group?", members),
    ("Which of my groups is about what?", topics),
    ("Where was a showers problem mentioned, in any group?", lambda c: found(c, "showers")),
]


# Words that the answers to some questions must have, in the sample groups.
EXPECTED = {
    "When and where do we train?": "training",
    "Somebody asked about parking: what was the answer?": "parking",
    "Is there a physio on match days?": "physio",
    "教室の場所はどこですか？": "会場",
    "停電是什麼時候？": "停",
    "Which results did Grace report?": "grace",
    "What was said on that day?": "parking",
    "What was said around the message behind this link?": "parking",
    "Does the message that you cited last week still say so?": "parking",
    "Who is in the housing group?": "黃雅婷",
    "Where was a showers problem mentioned, in any group?": "showers",
}


def main():
    print(f"| question | calls | tokens |\n| --- | --- | --- |")
    calls = cost = most = 0
    for question, script in QUESTIONS:
        client = Client()
        script(client) or sys.exit(f"no answer to: {question}")
        if EXPECTED.get(question, "").lower() not in client.said.lower():
            sys.exit(f"{EXPECTED[question]!r} is not in the answers to: {question}")
        print(f"| {question} | {client.calls} | {client.tokens:,} |", flush=True)
        calls, cost, most = calls + client.calls, cost + client.tokens, max(most, client.tokens)
    print(f"| all {len(QUESTIONS)} | {calls} | {cost:,} |\n\nmost for one question: {most:,}")


main()
