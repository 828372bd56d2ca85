"""Says which examples of an OpenAPI document are missing or do not fit their schemas.

Argument: the document's file. Prints how many fit; ends with 1 and the others when there are any.
"""

import json
import sys

from jsonschema import Draft202012Validator, FormatChecker

# A file can be anything.
FILES = ("*/*", "application/octet-stream")

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
components = {"schemas": document["components"]["schemas"]}
wrong: list[str] = []
fitting = {"parameters": 0, "requests": 0, "answers": 0, "refusals": 0}


def check(kind: str, place: str, holder: dict[str, object]) -> None:
    if "example" not in holder:
        wrong.append(f"{place}: no example")
        return
    schema = {**holder["schema"], "components": components}  # type: ignore[dict-item]
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    for error in validator.iter_errors(holder["example"]):
        wrong.append(f"{place}: {error.json_path}: {error.message}")
    fitting[kind] += 1


def resolved(response: dict) -> dict:
    """A response of the document's components, where one is referenced."""
    if "$ref" not in response:
        return response
    return document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]


def operation(place: str, operation: dict) -> None:
    for parameter in operation.get("parameters", []):
        if parameter.get("in") == "path" or "example" in parameter:
            check("parameters", f"{place} {parameter['name']}", parameter)
        # Of what may be left out: an `example` would be filled in by the page of the documentation.
        for shown in parameter.get("schema", {}).get("examples", []):
            check("parameters", f"{place} {parameter['name']}", {**parameter, "example": shown})
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        check("requests", f"{place} {kind}", content)
    for status, answer in operation["responses"].items():
        for kind, content in resolved(answer).get("content", {}).items():
            if kind not in FILES:
                group = "refusals" if status >= "400" else "answers"
                check(group, f"{place} {status} {kind}", content)


for path, methods in document["paths"].items():
    for method, described in methods.items():
        operation(f"{method} {path}", described)
        if "429" not in described["responses"]:
            wrong.append(f"{method} {path}: no refusal")
for name, methods in document["webhooks"].items():
    operation(name, methods["post"])

if wrong:
    sys.exit("\n".join(wrong))
print(json.dumps(fitting))
