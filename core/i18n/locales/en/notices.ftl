usage-exceeded = Your backup storage ({ $quota }) is full. New messages are not backed up until you get a larger plan, stop backing up a chat, or delete old messages; backup then resumes by itself.
usage-filling = Your backup uses { $percentage }% of { $quota }. When it is full, new messages are no longer backed up.
usage-resumed = Your backup uses { $percentage }% of { $quota }. New messages are backed up again.
usage-relieved = Your backup uses { $percentage }% of { $quota }. There is enough space again.
webhook-key-ended = The API key that created your webhook ({ $host }) is no longer valid, so the webhook was turned off.
webhook-gone = Your webhook ({ $host }) replied that it no longer exists, so it was turned off.
webhook-failing = Nothing could be delivered to your webhook ({ $host }) for days, so it was turned off.
