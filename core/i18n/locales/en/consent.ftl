## Consent of a person to an app that reads for them
consent-title = Allow “{ $name }” to read your chats?
consent-person = You are signed in as { $person }.
consent-asks = “{ $name }” would be able to:
consent-may-messages = read and search messages
consent-may-media = see photos and open files
consent-may-members = see who is in a chat
consent-where = In which chats?
consent-all = All chats that I may read, including later ones
consent-chosen = Only these:
consent-choose = Choose at least one chat, or all chats.
consent-later = It cannot change anything, and you can remove its access at any time.
consent-place = The app chose its name itself. If you allow this, you are sent to { $place }. Allow it only if that is where you came from.
consent-place-own = an app on your own device
consent-place-scheme = the app that opens links with { $scheme }
consent-allow = Allow
consent-deny = Don’t allow
consent-unnamed = An unnamed app

## Apps that a person allowed to read
consents-title = Apps that may read for { $person }
consents-all = all chats
consents-some = { $count ->
    [one] 1 chat
   *[other] { $count } chats
}
consents-row = { $reach }, allowed since { $date }
consents-none = None

## Request of an app that is refused
consent-refused-title = “{ $name }” cannot read your chats
consent-refused-text = Its request is not valid ({ $why }). Nothing was allowed.
consent-refused-report = Report this to the app
consent-refused-place = The app chose its name itself. The link leads to { $place }; follow it only if that is where you came from.
