"""A small conversation by a client that is generated from the API document (tests/it/clients.rs).

Arguments: base address, key, channel. Prints what it was told as one line of JSON.
"""

import datetime
import json
import sys
from typing import TypeVar

from chatkeep_client import AuthenticatedClient
from chatkeep_client.api.account import get_me, get_usage
from chatkeep_client.api.assistant import (
    create_rule,
    delete_rule,
    get_assistant_config,
    list_rules,
    update_assistant_config,
    update_rule,
)
from chatkeep_client.api.backup import subscribe
from chatkeep_client.api.channels import get_channel, list_channels
from chatkeep_client.api.members import list_members
from chatkeep_client.api.messages import list_messages, search
from chatkeep_client.models import (
    AssistantSettings,
    ChannelList,
    ConfigPatch,
    Error,
    SearchResults,
    ListMessagesOrder,
    Me,
    MemberList,
    MessageList,
    RuleBody,
    RuleList,
    RulePatch,
    SavedRuleList,
    Success,
    Usage,
)

T = TypeVar("T")


def told(kind: type[T], answer: object) -> T:
    """The body of a success."""
    if isinstance(answer, Error):
        raise SystemExit(f"{answer.code}: {answer.error}")
    assert isinstance(answer, kind), answer
    return answer


base, key, channel = sys.argv[1:]
with AuthenticatedClient(base_url=base, token=key, raise_on_unexpected_status=True) as client:
    me = told(Me, get_me.sync(client=client))
    picture: str | None = me.picture_url
    channels = told(ChannelList, list_channels.sync(client=client)).channels
    members = told(MemberList, list_members.sync(channel, client=client)).members
    names: list[str | None] = [member.display_name for member in members]

    # What was read is sent back with one change.
    config = told(AssistantSettings, get_assistant_config.sync(channel, client=client))
    config.assistant.qa.cooldown_seconds = 7
    patch = ConfigPatch.from_dict(config.to_dict())
    saved = told(
        AssistantSettings, update_assistant_config.sync(channel, client=client, body=patch)
    )

    body = RuleBody(keywords=["hours"], question="", answer="9 to 18")
    rule = told(SavedRuleList, create_rule.sync(channel, client=client, body=body)).items[-1]
    rule.answer = "9 to 20"
    changed = RulePatch.from_dict(rule.to_dict())
    replaced = told(
        SavedRuleList, update_rule.sync(channel, rule.id, client=client, body=changed)
    )
    rules = told(RuleList, list_rules.sync(channel, client=client))
    removed = told(Success, delete_rule.sync(channel, rule.id, client=client))

    subscribed = told(Success, subscribe.sync(channel, client=client))
    messages = told(
        MessageList,
        list_messages.sync(
            channel,
            client=client,
            order=ListMessagesOrder.ASC,
            limit=100,
            from_=datetime.date(2020, 1, 1),
        ),
    ).messages
    sizes: list[int | None] = [message.file_size for message in messages]
    found = told(SearchResults, search.sync(client=client, q="hello", channel_id=channel))
    usage = told(Usage, get_usage.sync(client=client))

    unknown = get_channel.sync_detailed("C0000000000000000000000000000none", client=client)
    assert isinstance(unknown.parsed, Error)
    nothing = RuleBody(keywords=[], answer="nothing")
    wrong = create_rule.sync_detailed(channel, client=client, body=nothing)
    assert isinstance(wrong.parsed, Error)

print(
    json.dumps(
        {
            "me": me.user_id,
            "picture": picture,
            "channels": [one.channel_id for one in channels],
            "names": names,
            "cooldown": saved.assistant.qa.cooldown_seconds,
            "mode": saved.assistant.qa.effective_mode.value,
            "answer": replaced.items[-1].answer,
            "updatedBy": rules.updated_by,
            "removed": removed.success,
            "subscribed": subscribed.success,
            "texts": [message.content for message in messages],
            "sizes": sizes,
            "total": found.total,
            "hit": found.hits[0].message.content if found.hits else None,
            "counted": usage.channels[channel].message_count,
            "status": usage.status.value,
            "refused": [unknown.status_code, unknown.parsed.code],
            "wrong": [wrong.status_code, wrong.parsed.code, wrong.parsed.field],
        }
    )
)
