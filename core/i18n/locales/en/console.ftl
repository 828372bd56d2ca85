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

## Opting out

gap-opted_out = Messages of people who asked not to be kept
