skip-to-content = 跳到主要內容
languages = 語言
nav-home = 聊天室
sign-out = 登出
close = 關閉
go-back = 返回

## Sign-in
sign-in-title = 登入
sign-in-text = 閱讀並搜尋您所在群組的訊息。
sign-in-button = 登入
sign-in-line = 使用 LINE 登入
sign-in-off-title = 尚未設定登入功能
sign-in-off-text = 這台伺服器還沒有登入功能，管理者只需幾分鐘就能完成設定。
demo-people-title = 選擇要用誰的身分看看
demo-people-text = 名單上的人都是虛構的。選一個人，看看他眼中的聊天室。
demo-role-owner = 群組擁有者
demo-role-member = 群組成員
demo-role-stranger = 不在群組中
problem-other-browser-title = 無法在這個瀏覽器完成登入
problem-other-browser-text = 登入時換了瀏覽器，或是花了太久時間。使用無痕模式，或 LINE 開啟自己的瀏覽器時，常會發生這種情況。
problem-other-browser-step-private = 關閉無痕（私密）瀏覽。
problem-other-browser-step-browser = 用平常使用的瀏覽器（例如 Safari 或 Chrome）開啟這個頁面。
problem-other-browser-step-again = 然後在那裡再登入一次。
problem-denied-title = 您沒有登入
problem-denied-text = 登入已取消。您隨時可以再試一次。
problem-unconfirmed-title = 無法確認登入
problem-unconfirmed-text = 請再登入一次。如果還是不行，請告訴管理這台伺服器的人。
problem-unavailable-title = 登入服務沒有回應
problem-unavailable-text = 請過幾分鐘再試。

## Errors
missing-title = 無法開啟
missing-text = 這個聊天室不存在，或是您無權閱讀。只有群組裡的人可以看到群組的訊息。
missing-hint = 您在群組裡嗎？請先在群組裡傳一則訊息，再重新開啟這個頁面。
message-missing-title = 找不到這則訊息
message-missing-text = 這則訊息沒有備份，或是之後被刪除了。
error-title = 發生錯誤
error-text = 請稍後再試一次。
error-busy-title = 服務忙碌中
error-input-title = 這個網址不正確
error-input-text = 網址中有無法辨識的內容，也許連結被截斷了。

## Home
home-title = 聊天室
home-attention = 需要您處理
home-empty-title = 還沒有聊天室
home-empty-text = 把機器人邀請到 LINE 群組，並在群組裡傳一則訊息，群組就會出現在這裡。
home-more = 更多聊天室
usage-label = 儲存空間
usage-used = 已使用 { $quota } 的 { $percent }%
chat-members = { $count } 位成員
chat-messages = { $count ->
    [0] 沒有備份的訊息
   *[other] 已備份 { $count } 則訊息
}
chat-nameless = 未命名的聊天室
chat-left = 機器人已離開
chat-paused = 已暫停
attention-paused = 儲存空間已滿，新訊息不會備份。
attention-unsubscribed = 沒有人備份這個聊天室。
attention-left = 機器人已經不在這個聊天室。
attention-media = 有 { $count } 個檔案無法備份。
attention-webhook-disabled = 這個 webhook 已停用。
attention-webhook-failing = 這個 webhook 從 { $date }起沒有回應。

## Messages
kind-text = 文字
kind-image = 照片
kind-video = 影片
kind-audio = 語音訊息
kind-file = 檔案
kind-location = 位置
kind-sticker = 貼圖
kind-other = 其他
someone = 某人
everyone-former = 未知的傳送者
bot-name = 機器人
mark-edited = 已編輯
mark-edited-at = 於 { $date } { $time } 編輯
message-unsent = 這則訊息已收回
message-erased = 這則訊息已刪除
quote-missing = 沒有備份的訊息
media-pending = 正在下載
media-skipped = 未備份：儲存空間已滿
media-failed = 無法下載
media-expired = 下載時平台上已經沒有這個檔案
media-erased = 已刪除
media-download = 下載
media-download-named = 下載 { $name }
image-of = { $name } 傳的照片
video-of = { $name } 傳的影片
audio-of = { $name } 的語音訊息
map-open = 在地圖中開啟

gap-quota = 備份暫停：儲存空間已滿
gap-bot_removed = 機器人不在聊天室
gap-unsubscribed = 沒有人備份這個聊天室
gap-outage = 服務中斷
gap-until = { $from } – { $to }
gap-since = 從 { $from } 起
gap-skipped = 有 { $count } 則訊息沒有備份

timeline-label = 訊息
timeline-older = 較早的訊息
timeline-newer = 較新的訊息
timeline-begin = 備份從這裡開始
timeline-newest = 跳到最新訊息
timeline-date = 前往日期
timeline-go = 前往
timeline-empty-title = 還沒有訊息
timeline-empty-text = 有人在群組裡傳訊息後，就會出現在這裡。
timeline-new = 有新訊息
message-link = 這則訊息的連結
export = 匯出
tools = 工具
media-wall = 照片和檔案
media-empty-title = 還沒有照片或檔案
media-empty-text = 這個聊天室的照片、影片、語音訊息和檔案會出現在這裡。
media-more = 較早的項目

permalink-title = 訊息
permalink-edited = 這則訊息已於 { $date } { $time } 編輯，以下是目前的內容。
permalink-gone = 這則訊息已收回或刪除，內容不再保留。
permalink-show = 在對話中顯示

viewer-label = 照片檢視器
viewer-previous = 上一張照片
viewer-next = 下一張照片

## Search
search = 搜尋
search-label = 搜尋訊息
search-hint = 關鍵字、"完整句子"、-排除、from:名字
search-submit = 搜尋
search-type = 類型
search-any-type = 所有類型
search-sender = 傳送者
search-anyone = 任何人
search-from = 開始日期
search-to = 結束日期（不含）
search-sort = 排序
search-relevance = 最相關
search-newest = 最新優先
search-filters = 篩選條件
search-remove = 移除篩選條件：{ $name }
search-before-date = { $date } 以前
search-after-date = { $date } 以後
search-results = { $count ->
    [0] 找不到符合的訊息
   *[other] 找到 { $count } 則訊息
}
search-none = 請減少或更換關鍵字，或移除篩選條件。
search-unknown = 這裡沒有名叫 { $name } 的人。
search-more = 更多結果
search-bad = 看不懂這個搜尋條件，請檢查引號和日期。
search-away = 目前無法搜尋，請稍後再試。
search-start-text = 搜尋這個聊天室裡說過的一切。

## Dates
weekday-1 = 一
weekday-2 = 二
weekday-3 = 三
weekday-4 = 四
weekday-5 = 五
weekday-6 = 六
weekday-7 = 日
month-1 = 1
month-2 = 2
month-3 = 3
month-4 = 4
month-5 = 5
month-6 = 6
month-7 = 7
month-8 = 8
month-9 = 9
month-10 = 10
month-11 = 11
month-12 = 12
date-long = { $year }年{ $month }月{ $day }日（{ $weekday }）
date-year = { $year }年{ $month }月{ $day }日
date-short = { $month }月{ $day }日
date-today = 今天
date-yesterday = 昨天

## Opting out

gap-opted_out = 有成員選擇不保存自己的訊息
