skip-to-content = Skip to content
languages = Language
nav-home = Chats
sign-out = Sign out
close = Close
go-back = Back

## Sign-in
sign-in-title = Sign in
sign-in-text = Read and search the messages of the groups that you are in.
sign-in-button = Sign in
sign-in-line = Sign in with LINE
sign-in-off-title = Sign-in is not set up
sign-in-off-text = This server has no sign-in yet. Whoever runs it can set it up in a few minutes.
demo-people-title = Look around as …
demo-people-text = Everyone in this list is made up. Choose a person to see the chat as they would.
demo-role-owner = Owner of the group
demo-role-member = In the group
demo-role-stranger = Not in the group
problem-other-browser-title = Signing in did not work in this browser
problem-other-browser-text = The sign-in started in one browser and ended in another one, or it took too long. This happens with private browsing, and when LINE opens its own browser.
problem-other-browser-step-private = Turn off private browsing.
problem-other-browser-step-browser = Open this page in your usual browser, such as Safari or Chrome.
problem-other-browser-step-again = Then sign in there once more.
problem-denied-title = You were not signed in
problem-denied-text = The sign-in was cancelled. You can try it again whenever you like.
problem-unconfirmed-title = The sign-in could not be confirmed
problem-unconfirmed-text = Please sign in once more. If it happens again, tell whoever runs this server.
problem-unavailable-title = The sign-in service does not respond
problem-unavailable-text = Please try again in a few minutes.

## Errors
missing-title = Not available
missing-text = This chat does not exist, or you may not read it. Only people who are in a group can read its messages.
missing-hint = Are you in the group? Write something there and open this page again.
message-missing-title = This message is not here
message-missing-text = It was never kept, or it has been deleted since.
error-title = Something went wrong
error-text = Please try again in a moment.
error-busy-title = The service is busy
error-input-title = This address is not right
error-input-text = Something in it cannot be understood. Perhaps the link was cut off.

## Home
home-title = Chats
home-attention = Needs your attention
home-empty-title = No chats yet
home-empty-text = Invite the bot to a LINE group and write something there. The group then appears here.
home-more = More chats
usage-label = Storage
usage-used = { $percent }% of { $quota } used
chat-members = { $count ->
    [one] 1 member
   *[other] { $count } members
}
chat-messages = { $count ->
    [0] No messages kept
    [one] 1 message kept
   *[other] { $count } messages kept
}
chat-nameless = Chat without a name
chat-left = The bot has left this chat
chat-paused = Paused
attention-paused = The storage is full: new messages are not kept.
attention-unsubscribed = Nobody keeps a backup of this chat.
attention-left = The bot is no longer in this chat.
attention-media = { $count ->
    [one] 1 file could not be kept.
   *[other] { $count } files could not be kept.
}
attention-webhook-disabled = This webhook was turned off.
attention-webhook-failing = This webhook has not answered since { $date }.

## Messages
kind-text = Text
kind-image = Photo
kind-video = Video
kind-audio = Voice message
kind-file = File
kind-location = Location
kind-sticker = Sticker
kind-other = Other
someone = Somebody
everyone-former = Unknown sender
bot-name = Bot
mark-edited = edited
mark-edited-at = Edited { $date }, { $time }
message-unsent = This message was unsent
message-erased = This message was deleted
quote-missing = A message that is not here
media-pending = Still being fetched
media-skipped = Not kept: the storage was full
media-failed = Could not be fetched
media-expired = No longer on the platform when it was fetched
media-erased = Deleted
media-download = Download
media-download-named = Download { $name }
image-of = Photo from { $name }
video-of = Video from { $name }
audio-of = Voice message from { $name }
map-open = Open in a map

gap-quota = Backup was paused: the storage was full
gap-bot_removed = The bot was not in the chat
gap-unsubscribed = Nobody kept a backup of this chat
gap-outage = The service was down
gap-until = { $from } – { $to }
gap-since = since { $from }
gap-skipped = { $count ->
    [one] 1 message was not kept
   *[other] { $count } messages were not kept
}

timeline-label = Messages
timeline-older = Earlier messages
timeline-newer = Later messages
timeline-begin = This is where the backup begins
timeline-newest = To the newest message
timeline-date = Go to a date
timeline-go = Go
timeline-empty-title = No messages yet
timeline-empty-text = As soon as somebody writes in the group, it appears here.
timeline-new = New messages
message-link = Link to this message
export = Export
tools = Tools
media-wall = Photos and files
media-empty-title = No photos or files yet
media-empty-text = Photos, videos, voice messages and files of this chat appear here.
media-more = Earlier ones

permalink-title = Message
permalink-edited = This message was edited on { $date }, { $time }. Its present text is shown.
permalink-gone = This message was unsent or deleted. Its text is no longer kept.
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
search-none = Try fewer or other words, or remove a filter.
search-unknown = Nobody here is called { $name }.
search-more = More results
search-bad = This search is not understood. Check the quotation marks and dates.
search-away = Search is not available right now. Please try again in a moment.
search-start-text = Search everything that was said in this chat.

## Dates
weekday-1 = Mon
weekday-2 = Tue
weekday-3 = Wed
weekday-4 = Thu
weekday-5 = Fri
weekday-6 = Sat
weekday-7 = Sun
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
date-year = { $day } { $month } { $year }
date-short = { $day } { $month }
date-today = Today
date-yesterday = Yesterday

## Tabs and forms
tabs = Pages of this chat
tab-messages = Messages
tab-search = Search
tab-media = Photos
tab-assistant = Assistant
cancel = Cancel
done-saved = Saved.
done-added = Added.
done-deleted = Deleted.
form-invalid = Something in this form is not valid. Please check it.
form-stale = Somebody else changed this in the meantime. Nothing was overwritten: compare with what is there now, then save again.
form-conflict = This is not possible at the moment, because something changed. Reload the page to see what is there now.
form-plan-required = Answering by meaning needs the plan “pro”.
form-rules-too-large = All rules of this chat together would be too long. Please shorten or delete some.
form-too-many-keys = You have as many keys as you can have. Delete one first.
form-busy = That did not work just now. Nothing is lost: please send it again.
form-limit = Up to { $max } characters.
defect-empty = Please fill this in.
defect-too-long = This is too long: up to { $max } characters.
defect-too-many-keywords = Too many keywords: up to { $max }.
defect-no-keyword = Please add at least one keyword.
defect-other = Please check this.
error-old-title = Please open the page again
error-old-text = You have signed in again since this page was opened. Go back, reload the page, and send it once more.
error-stale-title = This has changed in the meantime
error-stale-text = Somebody else changed it while your page was open. Nothing was overwritten. Go back and reload the page.

## Pages of the assistant
assistant-sections = Pages of the assistant
assistant-overview = Overview
assistant-rules = Rules
assistant-try = Try it
assistant-switch = Before you switch
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
overview-on = on
overview-off = off
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
overview-mode = How it recognizes a question
qa-mode-keyword = By keyword
qa-mode-keyword-hint = Somebody writes one of the keywords exactly.
qa-mode-fuzzy = Tolerant
qa-mode-fuzzy-hint = Typos, word order and small changes do not matter.
qa-mode-semantic = By meaning
qa-mode-semantic-hint = The same question in other words is enough.
qa-mode-semantic-pro = The same question in other words is enough. Needs the plan “pro”.
overview-replaced = The present plan does not include answers by meaning: the bot works in the mode “{ $mode }”.
overview-match = Keywords count when
overview-match-exact = They are the whole message
overview-match-exact-hint = “hours” answers “hours?”, but not “What are your hours?”.
overview-match-contains = They are in the message
overview-match-contains-hint = “hours” also answers “What are your hours?”.
overview-compare = See what would change
overview-compare-hint = Shows which messages of the last 30 days would have got another answer. Nothing is saved by looking.
overview-quiet = How much it talks
overview-cooldown = After an answer, the same rule rests for
overview-cooldown-hint = So that it does not repeat itself in a lively chat.
overview-cooldown-none = No time
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
overview-scope = The reply when nothing matches is sent
overview-scope-addressed = Only when the bot is meant
overview-scope-addressed-hint = Somebody mentions it or replies to it.
overview-scope-always = To every message without an answer
overview-scope-always-hint = Useful only in a chat with nothing but questions.
overview-save = Save

## Assistant: past messages
history-running = Reading the messages …
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
    [0] { $scanned } messages since { $date } were examined. All of them would get the same answer.
    [one] { $scanned } messages since { $date } were examined. 1 would get another answer.
   *[other] { $scanned } messages since { $date } were examined. { $changed } would get another answer.
}
switch-new = New answers
switch-lost = Lost answers
switch-other = Other answers
switch-same = Same answers
switch-listed = Messages, the different ones first
switch-nothing = There is no such message.
switch-how = Compared are answers by rules, by the words of the group rules and by the link word. Pauses after an answer and the reply when nothing matches are left out.
switch-with-rule = With this rule
switch-no-answer = No answer
switch-source-rules = Group rules
switch-source-link = Link
switch-source-rule = Rule
switch-button = Switch to “{ $mode }”
switch-button-match = Switch
switch-stay = Leave it as it is
switch-today = Now
unanswered-lead = Questions that people asked and no rule answers.
unanswered-period = Period
unanswered-days = { $count ->
    [365] 1 year
   *[other] { $count } days
}
unanswered-told = { $questions ->
    [one] 1 question in { $scanned } messages since { $date }, the most frequent first.
   *[other] { $questions } questions in { $scanned } messages since { $date }, the most frequent first.
}
unanswered-nothing-title = No messages in this time
unanswered-nothing-text = As soon as people write in the chat, their questions appear here. The bot needs a backup of the chat for that.
unanswered-none-title = Everything is answered
unanswered-none-text = No question of this time is left without a rule. Look again after a while, or choose a longer time.
unanswered-asked = { $count ->
    [one] Asked once, { $when }
   *[other] Asked { $count } times, last { $when }
}
unanswered-make = Make a rule of it
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
unanswered-more-rules = There are more rules. Search for a word of the one you mean.

## Assistant: texts
texts-on = On
texts-welcome = Welcome
texts-welcome-text = Text
texts-welcome-hint = Replaced by the name of the new member and of the group:
texts-preview = Preview
texts-preview-none = Write a text to see it here.
texts-show-preview = Show the preview
texts-now = There now:
texts-rules = Group rules
texts-rules-text = Text
texts-rules-words = Words that show the group rules
texts-words-hint = One word or phrase a line.
texts-no-match = When nothing matches
texts-no-match-text = Reply
texts-no-match-hint = Empty: the bot says nothing.
texts-no-match-scope = Choose when it is sent
texts-link = Link to this page
texts-link-hint = The bot answers with the address of this chat's page when somebody writes one of the words. Only members can open it.
texts-link-address = It answers:
texts-link-none = This server has no public address yet. Whoever runs it sets api.base_url.
texts-link-words = Words, such as “dashboard”
