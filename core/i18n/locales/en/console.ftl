skip-to-content = Skip to content
languages = Language
nav-home = Chats
sign-out = Sign out
close = Close
colon = { ": " }
label-of = { $what }: { $name }
list-comma = {", "}
go-back = Back

## Sign-in
sign-in-title = Sign in
sign-in-text = Read and search the messages of the groups that you are in.
sign-in-button = Sign in
sign-in-line = Sign in with LINE
sign-in-off-title = Sign-in is not set up
sign-in-off-text = This server has no sign-in yet. The administrator of this server can set it up in a few minutes.
demo-people-title = Choose whose view to see
demo-people-text = Everyone in this list is made up. Choose a person to see the chat as they would.
demo-role-owner = Owner of the group
demo-role-member = In the group
demo-role-stranger = Not in the group
problem-other-browser-title = Could not sign in with this browser
problem-other-browser-text = The sign-in started in one browser and ended in another one, or it took too long. This happens with private browsing, and when LINE opens its own browser.
problem-other-browser-step-private = Turn off private browsing.
problem-other-browser-step-browser = Open this page in your usual browser, such as Safari or Chrome.
problem-other-browser-step-again = Then sign in again.
problem-denied-title = You were not signed in
problem-denied-text = The sign-in was cancelled. You can try it again whenever you like.
problem-unconfirmed-title = The sign-in could not be confirmed
problem-unconfirmed-text = Please sign in once more. If it happens again, tell the administrator of this server.
problem-unavailable-title = The sign-in service does not respond
problem-unavailable-text = Please try again in a few minutes.

## Errors
missing-title = Not available
missing-text = This chat does not exist, or you do not have access to it. Only people in a group can read its messages.
missing-hint = Are you in the group? Send a message there and open this page again, or ask the owner or an admin of the group.
role-low-title = Your role cannot open this page
role-low-text = Only admins or the owner of this chat can open this page.
role-low-owner-text = Only the owner of this chat can open this page.
message-missing-title = Message not found
message-missing-text = It was not backed up, or it has been deleted.
error-title = Something went wrong
error-text = Please try again in a moment.
error-busy-title = The service is busy
error-input-title = This link does not work
error-input-text = Part of the address could not be read. The link may be incomplete.

## Home
home-title = Chats
home-attention = Needs your attention
home-empty-title = No chats yet
home-empty-text = Invite the bot to a LINE group and send a message there. The group then appears here.
home-empty-other-text = You are signed in as { $user }, which is not a LINE user ID, so none of the LINE groups can be yours. Ask the administrator of this server how to sign in with your LINE account.
home-more = More chats
usage-label = Storage
usage-used = { $percent }% of { $quota } used
chat-members = { $count ->
    [one] 1 member
   *[other] { $count } members
}
chat-messages = { $count ->
    [0] No messages backed up
    [one] 1 message backed up
   *[other] { $count } messages backed up
}
chat-nameless = Unnamed chat
chat-left = The bot has left this chat
chat-paused = Paused
attention-paused = Storage is full: new messages are not backed up.
attention-paused-others = Backup is paused: the storage of those who back up this chat is full. Back it up yourself, or tell the owner.
attention-full = Full: chats marked “Paused” are not backed up.
storage-manage = Manage your storage
attention-unsubscribed = Nobody is backing up this chat.
attention-left = The bot is no longer in this chat.
attention-media = { $count ->
    [one] 1 file could not be backed up.
   *[other] { $count } files could not be backed up.
}
attention-webhook-disabled = This webhook was turned off.
attention-webhook-failing = This webhook has not accepted anything since { $date }.

## Messages
kind-text = Text
kind-image = Photo
kind-video = Video
kind-audio = Voice message
kind-file = File
kind-location = Location
kind-sticker = Sticker
kind-other = Other
name-unknown = Unknown user
sender-unknown = Unknown sender
bot-name = Bot
mark-edited = edited
mark-edited-at = Edited { $date }, { $time }
message-unsent = This message was unsent
message-erased = This message was deleted
quote-missing = Message not backed up
media-pending = Still being saved
media-skipped = Not backed up: storage was full
media-failed = Could not be saved
media-expired = Expired before it could be saved
media-not-in-import = Not in the imported text
media-erased = Deleted
media-download = Download
media-download-named = Download { $name }
image-of = Photo from { $name }
video-of = Video from { $name }
audio-of = Voice message from { $name }
map-open = Open map

gap-quota = Backup paused: storage full
gap-bot_removed = Bot not in the chat
gap-unsubscribed = No backup of this chat
gap-outage = Service interruption
gap-until = { $from } – { $to }
gap-since = since { $from }
gap-days = { $days } (UTC)
gap-skipped = { $count ->
    [one] 1 message was not backed up
   *[other] { $count } messages were not backed up
}

timeline-label = Messages
timeline-older = Earlier messages
timeline-newer = Later messages
timeline-begin = This is where the backup begins
timeline-newest = Jump to the newest message
timeline-date = Go to a date
timeline-go = Go
timeline-empty-title = No messages yet
timeline-empty-text = When somebody sends a message in the group, it appears here.
timeline-unkept-title = Nobody is backing up this chat
timeline-unkept-text = New messages are not kept. If you start backing up this chat, they are kept from then on and count against your storage.
timeline-new = New messages
message-link = Link to this message
export = Export
tools = Tools
media-wall = Photos and files
media-empty-title = No photos or files yet
media-empty-text = Photos, videos, voice messages and files of this chat appear here.
media-more = Earlier items

permalink-title = Message
permalink-edited = This message was edited on { $date }, { $time }. Its current text is shown.
permalink-gone = This message was unsent or deleted. Its text is no longer kept.
permalink-earlier = Earlier texts
permalink-show = Show in the conversation

viewer-label = Photo viewer
viewer-previous = Previous photo
viewer-next = Next photo

## Search
search = Search
search-label = Search messages
search-hint = Words, "a phrase", -without, from:name
search-submit = Search
search-type = Type
search-any-type = Any type
search-sender = From
search-anyone = Anyone
search-bot = { $bot } ({ $name })
search-from = From date
search-to = Before date
search-sort = Sort
search-relevance = Best match
search-newest = Newest first
search-filters = Filters
search-remove = Remove filter: { $name }
search-before-date = before { $date }
search-after-date = since { $date }
search-results = { $count ->
    [0] Nothing found
    [one] 1 message found
   *[other] { $count } messages found
}
search-results-at-least = At least { $count } messages found
search-none-complete = No message matches the whole search
search-related = Related messages
search-none = Try fewer or other words, or remove a filter.
search-unknown = Nobody in this chat is called { $name }.
search-unknown-near = Nobody in this chat is called { $name }. Did you mean { $names }?
search-or = {" or "}
search-more = More results
search-bad-length = A search can have { $count } characters at most.
search-bad-empty = This search has no words. Enter what to search for.
search-bad-quote = A quotation mark is not closed. Add the closing one, or remove it.
search-bad-nothing = { $field }: needs something after it.
search-bad-exclusion = { $field }: cannot be excluded with a hyphen.
search-bad-type = There is no such type. Use text, image, video, audio, file, location, sticker or other.
search-bad-has = has: takes link or media.
search-bad-date = A date is not valid. Write it as 2026-01-31.
search-bad-order = No time is left to search: the date of after: or “From date” must be earlier than that of before: or “Before date”.
search-bad-page = This page of results belongs to another search. Please search again.
search-away = Search is not available right now. Please try again in a moment.
search-start-text = Search all messages in this chat.

## Dates
weekday-1 = Mon
weekday-2 = Tue
weekday-3 = Wed
weekday-4 = Thu
weekday-5 = Fri
weekday-6 = Sat
weekday-7 = Sun
weekday-long-1 = Monday
weekday-long-2 = Tuesday
weekday-long-3 = Wednesday
weekday-long-4 = Thursday
weekday-long-5 = Friday
weekday-long-6 = Saturday
weekday-long-7 = Sunday
month-1 = Jan
month-2 = Feb
month-3 = Mar
month-4 = Apr
month-5 = May
month-6 = Jun
month-7 = Jul
month-8 = Aug
month-9 = Sep
month-10 = Oct
month-11 = Nov
month-12 = Dec
date-long = { $weekday }, { $day } { $month } { $year }
date-year = { $day }{"\u00A0"}{ $month } { $year }
date-short = { $day }{"\u00A0"}{ $month }
date-today = Today
date-yesterday = Yesterday
date-in-zone = { $moment } ({ $zone })
times-in-zone = Times are in { $zone }.

## Tabs and forms
tabs = Pages of this chat
tab-messages = Messages
tab-search = Search
tab-media = Photos
tab-assistant = Assistant
cancel = Cancel
done-saved = Saved.
done-owner = Saved. This chat had no owner: you are its owner now, and manage roles and deletions.
done-added = Added.
done-added-before = It was already added. Nothing was added twice.
done-shown-before = It was already created, and is shown only once. If you did not save it, replace it.
done-deleted = Deleted.
form-invalid = Something in this form is not valid. Please check it.
form-in-entry = Entry { $line }: { $what }
form-stale = Somebody else changed this in the meantime. Nothing was overwritten: compare with what is there now, then save again.
form-conflict = This is not possible at the moment, because something changed. Reload the page to see what is there now.
form-plan-required = Answering by meaning needs the “Pro” plan.
form-rules-too-large = All rules of this chat together would be too long. Please shorten or delete some.
form-too-many-keys = You have reached the maximum number of keys. Delete one first.
form-busy = That did not work just now. Nothing is lost: please send it again.
form-limit = Up to { $max } characters.
defect-empty = Please fill this in.
defect-too-long = This is too long: up to { $max } characters.
defect-too-many-keywords = Too many keywords: up to { $max }.
defect-too-many-texts = Too many texts: up to { $max }.
defect-is-keyword = This is a keyword of the rule itself.
defect-is-not-for = The rule must not answer this text.
defect-no-keyword = Please add at least one keyword.
defect-other = Please check this.
error-old-title = Please open the page again
error-old-text = You have signed in again since this page was opened. Go back, reload the page, and send it once more.
error-old-form-text = You have signed in again since this page was opened. Tap Back: the form has what you typed. Then send it once more.
error-stale-title = This has changed in the meantime
error-stale-text = Somebody else changed it while your page was open. Nothing was overwritten. Tap Back to see what is there now.

## People
tab-people = People
people-parts = Which people
people-present = In the chat
people-guests = Without access
people-left = Left
people-me = You
people-more = More people
people-find = Find by name
people-find-go = Find
people-none-title = Nobody found
people-find-more = There are more people. Type more of the name.
people-empty-title = Nobody here
people-empty-text = People appear here when they join, or send a message in the group.
person-since = Since { $date }
person-left = Left on { $date }
person-role = Role
person-owner-text = You are the owner. If you leave this chat, whoever is the first to choose “Back up this chat” after that becomes its owner; those who back it up already find “Become the owner” in its settings.
person-missing-title = Person not found
person-missing-text = They were never in this chat, as far as the bot knows.
role-owner = Owner
role-owner-hint = Manages the backup, roles and deletions.
role-admin = Admin
role-admin-hint = Also sets up the assistant.
role-member = Member
role-member-hint = Reads and searches the messages.
role-guest = No access
role-guest-hint = Cannot read anything here.
person-erase-title = Erase their messages
person-erase-text = Everything this person wrote or sent in this chat is erased from the backup for good, photos and files included. It cannot be undone. Messages in LINE itself stay.
person-erase-label = To confirm, type the name:
person-erase-hint = Case and spaces do not matter.
person-erase-mistyped = That is not the name. Nothing was erased.
person-erase-button = Erase for good
save = Save

## Settings of a chat
tab-settings = Settings
settings-backup = Backup
settings-subscribed = You are backing up this chat: new messages are kept and count against your storage.
settings-unsubscribed = You are not backing up this chat. If you start, new messages are kept from then on and count against your storage.
settings-left = The bot is no longer in this chat. If you back up this chat, new messages are kept as soon as the bot is added again, and count against your storage.
settings-left-subscribed = The bot is no longer in this chat. You are backing up this chat: new messages are kept as soon as the bot is added again.
settings-subscribe = Back up this chat
settings-ownerless = This chat has no owner. Whoever backs it up first becomes its owner, who manages roles and deletions.
settings-ownerless-subscribed = This chat has no owner to manage roles and deletions. You can become its owner, because you are backing it up.
settings-own = Become the owner
unsubscribe-title = Stop backing up this chat?
unsubscribe-text = New messages are no longer kept for you. What is backed up already stays. If nobody else backs up this chat, its messages are no longer kept at all.
unsubscribe-button = Stop backing up
coverage-title = What is backed up
coverage-since = Backed up since
coverage-never = Never
coverage-first = Oldest message
coverage-last = Newest message
coverage-removed = Deleted: messages from before
coverage-files = { $count ->
    [one] 1 file
   *[other] { $count } files
}
coverage-gaps = What is missing
coverage-complete = Nothing is missing from then on.
settings-zone = Time zone
settings-zone-label = Time zone for dates and times in this chat
settings-zone-hint = Leave it empty to use the server’s time zone:
settings-zone-unknown = This time zone is not known. Choose one from the list, such as Asia/Taipei.
settings-earlier = Earlier texts
settings-earlier-label = Keep what messages said before they were edited
settings-earlier-hint = From now on. They are erased with their message when it is unsent or deleted, and count against the storage.
earlier-title = Stop keeping earlier texts?
earlier-text = All earlier texts of edited messages in this chat will be erased. This cannot be undone.
earlier-button = Erase earlier texts
settings-retention = Delete old messages automatically
settings-days-label = Days after which messages are deleted
settings-days-hint = Leave it empty to keep them for good.
settings-days-invalid = Please enter a whole number from 1 to 36500, or nothing.
retention-title = Delete old messages automatically?
retention-text = { $count ->
    [0] Messages are deleted after { $days ->
        [one] 1 day
       *[other] { $days } days
    }. At the moment none is that old.
    [one] Messages are deleted after { $days ->
        [one] 1 day
       *[other] { $days } days
    }. At the moment 1 message is that old: it is deleted for good within a day.
   *[other] Messages are deleted after { $days ->
        [one] 1 day
       *[other] { $days } days
    }. At the moment { $count } messages are that old: they are deleted for good within a day.
}
retention-button = Delete automatically
delete-title = Delete messages before a date
delete-text = { $count ->
    [one] 1 message from before { $date } ({ $size }) is deleted for good. It cannot be undone.
   *[other] { $count } messages from before { $date } ({ $size }) are deleted for good. It cannot be undone.
}
delete-button = Delete for good
settings-before-label = Everything sent before
settings-before-hint = You see how much it is before anything is deleted.
settings-before-button = Count messages
settings-before-invalid = Please choose a date.
settings-before-nothing = There are no messages from before that date.
job-running-title = Deleting…
job-running-text = { $done } of { $total } messages are deleted. You can leave this page: it goes on by itself.
job-delayed-title = This takes longer than it should
job-delayed-text = { $done } of { $total } messages are deleted. The rest could not be deleted so far. The server keeps trying until it succeeds, and its administrator can see the problem.
job-done-title = Deleted
job-done-text = { $done ->
    [0] There was nothing to delete.
    [one] 1 message was deleted, which freed { $size }.
   *[other] { $done } messages were deleted, which freed { $size }.
}
job-failed-title = This could not be finished
job-failed-text = { $done } of { $total } messages were deleted. Please try again.

## Pages of the assistant
assistant-sections = Pages of the assistant
assistant-overview = Overview
assistant-rules = Rules
assistant-try = Try it
assistant-switch = Compare
assistant-unanswered = Unanswered
assistant-texts = Texts

## Assistant: overview
attention-unanswered = { $count ->
    [one] 1 question of the last 30 days has no answer yet.
   *[other] { $count } questions of the last 30 days have no answer yet.
}
form-now = Now: { $value }
overview-card-rules = Rules
overview-card-answers = Answers in 30 days
overview-card-unanswered = Unanswered questions
overview-not-given = { $count ->
    [one] 1 reply could not be sent in the last 30 days:
   *[other] { $count } replies could not be sent in the last 30 days:
}
overview-not-given-late = { $count } – too late: LINE accepts a reply only within a minute of the message
overview-not-given-quota = { $count } – the messages of the LINE plan were used up for the month
overview-not-given-unavailable = { $count } – LINE could not be reached, or did not accept requests from the bot
overview-not-given-refused = { $count } – not accepted by LINE
overview-not-given-interrupted = { $count } – possibly not sent: the service was interrupted while sending
overview-on = on
overview-off = off
idle-left = The bot is no longer in this chat, so it answers nobody. It answers again once it is added again.
idle-questions = Questions and answers are on, but there is no rule yet, and no reply when nothing matches.
idle-welcome = The welcome is on, but it has no text, so nobody is greeted.
idle-group-rules = The group rules are on, but they have no text, so the bot does not show them.
idle-group-rules-words = The group rules are on, but no word shows them.
idle-link-words = The link to this chat is on, but no word shows it.
overview-enabled = The bot answers in this chat
overview-enabled-hint = While this is off, the bot never writes anything.
overview-parts = What it does
overview-qa = Questions and answers
overview-qa-hint = It answers questions by your rules.
overview-welcome = Welcome
overview-welcome-hint = It greets people who join the group.
overview-group-rules = Group rules
overview-group-rules-hint = It shows the group rules when somebody writes one of their words.
overview-to-texts = Write the welcome and the group rules
overview-mode = How it recognises a question
qa-mode-keyword = Keyword
qa-mode-keyword-hint = A keyword must be written word for word; “Keywords count when” says whether it must be the whole message.
qa-mode-fuzzy = Tolerant
qa-mode-fuzzy-hint = Typos, word order and small changes do not matter.
qa-mode-semantic = By meaning
qa-mode-semantic-hint = The same question in other words is enough.
qa-mode-semantic-pro = The same question in other words is enough. Needs the “Pro” plan.
overview-replaced = The current plan does not include answers by meaning: the bot works in “{ $mode }” mode.
overview-match = Keywords count when
overview-match-exact = They are the whole message
overview-match-exact-hint = “hours” answers “hours?”, but not “What are your hours?”.
overview-match-contains = They are in the message
overview-match-contains-hint = “hours” also answers “What are your hours?”.
overview-strictness = How sure it has to be
overview-strictness-careful = Careful
overview-strictness-careful-hint = Fewest wrong answers; more questions stay without one.
overview-strictness-balanced = Balanced
overview-strictness-balanced-hint = A wrong answer now and then; most questions are answered.
overview-strictness-eager = Eager
overview-strictness-eager-hint = Answers as much as it can, also when it is wrong more often.
overview-compare = See what would change
overview-compare-hint = Shows which messages of the last 30 days would have got a different answer. Looking saves nothing.
overview-quiet = How much it talks
overview-cooldown = After an answer, the same rule rests for
overview-cooldown-hint = So that it does not repeat itself in a lively chat.
overview-cooldown-none = No pause
overview-seconds = { $count ->
    [one] 1 second
   *[other] { $count } seconds
}
overview-minutes = { $count ->
    [one] 1 minute
   *[other] { $count } minutes
}
overview-hours = { $count ->
    [one] 1 hour
   *[other] { $count } hours
}
overview-scope = When nothing matches, reply
overview-scope-addressed = Only when the bot is addressed
overview-scope-addressed-hint = Somebody mentions it or replies to it.
overview-scope-always = To every message without an answer
overview-scope-always-hint = Useful only in a chat with nothing but questions.

## Assistant: past messages
history-running = Reading the messages…
history-incomplete = { $count ->
    [one] Only the newest message was examined.
   *[other] There are very many messages: the newest { $count } were examined.
}
pages-earlier = Previous page
pages-later = Next page
switch-lead = Compare what the bot would have answered in the last 30 days. Nothing is sent.
switch-mode = Compare with
switch-compare = Compare
switch-told = { $changed ->
    [0] Messages since { $date }: { $scanned }. No answer would change.
    [one] Messages since { $date }: { $scanned }. 1 would get a different answer.
   *[other] Messages since { $date }: { $scanned }. { $changed } would get a different answer.
}
switch-new = New answers
switch-lost = Lost answers
switch-other = Different answers
switch-same = Same answers
switch-listed = Messages, the different ones first
switch-nothing = There is no such message.
switch-how = This compares answers from rules, from the words of the group rules and from the words of the link. Pauses after an answer and the reply when nothing matches are left out.
switch-with-rule = With this rule
switch-no-answer = No answer
switch-source-rules = Group rules
switch-source-link = Link
switch-source-rule = Rule
switch-button = Switch to “{ $mode }”
switch-button-match = Switch
switch-stay = Leave it as it is
switch-edit-further = Edit further
switch-answer-cut = The answer is too long to be saved from here. Go back to the form and save it there.
switch-today = Now
unanswered-lead = Questions that people asked and no rule answers.
unanswered-period = Period
unanswered-days = { $count ->
    [365] 1 year
   *[other] { $count } days
}
unanswered-told = { $questions ->
    [one] 1 question in { $scanned ->
        [one] 1 message
       *[other] { $scanned } messages
    } since { $date }, the most frequent first.
   *[other] { $questions } questions in { $scanned ->
        [one] 1 message
       *[other] { $scanned } messages
    } since { $date }, the most frequent first.
}
unanswered-nothing-title = No messages in this period
unanswered-nothing-text = As soon as people write in the chat, their questions appear here. The bot needs a backup of the chat for that.
unanswered-none-title = Everything is answered
unanswered-none-text = Every question in this period has a rule. Look again after a while, or choose a longer period.
unanswered-asked = { $count ->
    [one] Asked once: { $when }
   *[other] Asked { $count } times, the last one: { $when }
}
unanswered-make = Create a rule
unanswered-add = Add to a rule
unanswered-nearest = Add to the most similar rule:
unanswered-examples = { $count ->
    [one] Show the message
   *[other] Show { $count } messages
}
unanswered-choose = Which rule answers this?
unanswered-filter = Find a rule
unanswered-filter-go = Find
unanswered-no-rule-title = No rule found
unanswered-back = Back to the questions
unanswered-more-rules = There are more rules. Search for a word in the one you mean.

## Assistant: texts
texts-on = On
texts-welcome = Welcome
texts-welcome-text = Text
texts-welcome-hint = Replaced by the name of the new member and of the group:
texts-preview = Preview
texts-preview-none = Write a text to see it here.
texts-show-preview = Show the preview
texts-now = Saved now:
texts-rules = Group rules
texts-rules-text = Text
texts-rules-words = Words that show the group rules
texts-words-hint = One word or phrase per line.
texts-no-match = When nothing matches
texts-no-match-text = Reply
texts-no-match-hint = Empty: the bot says nothing.
texts-no-match-always = Otherwise it is sent after every message without an answer, which suits only a chat with nothing but questions.
texts-no-match-addressed = Otherwise it is sent when somebody mentions the bot or replies to it.
texts-no-match-scope = Choose when it is sent
texts-link = Link to this chat
texts-link-hint = The bot answers with the address of this chat’s page when somebody writes one of the words. Only members can open it.
texts-link-address = It answers:
texts-link-none = This server has no public address yet. The administrator of the server has to set api.base_url.
texts-link-words = Words, such as “dashboard”

## Rules of the assistant
done-imported = Imported.
error-large-title = This is too much at once
error-large-text = Send it in several parts. Nothing was changed.
rule-missing-title = Rule not found
rule-missing-text = Somebody may have deleted it.
rules-count = { $count ->
    [one] 1 rule
   *[other] { $count } rules
}
rules-add = Add rule
rules-import = Import
rules-export = Export
rules-empty-title = No rules yet
rules-empty-text = Add a question that people often ask and its answer. The bot then answers it in the group.
rules-filter = Find in rules
rules-sort = Sort
rules-sort-oldest = Matching order
rules-sort-hits = Most answers
rules-sort-changed = Recently changed
rules-show = Show
rules-none-title = No rule found
rules-none-text = Try fewer or other words.
rules-all = Show all
rules-caption = Rules of this chat
rules-texts = Question and answer
rules-use = Use
rules-actions = Edit
rules-edit = Edit
rules-changed = Changed: { $date }
rules-hits = { $count ->
    [0] Not used yet
    [one] 1 answer
   *[other] { $count } answers
}
rules-warning-first = “{ $word }” is in several rules. This one answers, because it is the oldest.
rules-warning-later = “{ $word }” is also in an older rule, which answers instead.
rules-warning-trigger = “{ $word }” shows the group rules or the link, so this rule does not answer it.
rules-warning-short = “{ $word }” is so short that it occurs in messages about anything, and this rule answers them all.
rule-new-title = Add a rule
rule-edit-title = Edit rule
rule-keywords = Keywords
rule-keywords-lines = One keyword per line.
rule-keywords-chips = Enter or a comma adds a keyword.
rule-keywords-hint = Up to { $count } keywords of { $max } characters.
rule-keyword-remove = Remove keyword
rule-keyword-added = Added
rule-keyword-removed = Removed
rule-question = Question
rule-question-hint = Optional. Helps the bot to find the rule when words differ.
rule-not-for = Not for
rule-not-for-lines = Messages that it must not answer, one per line. Similar ones are not answered either.
rule-not-for-hint = Up to { $count } texts of { $max } characters.
rule-not-for-added = The message that was answered is now under “Not for”. Save to keep the bot from answering it with this rule.
rule-not-for-part = The message that was answered is long: only the part with the keyword is now under “Not for”. Save to keep the bot from answering it with this rule.
rule-not-for-keyword = The message that was answered is a keyword of this rule. Remove the keyword to keep the bot from answering it.
rule-not-for-gone = The message that was answered is no longer there.
rule-not-for-edited = The message was edited after it was answered. Write here what the rule must not answer.
rule-answer = Answer
rule-answer-hint = The bot writes this into the chat.
rule-delete = Delete rule
rule-delete-title = Delete this rule?
rule-delete-text = The bot will no longer answer “{ $word }” with it. This cannot be undone.
rule-delete-changed = Somebody else changed this rule in the meantime. The bot will no longer answer “{ $word }” with it. This cannot be undone.
rule-compare-too-long = This rule is too long to compare. It can be saved all the same.
rule-present = What is there now
rule-gone = Somebody else deleted this rule in the meantime. If you save, it is added again.
import-title = Import rules
import-text = Rules from a spreadsheet: you see what will happen before anything changes. Rules that are not in the table stay.
import-file = Choose a file (CSV)
import-paste = Or paste the table here
import-hint = Columns: keywords, question, answer, not_for. Several keywords go into one cell, between commas or on lines of their own; so do the texts of not_for, on lines of their own. Easiest: export, edit, import.
import-check = Check
import-preview = What the import does
import-empty = There is no rule in this table.
import-no-text = This is not a CSV table. Save the table as CSV (UTF-8) in your spreadsheet program.
import-too-many-cells = Row { $line } has more cells than the first row: put texts with a comma in quotation marks.
import-too-many = A chat can have { $count } rules at most.
import-added = { $count } new
import-changed = { $count } changed
import-same = { $count } unchanged
import-refused = { $count } not possible
import-nothing-until = { $count ->
    [one] Nothing was imported. Correct 1 row, then check again.
   *[other] Nothing was imported. Correct { $count } rows, then check again.
}
import-ready = Nothing has changed yet.
import-nothing-to-do = All these rules are there already.
import-stale = Somebody else changed the rules in the meantime. This is what the import would do now.
import-more = { $count ->
    [one] And 1 more row
   *[other] And { $count } more rows
}
import-confirm = { $count ->
    [one] Import 1 rule
   *[other] Import { $count } rules
}
import-row-added = New
import-row-changed = Changed
import-row-same = Unchanged
import-row-refused = Not possible
import-line = Row { $line }
import-repeated = Row { $line } is for the same rule.
import-field = { $field }: { $what }
try-label = What somebody writes
try-hint = Write as people do in the group. Nothing is sent.
try-submit = Try it
try-now = Now
try-now-rule = A rule answers.
try-now-group-rules = The bot shows the group rules.
try-now-link = The bot answers with the link to this chat’s page.
try-now-no-match = No rule answers. The bot sends the reply for when nothing matches.
try-now-off = The assistant is switched off: the bot says nothing.
try-now-silent = No rule answers: the bot says nothing.
try-rule = Show the rule
try-modes = In each mode
try-mode-keyword-text = Answers when the keyword is there word for word.
try-mode-keyword-whole-text = Answers when the message is a keyword, word for word.
try-mode-fuzzy-text = Also understands typing mistakes and another order of words.
try-mode-semantic-text = Also understands other words with the same meaning.
try-present = In use
try-needs-plan = Needs the “Pro” plan
try-answers = Answers.
try-silent = Says nothing.
try-score = Similarity
try-excluded = Not for such messages
try-reason-trigger = “{ $word }” is a trigger word of the group rules, which come before all rules.
try-reason-link = “{ $word }” is a word of the link, which comes before all rules.
try-reason-keyword = It has the keyword “{ $word }”.
try-reason-near = It is { $score }% similar to this rule; { $least }% is enough.
try-reason-far = The best rule is { $score }% similar; { $least }% would be needed.
try-reason-close = Two rules are about equally similar, and the bot does not guess.
try-reason-excluded = The best rule is not for messages like this one.
try-reason-no-keyword = No keyword is there.
try-reason-no-whole-keyword = The message is not a keyword.
try-reason-nothing = No rule has anything in common with it.
try-note = In the chat, a rule may pause between two answers; trying it here ignores that. Welcome texts are for new members only.

## Origins of replies
origin-rule = Answered by a rule:
origin-some-rule = Answered by a rule
origin-rule-removed = Answered by a rule that has since been deleted
origin-wrong = Wrong answer?
origin-welcome = Welcome message
origin-group-rules = Group rules
origin-link = Link to this page
origin-no-match = No rule matched

## Export
export-title = Export messages
export-text = Save a copy of this chat’s messages as a file. Photos, videos and files are not in it.
export-format = Kind of file
export-html = Page for reading
export-html-hint = Opens in every browser
export-csv = Table
export-csv-hint = For Excel, Numbers or Google Sheets
export-jsonl = Full copy
export-jsonl-hint = Can be imported again, on this server or another one
export-days = Period
export-days-hint = Leave both empty to export everything.
export-from = First day
export-to = Last day
export-bad-date = Please enter a valid date.
export-bad-order = The last day is before the first day.
export-start = Export
export-progress = { $done } of { $total } messages · { $size }
export-ready = Done. Messages: { $total } ({ $size }).
export-save = Save file
export-share = Share
export-again = New export
export-failed = The export was interrupted. Please try again.
export-cancelled = The export was cancelled.
export-hint = Was nothing saved? Open this page in your usual browser, such as Safari or Chrome.
export-prepare = Prepare in the background
export-prepare-hint = For large chats: it continues when you leave this page, and an interrupted download can be resumed.
exports-title = Prepared exports
exports-text = Only you can download them, for three days; the newest { $count } of this chat are kept. Messages that are unsent or deleted in the meantime are removed from them.
exports-empty = No prepared exports yet
exports-empty-text = Choose “Prepare in the background” when you export a chat. The file waits here for you.
exports-new = New export
exports-waiting = Waiting to begin…
exports-running = { $done } of { $total } messages
exports-again = Something in it was edited, unsent or deleted. It is being prepared again: { $done } of { $total } messages
exports-failed = It could not be prepared. Please try again.
exports-given-up = The service kept failing while it prepared this, so it stopped trying. A shorter period may work; the administrator of this server can see why in the log.
exports-ready = Messages: { $total } ({ $size }). Available until { $end }.
exports-download = Download
exports-days = { $first } – { $last }
exports-until = Everything until { $last }

## Refusals
error-page-title = Page not found
error-page-text = Perhaps the link was cut off.
error-hasty-title = One moment, please
error-hasty-text = Too many pages were opened in a short time.
error-hasty-hint = { $count ->
    [one] Try again in 1 second.
   *[other] Try again in { $count } seconds.
}

## Account
date-month = { $month } { $year }
account = Account
account-sections = Pages of your account
account-overview = Overview
account-keys = Keys
account-webhooks = Webhooks
account-mcp = AI
account-sessions = Devices
account-plan-title = Plan
plan-free = Free
plan-standard = Standard
plan-pro = Pro
account-plan = { $plan } · { $quota }
account-plan-next = The next plan, “{ $plan }”, has { $quota }.
account-plan-semantic = With it, the assistant also answers by meaning.
account-plan-ask = The administrator of this server can change your plan.
account-plan-largest = You have the largest plan.
account-free = You can free space in the settings of a chat below: stop backing it up or, as its owner, delete old messages.
account-remaining = { $size } left
account-full = nothing left
account-by-month = Storage over time
account-month = Month
account-month-text = What you used at the end of each month, in UTC.
account-no-months = Nothing has been backed up for you yet.
account-by-chat = Storage by chat
account-no-chats = You are not backing up any chat.
account-chat = Chat
account-chat-gone = A chat you are no longer in
account-messages = Messages
account-size = Storage
account-size-text = Only what was backed up after you started backing up a chat counts.
account-language-text = For this browser.
account-notices = Notices
account-notices-usage = Tell me when my storage is getting full
account-notices-text = The bot writes to you in your own chat with it.
edit = Edit
delete = Delete
replace = Replace
more = More
never = Never
created = Created
last-used = Last used
copy = Copy
copied = Copied
gone-title = Not found
gone-text = It does not exist, or it has been deleted.
done-sent = It is being sent. Reload this page in a moment to see the result.
done-signed-out = Signed out there.
done-unsent = You had been signed out, so nothing was saved. Check that the form has what you typed, and send it once more.
form-too-many-webhooks = You have reached the maximum number of webhooks. Delete one first.
form-too-many-saved-searches = You have reached the maximum number of saved searches. Delete one first.
form-webhook-off = This webhook is turned off. Turn it on first.
form-beyond-bounds = This is more than the key that made the webhook may read.
defect-no-scope = Please choose at least one thing that it may do.
defect-pseudonyms = A key that shows pseudonyms cannot change the assistant, roles or backups. Untick these, or show people as they are.
defect-no-event = Please choose at least one event.
defect-past = This is in the past. Choose a later date.
defect-no-day = This is not a date. Write it as 2026-12-31.
defect-no-address = This is not a web address. It looks like https://example.com/path.
defect-not-https = The address must begin with https://.
defect-credentials = The address must not contain a user name or password.
defect-private = This address leads into a private network. Use one that is public.
reach = Chats
reach-all = All my chats
reach-all-text = Including later ones.
reach-chosen = Only these
reach-chosen-text = Choose them below.
reach-others = Other chats
reach-others-text = Only the first { $count } of your chats are listed. Write the ids of others here, or the addresses of their pages, with spaces between them.
reach-none-chosen = Please choose at least one chat.
reach-no-chats = None
keys-title = Keys
keys-text = A key lets a program work with your chats on your behalf. Give each program its own key, and no more than it needs.
keys-empty-title = No keys yet
keys-empty-text = Programs that use this service with your chats need one.
key-new = New key
key-create = Create key
key-new-title = Your new key
key-name = Name
key-name-text = So that you recognise it later.
key-may = Permissions
key-since = messages since { $date }
key-pseudonyms = People
key-pseudonyms-label = Show pseudonyms in place of people
key-pseudonyms-text = Programs with this key see the same stand-in for a person every time, and no names, phone numbers, email addresses or account numbers. They cannot change anything and get no photos or files.
key-pseudonyms-shown = people under pseudonyms
key-since-label = Only messages since
key-since-text = Leave it empty for all messages.
key-end = Works until
key-endless = No end date
key-end-label = Last day
key-end-text = The key stops working after this day. Leave it empty for a key without an end.
key-ended = Ended
key-replace = Replace
key-replace-title = Replace the key “{ $name }”?
key-replace-text = You get a new key with the same permissions. Put it into your program while the old one still works.
key-old-until = The old key works until { $date }.
key-old-ended = The old key no longer works.
key-delete-title = Delete the key “{ $name }”?
key-delete-text = Programs that use it stop working at once, and webhooks that were made with it are turned off.
overlap = How long the old one still works
overlap-none = It ends now
overlap-hour = 1 hour
overlap-day = 1 day
overlap-week = 7 days
secret-once = Copy it now and keep it safe. It is shown this one time only.
secret-kept = I have saved it
scope-read-messages = Read, search and export messages
scope-read-media = Open photos, videos and files
scope-read-members = See who is in a chat and how it is set up
scope-write-assistant = Change what the assistant answers
scope-write-members = Change the roles of members
scope-write-backup = Start and stop backups, delete messages, and choose whether your own messages are kept
scope-manage-webhooks = Create, change and delete webhooks
scope-manage-keys = Create and delete keys that may do no more than this one
webhooks-title = Webhooks
webhooks-text = A webhook tells a program of yours what happens in your chats, as it happens.
webhooks-empty-title = No webhooks yet
webhooks-empty-text = You need the https address of a program that receives events.
webhook-new = New webhook
webhook-create = Create webhook
webhook-edit = Edit webhook
webhook-url = Address
webhook-url-text = Where events are sent. It begins with https://.
webhook-description = Description
webhook-description-text = Optional, for your own reference.
webhook-events = Events
webhook-searches-text = Saved searches are made by programs: through the API or MCP.
webhook-on = On
webhook-off = Off
webhook-unanswering = Deliveries fail
webhook-failing-since = It has not accepted anything since { $date }. If nothing can be delivered for several days, it is turned off.
webhook-off-failing = It was turned off on { $date }, because nothing could be delivered for several days.
webhook-off-gone = It was turned off on { $date }, because its address answered that it is gone (410).
webhook-off-key = It was turned off on { $date }, because the key it was made with ended.
webhook-limited = limited by the key that made it
webhook-ends = works until { $date }
webhook-turn-on = Turn on
webhook-turn-off = Turn off
webhook-test = Send a test event
webhook-secret = Signing secret
webhook-secret-title = The secret of your webhook
webhook-secret-use = Your program checks with it that an event comes from here.
webhook-secret-until = The old secret also signs until { $date }.
webhook-secret-still-valid = The secret before this one is still valid, and only two can be at the same time. Wait until it ends, or choose that it ends now: then only the new one is valid.
webhook-new-secret = Replace secret
webhook-replace-title = Replace the secret of this webhook?
webhook-replace-text = Put the new one into your program. Until the old one ends, events are signed with both.
webhook-delete-title = Delete this webhook?
webhook-delete-text = Nothing more is sent to { $url }, and its log is deleted.
event-message-received = Somebody sent a message
event-message-sent = The bot sent a message
event-message-edited = A message was edited
event-message-unsent = A message was unsent
event-member-joined = Somebody joined a chat
event-member-left = Somebody left a chat
event-file-uploaded = A photo or file was saved
event-media-failed = A photo or file could not be saved
event-backup-paused = The backup of a chat was paused
event-backup-resumed = The backup of a chat resumed
event-usage-warning = 80% of my storage is used
event-usage-critical = 90% of my storage is used
event-usage-exceeded = My storage is full
event-endpoint-disabled = Another of my webhooks was turned off
event-search-matched = One of my saved searches found a message
event-import-added = Messages were imported
event-import-undone = An import of messages was undone
event-webhook-test = Test event
deliveries-title = Delivery log
deliveries-text = What was sent, newest first. Old entries are removed automatically.
deliveries-status = Result
deliveries-event = Event
deliveries-any = All
deliveries-from = From date
deliveries-to = To date
deliveries-show = Show
deliveries-all = Show all
deliveries-older = Earlier deliveries
deliveries-empty = Nothing has been sent yet.
deliveries-none-found = Nothing matches these filters.
delivery-is-pending = Waiting
delivery-is-delivered = Delivered
delivery-is-failed = Failed
delivery-is-dropped = Not sent
delivery-back = Back to the webhook
delivery-chat = Chat
delivery-attempts = Attempts
delivery-tried = Last attempt
delivery-due = Next attempt
delivery-again = Send again
delivery-answer = Answer
delivery-no-answer = No text is stored.
delivery-milliseconds = { $count } ms
delivery-request = Request
delivery-request-text = What was sent is not stored. This is what would be sent now.
delivery-sent-size = Last sent: { $size }.
delivery-no-request = Nothing would be sent: its subject is gone, or you may no longer read it.
delivery-failed-status = The address answered with an error.
delivery-failed-timeout = The address did not answer in time.
delivery-failed-connect = The address could not be reached.
delivery-failed-broken = The connection broke off.
delivery-failed-redirect = The address leads somewhere else. Redirects are not followed.
delivery-failed-gone = The address answered that it is gone (410).
delivery-failed-message-gone = What the event was about is gone.
delivery-failed-forbidden-address = The address leads into a private network.
delivery-failed-unusable-secret = The secret of the webhook cannot be used. Replace it.
delivery-failed-not-permitted = You no longer had permission to read it.
delivery-failed-not-rendered = The content could not be prepared. Nothing was sent.
mcp-title = AI apps (MCP)
mcp-text = Let an AI app such as Claude or ChatGPT read and search your chats. It can only read.
mcp-address = Address
mcp-sign-in = This address is all an app needs: it asks you to sign in here, and you choose which chats it may read. Programs that cannot do that need a key.
mcp-with-key = Apps need a key to read at this address. Create one that may only read, and put it in place of ck_YOUR_KEY.
mcp-make-key = Create a read-only key
mcp-clients = Set up your app
mcp-in-claude = In Claude, open Customize → Connectors → + → Add custom connector, and paste this address.
mcp-in-chatgpt = In ChatGPT on the web, open Settings → Apps → Advanced settings and turn on Developer mode. Then choose Create app, paste this address, and choose OAuth.
mcp-in-terminal-sign-in = Run this in a terminal. Then type { $command } in { $client } and sign in.
mcp-in-terminal = Run this in a terminal.
mcp-in-file = Put this into the file { $file }.
mcp-consents = Apps that may read
mcp-consents-text = You allowed these apps to read. The names are what they call themselves.
mcp-no-consents = You have not allowed any app to read.
consent-since = Allowed since
consent-end = Remove access
consent-end-title = Stop “{ $name }” from reading?
consent-end-text = It loses its access at once. If it needs to read again, it has to ask you.
sessions-title = Signed-in devices
sessions-text = Each browser in which you are signed in, with the times of signing in and last use. Sign out any whose times are not yours.
session-since = Signed in { $date }
session-seen = Last used { $date }
session-own = This browser
sessions-end-others = Sign out everywhere else

## Activity
tab-activity = Activity
activity-periods = Period
activity-days = { $count } days
activity-year = 1 year
activity-all = All
activity-total = { $count ->
    [one] 1 message
   *[other] { $count } messages
}
activity-by-day = Messages per day
activity-by-week = Messages per week
activity-by-month = Messages per month
activity-day = Day
activity-week = Week
activity-month = Month
activity-week-of = From { $date }
activity-month-of = { $month } { $year }
activity-as-table = As a table
activity-messages = Messages
activity-hours = Busiest hours
activity-hour = Hour
activity-busiest = The busiest hour is { $weekday } from { $from } to { $to }.
activity-people = Who writes
activity-person = Person
activity-other-people = All others
activity-answers = The bot’s answers
activity-rule = Answered by
activity-replies = Answers
activity-some-rule = Rules
activity-deleted-rules = Deleted rules
activity-other-rules = All other rules
activity-link = Link to this chat’s page
activity-storage = Storage
activity-storage-text = Everything that is stored now:
activity-type = Type
activity-size = Number · size
activity-none-title = No messages in this period
activity-none-text = Choose a longer period.
activity-empty-title = No messages yet
activity-empty-text = Once messages are backed up, you see here when and how much is written.

## Opting out

gap-opted_out = Messages of people who asked for them not to be kept

## My data
done-erasing = Your messages are being erased. This can take some minutes.
my-data-title = My data
my-data-text = What is kept about you, chat by chat.
my-data-messages = { $count ->
    [0] No messages
    [one] 1 message
   *[other] { $count } messages
}
my-data-not-kept = Not kept
my-data-empty-title = Nothing is kept about you
my-data-empty-text = You are in no chat with the bot, and never were.
my-data-files = Photos and files
my-data-size = Size
my-data-kept-title = Kept about you
my-data-to-chat = Open the chat
my-data-export = Save a copy
my-data-export-text = Everything that you wrote and that is still kept, from all chats, in one file. Photos, videos and files are not in it.
my-data-json = Data for programs
my-data-json-hint = JSON, with every detail
my-data-save = Save file
my-data-out-title = Stop keeping my messages
my-data-out-text = If you choose this, nothing that you write or send in this chat from now on is kept, found by searching, or passed on to other programs. The others only see how many messages of a day are missing.
my-data-out-rest = The bot still reads what you write in order to answer. What is kept already stays until you erase it.
my-data-out-button = Do not keep my messages
my-data-in-title = Your messages are not kept
my-data-in-text = Nothing that you write or send in this chat is kept. If you change this, messages are kept from then on; those in between stay missing.
my-data-in-button = Keep my messages again
my-data-all = All chats
my-data-all-out = You asked for none of your messages to be kept in any chat.
my-data-all-out-but = You asked for none of your messages to be kept in any chat. The chats below without the mark “Not kept” are exceptions: your messages are kept there again.
my-data-too-often = You have changed this too often, so your messages cannot be kept again.
my-data-all-out-text = If you choose this, nothing that you write or send from now on is kept in any chat, also in those that you join later.
my-data-all-out-button = Do not keep my messages in any chat
my-data-all-in-text = If you change this, messages in all chats are kept from then on; those in between stay missing.
my-data-erase = Erase my messages
my-data-erase-text = Everything that you wrote or sent in this chat is erased from the backup for good, photos and files included. It cannot be undone. Messages in LINE itself stay. Your name in the list of people and the activity log stay.
my-data-erase-all = Erase all my messages
my-data-erase-all-text = Everything that you wrote or sent in any chat is erased from the backup for good, photos and files included. It cannot be undone. Messages in LINE itself stay. Your name in the list of people and the activity log stay.

## Activity log
log-title = Activity log
log-text = Who changed what in this chat, and who read its messages. Only you as the owner see it.
log-open = Show the activity log
log-changes = Changes
log-reads = Reading
log-changes-hint = Changes of the last 180 days, the newest first.
log-reads-hint = How often somebody read messages, by day in UTC. What they read is not recorded. Kept for 180 days.
log-kind = What
log-any-kind = Everything
log-person = Who
log-day = Day
log-empty-title = Nothing found
log-empty-text = Nothing of this kind happened in the last 180 days.
log-more = Earlier
log-before = Before:
log-after = After:
log-days = { $count ->
    [one] After 1 day
   *[other] After { $count } days
}
log-never = Never
log-link-words = Words that show the link
log-deletions = Deleted messages
log-erasures = Erased messages of people
log-rule-added = Added a rule
log-rule-changed = Changed a rule
log-rule-deleted = Deleted a rule
log-role = Role of { $name }
log-erased = Erased the messages of { $name }
log-deleted = Deleted the messages from before { $date }
log-subscribed = Began to back up this chat
log-unsubscribed = Stopped backing up this chat
log-read-list = Read messages
log-read-search = Searched messages
log-read-open = Opened single messages
log-read-media = Looked at photos and files
log-read-export = Exported messages
log-read-events = Fetched new messages with a program
log-read-history = Compared answers with past messages
log-key = Key “{ $name }”
log-program = Program “{ $name }”
log-others = More readers than can be listed
log-times = { $count ->
    [one] once
   *[other] { $count } times
}
