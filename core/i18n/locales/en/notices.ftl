usage-exceeded = Your backup is full ({ $quota }). New messages are not kept for you until you raise your plan, cancel a subscription or delete old backups; then it resumes by itself.
usage-filling = Your backup uses { $percentage }% of { $quota }. When it is full, new messages are no longer kept.
usage-resumed = Your backup uses { $percentage }% of { $quota }. New messages are kept again.
usage-relieved = Your backup uses { $percentage }% of { $quota }. There is room again.
webhook-key-ended = The API key that made your webhook ({ $host }) has ended, so the webhook was disabled.
webhook-gone = Your webhook ({ $host }) says that it is gone, so it was disabled.
webhook-failing = Your webhook ({ $host }) could not be reached for days, so it was disabled.
