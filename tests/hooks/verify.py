"""Says of each delivery in a file of JSON lines whether the official library accepts it."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        case = json.loads(line)
        try:
            Webhook(case["secret"]).verify(case["body"], case["headers"])
            print("accepted")
        except (WebhookVerificationError, json.JSONDecodeError):
            print("refused")
