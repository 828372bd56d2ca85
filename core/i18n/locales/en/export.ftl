## Page of an export for reading
page-zone = Times in { $zone }
page-without-files = Photos, videos and files are not in this file.
page-earlier = an earlier message
page-earlier-texts = Earlier texts
page-count = { $count ->
    [one] 1 message
   *[other] { $count } messages
}
