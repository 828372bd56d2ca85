## Page of an export for reading
page-zone = Times in { $zone }
page-without-files = Without photos, videos and files: an export into a folder or a .zip file has them.
page-earlier = an earlier message
page-earlier-texts = Earlier texts
page-count = { $count ->
    [one] 1 message
   *[other] { $count } messages
}
