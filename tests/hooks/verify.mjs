// Says of each delivery in a file of JSON lines whether the official library accepts it.

import { readFileSync } from "node:fs";
import { argv } from "node:process";

import { Webhook, WebhookVerificationError } from "standardwebhooks";

for (const line of readFileSync(argv[2], "utf8").split("\n").filter(Boolean)) {
    const { secret, headers, body } = JSON.parse(line);
    try {
        new Webhook(secret).verify(body, headers);
        console.log("accepted");
    } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        console.log("refused");
    }
}
