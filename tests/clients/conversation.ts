// A small conversation by a client that is generated from the API document (tests/it/clients.rs).
// Arguments: base address, key, channel. Prints what it was told as one line of JSON.

import createClient from "openapi-fetch";

import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

const [, , baseUrl = "", key = "", channelId = ""] = process.argv;
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const path = { channelId };

/** The body of a success. */
function told<T>(answer: { data?: T; error?: components["schemas"]["Error"] }): T {
    if (answer.data === undefined) {
        throw new Error(`${answer.error?.code}: ${answer.error?.error}`);
    }
    return answer.data;
}

const me = told(await api.GET("/api/me"));
const picture: string | null = me.pictureUrl;

const { channels } = told(await api.GET("/api/channels"));
const { members } = told(await api.GET("/api/channels/{channelId}/members", { params: { path } }));
const names: (string | null)[] = members.map((member) => member.displayName);

// What was read is sent back with one change.
const config = told(await api.GET("/api/channels/{channelId}/assistant/config", { params: { path } }));
config.assistant.qa.cooldownSeconds = 7;
const saved = told(
    await api.PUT("/api/channels/{channelId}/assistant/config", { params: { path }, body: config }),
);

const added = told(
    await api.POST("/api/channels/{channelId}/assistant/qa", {
        params: { path },
        body: { keywords: ["hours"], question: "", answer: "9 to 18" },
    }),
);
const rule = added.items.at(-1)!;
const replaced = told(
    await api.PUT("/api/channels/{channelId}/assistant/qa/{qaId}", {
        params: { path: { channelId, qaId: rule.id } },
        body: { ...rule, answer: "9 to 20" },
    }),
);
const rules = told(await api.GET("/api/channels/{channelId}/assistant/qa", { params: { path } }));
const removed = told(
    await api.DELETE("/api/channels/{channelId}/assistant/qa/{qaId}", {
        params: { path: { channelId, qaId: rule.id } },
    }),
);

const subscribed = told(
    await api.POST("/api/channels/{channelId}/backup/subscribe", { params: { path } }),
);
const { messages } = told(
    await api.GET("/api/channels/{channelId}/backup/messages", {
        params: { path, query: { order: "asc", limit: 100, from: "2020-01-01" } },
    }),
);
const sizes: (number | null)[] = messages.map((message) => message.fileSize);
const found = told(await api.GET("/api/search", { params: { query: { q: "hello", channelId } } }));
const usage = told(await api.GET("/api/usage"));

const unknown = await api.GET("/api/channels/{channelId}", {
    params: { path: { channelId: "C0000000000000000000000000000none" } },
});
const wrong = await api.POST("/api/channels/{channelId}/assistant/qa", {
    params: { path },
    body: { keywords: [], answer: "nothing" },
});

console.log(
    JSON.stringify({
        me: me.userId,
        picture,
        channels: channels.map((channel) => channel.channelId),
        names,
        cooldown: saved.assistant.qa.cooldownSeconds,
        mode: saved.assistant.qa.effectiveMode,
        answer: replaced.items.at(-1)?.answer,
        updatedBy: rules.updatedBy,
        removed: removed.success,
        subscribed: subscribed.success,
        texts: messages.map((message) => message.content),
        sizes,
        total: found.total,
        hit: found.hits[0]?.message.content ?? null,
        counted: usage.channels[channelId]?.messageCount,
        status: usage.status,
        refused: [unknown.response.status, unknown.error?.code],
        wrong: [wrong.response.status, wrong.error?.code, wrong.error?.field],
    }),
);
