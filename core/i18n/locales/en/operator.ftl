## The page of operators about the set-up of the bots

operator-line-title = LINE set-up
operator-line-text = What LINE says about each bot, and what only you can see in its consoles.
operator-line-checked = Checked on { $time }.
operator-line-fix = Set the webhook address
operator-line-fix-text = LINE then sends the bot’s webhooks to { $address }.
operator-line-again = Check again
operator-line-unset = The webhook address was not changed.
operator-line-is-wrong = Wrong
operator-line-is-unanswered = No answer
operator-line-is-warning = Warning
operator-line-is-look = Please check
operator-line-is-fine = Fine

## Findings about the set-up of a bot

line-token-works = LINE accepts the access token; it belongs to the bot “{ $name }”.
line-token-missing = The access token is not set, so chatkeep can neither answer nor ask LINE about the rest.
line-token-refused = LINE refuses the access token: it is mistyped, expired or revoked.
line-token-expires =
    { $hours ->
        [one] The access token expires in one hour.
       *[other] The access token expires in { $hours } hours.
    }
line-token-unverified = LINE does not say which channel an access token of this kind belongs to, so nobody can tell whether the channel secret belongs to the same one.
line-secret-fits = The channel secret belongs to the channel of the access token.
line-secret-missing = The channel secret is not set, so no webhook can be accepted.
line-secret-other = The channel secret is not that of the channel { $channel }, which the access token belongs to.
line-secret-swapped = The channel secret does not belong to the channel of the access token, but that of the bot “{ $bot }” does: they were mixed up.
line-same-channel = The bot “{ $bot }” has an access token of the same channel: two bots cannot share one.
line-bot-answers = Chat is off in the account, so the bot answers.
line-people-answer = Chat is on in the account: people with access to the account can also answer by hand, and messages are not marked as read automatically.
line-clock-right = The clock of this machine agrees with LINE’s.
line-clock-ahead = The clock of this machine is { $seconds } seconds ahead of LINE’s.
line-clock-behind = The clock of this machine is { $seconds } seconds behind LINE’s.
line-no-public-address = The public address of chatkeep is not set, so it is unknown which webhook address is right.
line-not-https = LINE sends webhooks only to HTTPS addresses, and { $ours } is not one.
line-webhook-works = LINE sends webhooks to { $address }, and a test webhook was accepted there.
line-webhook-set = The webhook address is now { $address }.
line-webhook-unset = No webhook address is set at LINE; it must be { $ours }.
line-webhook-nowhere = No webhook address is set at LINE.
line-webhook-elsewhere = LINE sends webhooks to { $found }; it must be { $ours }.
line-webhook-of-other = LINE sends the webhooks of this bot to the address of the bot “{ $bot }”; it must be { $ours }.
line-webhook-off = “Use webhook” is off, so LINE sends no webhooks.
line-webhook-unreachable = LINE cannot reach { $address }: { $reason }.
line-webhook-unsigned = The test webhook was refused at { $address } with status 401: LINE signs with a different channel secret from the one that is set.
line-webhook-refused = The test webhook was answered at { $address } with status { $status }; it must be 200.
line-quota-left = { $used } of the { $limit } messages of this month were sent.
line-quota-nearly-used = { $used } of the { $limit } messages of this month were sent already.
line-quota-unlimited =
    { $used ->
        [one] One message was sent this month; there is no limit.
       *[other] { $used } messages were sent this month; there is no limit.
    }
line-quota-used-up = All { $limit } messages of this month were sent, so LINE refuses more until next month; replies still work.
line-ask-redelivery = Is “Webhook redelivery” on? Otherwise messages are lost while chatkeep is down.
line-ask-replies = Are automatic responses and the greeting message off? Otherwise LINE answers in addition to the bot.
line-ask-groups = May the account join groups and multi-person chats? Otherwise nobody can invite it.
line-unanswered = { $subject }: LINE did not answer ({ $why }).

## Questions that LINE did not answer, and why

line-about-account = Account of the bot
line-about-token = Channel of the access token
line-about-secret = Channel of the secret
line-about-webhook = Webhook address
line-about-webhook-test = Test webhook
line-about-setting-webhook = Setting the webhook address
line-about-quota = Messages of this month
line-why-unreachable = it cannot be reached
line-why-hasty = too many requests; try again later
line-why-token = it refuses the access token
line-why-status = status { $status }
line-why-unknown = no valid answer

## Places where findings are fixed

line-place-token = LINE Developers console → Messaging API → Channel access token; then { $setting }, or where `chatkeep config show` says that it is set
line-place-secret = LINE Developers console → Basic settings → Channel secret; then { $setting }, or where `chatkeep config show` says that it is set
line-place-settings = the [[line]] sections of chatkeep.toml
line-place-webhook = LINE Developers console → Messaging API → Webhook settings
line-place-responses = LINE Official Account Manager → Settings → Response settings
line-place-groups = LINE Official Account Manager → Settings → Account settings → Toggle features
line-place-plan = LINE Official Account Manager → Settings → Usage and plan
line-place-clock = time synchronisation of this machine (NTP)
line-place-base-url = the setting CHATKEEP_API_BASE_URL
line-place-network = proxy, firewall and certificate in front of chatkeep, and whether a process with the role ingress runs
