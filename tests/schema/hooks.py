"""What a schema cannot say: values that are valid only together, or only once.

Each is mended in cases that are meant to be valid; cases meant to be invalid go out as they are.
"""

import re
from itertools import count

import schemathesis

CURSORS = {}
USED = set()
NUMBERS = count()
SEARCHES = ['"be kind" -wifi', "from:Ann has:link", "type:image after:2026-01-01", "before:2999-01-01 營業"]
ZONES = ["UTC", "Asia/Taipei", "America/New_York", "Asia/Kathmandu"]


def list_of(case):
    """What a cursor is bound to: the list and its filters."""
    filters = {name: value for name, value in (case.query or {}).items() if name not in ("limit", "cursor")}
    return case.formatted_path, repr(sorted(filters.items()))


@schemathesis.hook
def before_call(context, case, kwargs):
    # A key names one request; a repeated one would be answered with what the first one got.
    key = (case.headers or {}).get("Idempotency-Key")
    if key in USED:
        case.headers["Idempotency-Key"] = f"key-{next(NUMBERS)}"
    elif isinstance(key, str) and re.fullmatch("[!-~]{1,255}", key):
        USED.add(key)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # A cursor is one that the same list gave.
    if "cursor" in (case.query or {}):
        cursor = CURSORS.get(list_of(case))
        if cursor is None:
            del case.query["cursor"]
        else:
            case.query["cursor"] = cursor
    # In headers the tool writes nothing but letters and digits, of which no ETag is made.
    if not re.match(r'\*|(W/)?"', (case.headers or {}).get("If-Match", "*")):
        case.headers["If-Match"] = "*"
    # A search has a grammar: what looks like it is put right, what is only words stays.
    if re.search('["“”:：]', (case.query or {}).get("q", "")):
        case.query["q"] = SEARCHES[next(NUMBERS) % len(SEARCHES)]
        # Its times and those beside it leave some.
        for time in ("from", "to"):
            case.query.pop(time, None)
    if isinstance(case.body, dict):
        query = case.body.get("query")
        if isinstance(query, str) and re.search('["“”:：]', query):
            case.body["query"] = SEARCHES[next(NUMBERS) % len(SEARCHES)]
        # A new key expires in the future, whenever that is.
        if isinstance(case.body.get("expiresAt"), str):
            case.body["expiresAt"] = "2999-12-31T23:59:59+08:00"
        # A webhook goes to a public https address; to one that nobody has.
        if isinstance(case.body.get("url"), str):
            case.body["url"] = "https://hooks.invalid/"
        # A text that a rule must not answer is none of its keywords, however either is written.
        for rule in [case.body, *(case.body.get("rules") or [])]:
            if isinstance(rule, dict) and "notFor" in rule:
                rule["notFor"] = [f"not for {next(NUMBERS)}" for _ in rule["notFor"] or []]
        # A welcome is written in one of two forms.
        if case.path.endswith("/assistant/welcome") and not {"message", "messages"} & case.body.keys():
            case.body["message"] = "hello {displayName}"
        # A link needs the public address of the service, and the one that is tested has none.
        assistant = case.body.get("assistant")
        link = assistant.get("link") if isinstance(assistant, dict) else None
        if isinstance(link, dict) and link.get("enabled") is True:
            link["enabled"] = False
        # Of the names of time zones there are too many for the document.
        if "timeZone" in case.body:
            case.body["timeZone"] = ZONES[next(NUMBERS) % len(ZONES)]


@schemathesis.hook
def filter_case(context, case):
    # What is read-only is ignored, whatever it is: a body that is wrong in nothing else is accepted.
    if case.meta is None or case.meta.generation.mode.is_positive:
        return True
    assistant = case.body.get("assistant") if isinstance(case.body, dict) else None
    qa = assistant.get("qa") if isinstance(assistant, dict) else None
    return not (isinstance(qa, dict) and "effectiveMode" in qa)


@schemathesis.hook
def after_call(context, case, response):
    kind = response.headers.get("content-type", [""])[0]
    if response.status_code == 200 and kind.startswith("application/json"):
        body = response.json()
        if isinstance(body, dict) and body.get("nextCursor"):
            CURSORS[list_of(case)] = body["nextCursor"]
