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

## Rules of the assistant
done-imported = Imported.
error-large-title = This is too much at once
error-large-text = Send it in several parts. Nothing was changed.
rule-missing-title = This rule is not here
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
rules-sort-changed = Newest change
rules-show = Show
rules-none-title = No rule found
rules-none-text = Try fewer or other words.
rules-all = Show all
rules-caption = Rules of this chat
rules-texts = Question and answer
rules-use = Use
rules-actions = Edit
rules-edit = Edit
rules-hits = { $count ->
    [0] Not used yet
    [one] 1 answer
   *[other] { $count } answers
}
rules-previous = Previous page
rules-next = Next page
rules-warning-first = “{ $word }” is in several rules. This one answers, because it is the oldest.
rules-warning-later = “{ $word }” is also in an older rule, which answers instead.
rules-warning-trigger = “{ $word }” shows the group rules, so this rule does not answer it.
rule-new-title = Add a rule
rule-edit-title = Edit rule
rule-keywords = Keywords
rule-keywords-lines = One keyword a line.
rule-keywords-chips = Enter or a comma adds a keyword.
rule-keywords-hint = Up to { $count } keywords of { $max } characters.
rule-keyword-remove = Remove keyword
rule-keyword-added = Added
rule-keyword-removed = Removed
rule-question = Question
rule-question-hint = Optional. Helps the bot to find the rule when words differ.
rule-answer = Answer
rule-answer-hint = The bot writes this into the chat.
rule-save = Save
rule-delete = Delete rule
rule-delete-title = Delete this rule?
rule-delete-text = The bot will no longer answer “{ $word }” with it. This cannot be undone.
rule-present = What is there now
rule-gone = Somebody else deleted this rule in the meantime. If you save, it is added again.
import-title = Import rules
import-text = Rules from a spreadsheet: you see what will happen before anything changes. Rules that are not in the table stay.
import-file = Choose a file (CSV)
import-paste = Or paste the table here
import-hint = Columns: keywords, question, answer. Several keywords go into one cell, between commas or on lines of their own. Easiest: export, edit, import.
import-check = Check
import-preview = What the import does
import-empty = There is no rule in this table.
import-too-many = A chat can have { $count } rules at most.
import-added = { $count } new
import-changed = { $count } changed
import-same = { $count } as before
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
import-row-same = As before
import-row-refused = Not possible
import-line = Line { $line }
import-repeated = Line { $line } is about the same rule.
try-label = What somebody writes
try-hint = Write as people do in the group. Nothing is sent.
try-submit = Try it
try-now = Now
try-now-rule = A rule answers.
try-now-group-rules = The bot shows the group rules.
try-now-no-match = No rule answers. The bot sends the reply for that.
try-now-off = The assistant is switched off: the bot says nothing.
try-now-silent = No rule answers: the bot says nothing.
try-rule = To the rule
try-modes = In each mode
try-mode-keyword = Keyword
try-mode-keyword-text = Answers when the keyword is there word for word.
try-mode-fuzzy = Tolerant
try-mode-fuzzy-text = Also understands typing mistakes and another order of words.
try-mode-semantic = By meaning
try-mode-semantic-text = Also understands other words with the same meaning.
try-present = In use
try-needs-plan = Needs the plan “pro”
try-answers = Answers.
try-silent = Says nothing.
try-score = Likeness
try-reason-trigger = “{ $word }” is a trigger word of the group rules, which come before all rules.
try-reason-keyword = It has the keyword “{ $word }”.
try-reason-near = It is { $score }% like this rule; { $least }% are enough.
try-reason-far = The best rule is { $score }% like it; { $least }% would be needed.
try-reason-close = Two rules are about equally like it, and the bot does not guess.
try-reason-no-keyword = No keyword is there.
try-reason-nothing = No rule has anything in common with it.
try-note = In the chat, a rule may pause between two answers; a trial does not count that. Welcome texts are for new members only.
