## The page of operators about the set-up of the bots

operator-line-title = LINE 設定
operator-line-text = LINE 對每個機器人的回覆，以及只有您能在後台看到的項目。
operator-line-checked = 查詢時間：{ $time }。
operator-line-fix = 設定 webhook 網址
operator-line-fix-text = 之後 LINE 會把這個機器人的 webhook 送到 { $address }。
operator-line-again = 再檢查一次
operator-line-unset = Webhook 網址沒有變更。
operator-line-is-wrong = 錯誤
operator-line-is-unanswered = 無回應
operator-line-is-warning = 警告
operator-line-is-look = 請確認
operator-line-is-fine = 正常

## Findings about the set-up of a bot

line-token-works = LINE 接受這個存取權杖，它屬於機器人「{ $name }」。
line-token-missing = 尚未設定存取權杖，chatkeep 無法回覆，也無法向 LINE 查詢其他項目。
line-token-refused = LINE 拒絕這個存取權杖：輸入錯誤、已過期或已撤銷。
line-token-expires = 存取權杖將在 { $hours } 小時後過期。
line-token-unverified = LINE 不提供這種存取權杖所屬的頻道，因此無法得知頻道密鑰是否屬於同一個頻道。
line-secret-fits = 頻道密鑰與存取權杖屬於同一個頻道。
line-secret-missing = 尚未設定頻道密鑰，無法接受任何 webhook。
line-secret-other = 頻道密鑰不屬於存取權杖所屬的頻道 { $channel }。
line-secret-swapped = 頻道密鑰不屬於存取權杖的頻道，機器人「{ $bot }」的密鑰才是：兩者弄混了。
line-same-channel = 機器人「{ $bot }」的存取權杖屬於同一個頻道：兩個機器人不能共用一個頻道。
line-bot-answers = 帳號的聊天功能已關閉，由機器人回覆。
line-people-answer = 帳號的聊天功能已開啟：除了機器人，帳號的管理人員也可以手動回覆，而且訊息不會自動標為已讀。
line-clock-right = 這台機器的時鐘與 LINE 一致。
line-clock-ahead = 這台機器的時鐘比 LINE 快 { $seconds } 秒。
line-clock-behind = 這台機器的時鐘比 LINE 慢 { $seconds } 秒。
line-no-public-address = 尚未設定 chatkeep 的公開網址，無法得知正確的 webhook 網址。
line-not-https = LINE 只會把 webhook 送到 HTTPS 網址，而 { $ours } 不是。
line-webhook-works = LINE 把 webhook 送到 { $address }，測試 webhook 已被接受。
line-webhook-set = Webhook 網址現在是 { $address }。
line-webhook-unset = LINE 上沒有設定 webhook 網址，應設為 { $ours }。
line-webhook-nowhere = LINE 上沒有設定 webhook 網址。
line-webhook-elsewhere = LINE 把 webhook 送到 { $found }，應改為 { $ours }。
line-webhook-of-other = LINE 把這個機器人的 webhook 送到機器人「{ $bot }」的網址，應改為 { $ours }。
line-webhook-off = 「Use webhook」已關閉，LINE 不會送出 webhook。
line-webhook-unreachable = LINE 無法連線到 { $address }：{ $reason }。
line-webhook-unsigned = 測試 webhook 在 { $address } 被拒絕（狀態碼 401）：LINE 用來簽章的頻道密鑰與設定的不同。
line-webhook-refused = 測試 webhook 在 { $address } 得到狀態碼 { $status }，必須是 200。
line-quota-left = 本月 { $limit } 則訊息中已傳送 { $used } 則。
line-quota-nearly-used = 本月 { $limit } 則訊息中已經傳送 { $used } 則，即將用完。
line-quota-unlimited = 本月已傳送 { $used } 則訊息，沒有上限。
line-quota-used-up = 本月 { $limit } 則訊息已全部用完，LINE 在下個月之前拒絕再傳送，只有回覆仍可使用。
line-ask-redelivery = 「Webhook redelivery」開啟了嗎？否則 chatkeep 停機時的訊息會遺失。
line-ask-replies = 自動回應訊息與加入好友的歡迎訊息關閉了嗎？否則 LINE 會和機器人同時回覆。
line-ask-groups = 允許帳號加入群組與多人聊天室嗎？否則沒有人能邀請它。
line-unanswered = { $subject }：LINE 沒有回應（{ $why }）。

## Questions that LINE did not answer, and why

line-about-account = 機器人的帳號
line-about-token = 存取權杖的頻道
line-about-secret = 密鑰的頻道
line-about-webhook = Webhook 網址
line-about-webhook-test = 測試 webhook
line-about-setting-webhook = 設定 webhook 網址
line-about-quota = 本月訊息數
line-why-unreachable = 無法連線
line-why-hasty = 請求過多，請稍後再試
line-why-token = 存取權杖被拒絕
line-why-status = 狀態碼 { $status }
line-why-unknown = 沒有有效的回應

## Places where findings are mended

line-place-token = LINE Developers Console → Messaging API → Channel access token，然後是 { $setting }，或 `chatkeep config show` 顯示的設定位置
line-place-secret = LINE Developers Console → Basic settings → Channel secret，然後是 { $setting }，或 `chatkeep config show` 顯示的設定位置
line-place-settings = chatkeep.toml 的 [[line]] 區段
line-place-webhook = LINE Developers Console → Messaging API → Webhook settings
line-place-responses = LINE 官方帳號管理後台 → 設定 → 回應設定
line-place-groups = LINE 官方帳號管理後台 → 設定 → 帳號設定 → 功能切換
line-place-plan = LINE 官方帳號管理後台 → 設定 → 帳務專區
line-place-clock = 這台機器的時間同步（NTP）
line-place-base-url = 設定 CHATKEEP_API_BASE_URL
line-place-network = chatkeep 前面的代理伺服器、防火牆與憑證，以及具有 ingress 角色的處理程序是否在執行
