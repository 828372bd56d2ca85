## Consent of a person to an app that reads for them
consent-title = 要允許「{ $name }」讀取您的聊天室嗎？
consent-person = 您目前以 { $person } 的身分登入。
consent-asks = 「{ $name }」將可以：
consent-may-messages = 讀取和搜尋訊息
consent-may-media = 查看照片和開啟檔案
consent-may-members = 查看聊天室的成員
consent-where = 可讀取哪些聊天室？
consent-all = 我能閱讀的所有聊天室，包括日後新增的
consent-chosen = 只限下列聊天室：
consent-choose = 請至少選擇一個聊天室，或選擇所有聊天室。
consent-later = 它無法變更任何內容，您也可以隨時取消授權。
consent-place = 名稱由應用程式自行提供。允許後，您會被帶往「{ $place }」。如果您不是從那裡過來的，請不要允許。
consent-place-own = 您自己裝置上的應用程式
consent-place-scheme = 開啟 { $scheme } 連結的應用程式
consent-allow = 允許
consent-deny = 不允許
consent-unnamed = 未命名的應用程式

## Apps that a person allowed to read
consents-title = { $person } 允許讀取的應用程式
consents-all = 所有聊天室
consents-some = { $count } 個聊天室
consents-row = { $reach }，{ $date }起允許
consents-none = 無

## Request of an app that is refused
consent-refused-title = 「{ $name }」無法讀取您的聊天室
consent-refused-text = 它的請求無效（{ $why }），沒有授予任何權限。
consent-refused-report = 回報給應用程式
consent-refused-place = 名稱由應用程式自行提供。連結會帶您前往「{ $place }」；如果您不是從那裡過來的，請不要開啟。
