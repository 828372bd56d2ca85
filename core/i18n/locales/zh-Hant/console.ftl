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
sign-in-off-text = 這台伺服器尚未設定登入功能，管理員只需幾分鐘就能完成設定。
demo-people-title = 要用誰的身分看看？
demo-people-text = 名單上的人都是虛構的。選一個人，看看他眼中的聊天室。
demo-role-owner = 群組擁有者
demo-role-member = 群組成員
demo-role-stranger = 不在群組中
problem-other-browser-title = 無法在這個瀏覽器完成登入
problem-other-browser-text = 登入時換了瀏覽器，或是花了太久時間。使用無痕模式，或在 LINE 的內建瀏覽器開啟時，常會發生這種情況。
problem-other-browser-step-private = 請關閉無痕（私密）瀏覽模式。
problem-other-browser-step-browser = 用平常使用的瀏覽器（例如 Safari 或 Chrome）開啟這個頁面。
problem-other-browser-step-again = 再重新登入一次。
problem-denied-title = 尚未登入
problem-denied-text = 登入已取消。您隨時可以再試一次。
problem-unconfirmed-title = 無法確認登入
problem-unconfirmed-text = 請再登入一次。如果還是不行，請聯絡伺服器管理員。
problem-unavailable-title = 登入服務沒有回應
problem-unavailable-text = 請過幾分鐘再試。

## Errors
missing-title = 無法開啟這個頁面
missing-text = 這個聊天室不存在，或是您無權閱讀。只有群組裡的人可以看到群組的訊息。
missing-hint = 您在群組裡嗎？請先在群組裡傳一則訊息，再重新開啟這個頁面。
message-missing-title = 找不到這則訊息
message-missing-text = 這則訊息沒有備份，或已被刪除。
error-title = 發生錯誤
error-text = 請稍後再試一次。
error-busy-title = 系統忙碌中
error-input-title = 連結不正確
error-input-text = 網址中有無法辨識的內容，連結可能不完整。

## Home
home-title = 聊天室
home-attention = 需要您留意
home-empty-title = 還沒有聊天室
home-empty-text = 把機器人邀請到 LINE 群組，並在群組裡傳一則訊息，群組就會出現在這裡。
home-more = 更多聊天室
usage-label = 儲存空間
usage-used = 已使用 { $quota } 的 { $percent }%
chat-members = { $count } 位成員
chat-messages = { $count ->
    [0] 尚無備份訊息
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
kind-location = 位置資訊
kind-sticker = 貼圖
kind-other = 其他
name-unknown = 未知的使用者
sender-unknown = 未知的傳送者
bot-name = 機器人
mark-edited = 已編輯
mark-edited-at = 於 { $date } { $time } 編輯
message-unsent = 這則訊息已收回
message-erased = 這則訊息已刪除
quote-missing = 這則訊息沒有備份
media-pending = 檔案備份中
media-skipped = 未備份：儲存空間已滿
media-failed = 檔案備份失敗
media-expired = 備份前檔案已超過保存期限
media-erased = 已刪除
media-download = 下載
media-download-named = 下載 { $name }
image-of = { $name } 傳的照片
video-of = { $name } 傳的影片
audio-of = { $name } 傳的語音訊息
map-open = 在地圖中開啟

gap-quota = 備份暫停：儲存空間已滿
gap-bot_removed = 機器人不在聊天室中
gap-unsubscribed = 沒有人備份這個聊天室
gap-outage = 服務中斷
gap-until = { $from }～{ $to }
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
timeline-empty-text = 有人在群組裡傳訊息後，訊息就會顯示在這裡。
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
permalink-gone = 這則訊息已收回或刪除，內容已不再保留。
permalink-show = 在對話中顯示

viewer-label = 照片檢視器
viewer-previous = 上一張照片
viewer-next = 下一張照片

## Search
search = 搜尋
search-label = 搜尋訊息
search-hint = 關鍵字、"完整詞句"、-排除、from:名字
search-submit = 搜尋
search-type = 類型
search-any-type = 所有類型
search-sender = 傳送者
search-anyone = 任何人
search-from = 開始日期
search-to = 結束日期（不含）
search-sort = 排序
search-relevance = 最相關優先
search-newest = 由新到舊
search-filters = 篩選條件
search-remove = 移除篩選條件：{ $name }
search-before-date = { $date } 之前
search-after-date = { $date } 起
search-results = { $count ->
    [0] 找不到符合的訊息
   *[other] 找到 { $count } 則訊息
}
search-none = 請減少或更換關鍵字，或移除篩選條件。
search-unknown = 這裡沒有名叫 { $name } 的人。
search-more = 更多結果
search-bad = 看不懂這個搜尋條件，請檢查引號和日期。
search-away = 目前無法搜尋，請稍後再試。
search-start-text = 輸入關鍵字，搜尋這個聊天室的所有訊息。

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

## Tabs and forms
tabs = 這個聊天室的頁面
tab-messages = 訊息
tab-search = 搜尋
tab-media = 照片
tab-assistant = 小幫手
cancel = 取消
done-saved = 已儲存。
done-added = 已新增。
done-deleted = 已刪除。
form-invalid = 有些內容不正確，請檢查一下。
form-stale = 剛才有其他人改過了。沒有覆蓋任何內容：請先對照目前的內容，再儲存一次。
form-conflict = 內容有變動，目前無法這麼做。請重新整理頁面看看最新狀況。
form-plan-required = 要依照意思回答，需要「pro」方案。
form-rules-too-large = 這個聊天室的規則加起來太長了，請縮短或刪除一些。
form-too-many-keys = 金鑰數量已達上限，請先刪除一組。
form-busy = 剛才沒有成功。內容都還在，請再送出一次。
form-limit = 最多 { $max } 個字。
defect-empty = 請填寫這一欄。
defect-too-long = 太長了，最多 { $max } 個字。
defect-too-many-keywords = 關鍵字太多了，最多 { $max } 個。
defect-no-keyword = 請至少加入一個關鍵字。
defect-other = 請檢查這一欄。
error-old-title = 請重新開啟這個頁面
error-old-text = 開啟這個頁面之後，您又重新登入過。請返回並重新整理頁面，再送出一次。
error-stale-title = 內容已經變了
error-stale-text = 您開著頁面的時候，有其他人改過了。沒有覆蓋任何內容。請返回並重新整理頁面。

## People
tab-people = 成員
people-parts = 顯示哪些人
people-present = 在聊天室中
people-guests = 沒有權限
people-left = 已離開
people-me = 您
people-more = 更多成員
people-empty-title = 沒有人
people-empty-text = 有人加入群組或在群組傳訊息後，就會顯示在這裡。
person-since = { $date } 加入
person-left = { $date } 離開
person-role = 身分
person-missing-title = 找不到這個人
person-missing-text = 就機器人所知，這個人不曾在這個聊天室裡。
role-owner = 擁有者
role-owner-hint = 決定備份、身分和刪除。
role-admin = 管理員
role-admin-hint = 還可以設定小幫手。
role-member = 成員
role-member-hint = 可以閱讀和搜尋訊息。
role-guest = 沒有權限
role-guest-hint = 看不到這裡的任何內容。
person-erase-title = 清除這個人的訊息
person-erase-text = 這個人在這個聊天室傳過的所有內容，包括照片和檔案，都會從備份中永久清除，無法復原。LINE 裡的訊息不受影響。
person-erase-label = 請輸入名字以確認：
person-erase-hint = 不分大小寫和空格。
person-erase-mistyped = 名字不正確，沒有清除任何內容。
person-erase-button = 永久清除
save = 儲存

## Settings of a chat
tab-settings = 設定
settings-backup = 備份
settings-subscribed = 您正在備份這個聊天室：新訊息會保存下來，並計入您的儲存空間。
settings-unsubscribed = 您沒有備份這個聊天室。開始備份後，新訊息會保存下來，並計入您的儲存空間。
settings-subscribe = 備份這個聊天室
unsubscribe-title = 要停止備份這個聊天室嗎？
unsubscribe-text = 之後不再為您保存新訊息，已備份的內容會保留。如果沒有其他人備份這個聊天室，新訊息就完全不會保存。
unsubscribe-button = 停止備份
coverage-title = 備份範圍
coverage-since = 開始備份
coverage-never = 從未備份
coverage-first = 最早的訊息
coverage-last = 最新的訊息
coverage-removed = 因過期而刪除此日期之前的訊息
coverage-files = { $count } 個檔案
coverage-gaps = 沒有備份的期間
coverage-complete = 從那時起沒有缺漏。
settings-zone = 時區
settings-zone-label = 這個聊天室以哪裡的時間換日
settings-zone-hint = 留空則使用伺服器的時區：
settings-zone-unknown = 沒有這個時區。請從清單中選擇，例如 Asia/Taipei。
settings-retention = 自動刪除舊訊息
settings-days-label = 訊息保留幾天
settings-days-hint = 留空表示永久保留。
settings-days-invalid = 請輸入 1 到 36500 的整數，或留空。
retention-title = 要自動刪除舊訊息嗎？
retention-text = { $count ->
    [0] 訊息會在 { $days } 天後刪除。目前沒有這麼舊的訊息。
   *[other] 訊息會在 { $days } 天後刪除。目前有 { $count } 則訊息已超過，一天內會永久刪除。
}
retention-button = 自動刪除
delete-title = 刪除某日之前的訊息
delete-text = { $date } 之前的 { $count } 則訊息（{ $size }）會永久刪除，無法復原。
delete-button = 永久刪除
settings-before-label = 刪除這一天之前的所有訊息
settings-before-hint = 刪除之前會先告訴您有多少。
settings-before-button = 計算訊息數量
settings-before-invalid = 請選擇日期。
settings-before-nothing = 這個日期之前沒有訊息。
job-running-title = 正在刪除…
job-running-text = 已刪除 { $total } 則中的 { $done } 則。您可以離開這個頁面，刪除會繼續進行。
job-done-title = 已刪除
job-done-text = { $done ->
    [0] 沒有需要刪除的訊息。
   *[other] 已刪除 { $done } 則訊息，釋出 { $size }。
}
job-failed-title = 無法完成
job-failed-text = 已刪除 { $total } 則中的 { $done } 則，請再試一次。


## Pages of the assistant
assistant-sections = 小幫手的頁面
assistant-overview = 總覽
assistant-rules = 規則
assistant-try = 試試看
assistant-switch = 切換之前
assistant-unanswered = 沒人回答
assistant-texts = 文字

## Assistant: overview
attention-unanswered = 最近 30 天有 { $count } 個問題還沒有答案。
form-now = 目前：{ $value }
overview-card-rules = 規則
overview-card-answers = 30 天內的回答
overview-card-unanswered = 未回答的問題
overview-on = 開啟
overview-off = 關閉
overview-enabled = 機器人在這個聊天室回答
overview-enabled-hint = 關閉時，機器人完全不會發言。
overview-parts = 要做的事
overview-qa = 問答
overview-qa-hint = 依照您的規則回答問題。
overview-welcome = 歡迎訊息
overview-welcome-hint = 有人加入群組時打招呼。
overview-group-rules = 群組規則
overview-group-rules-hint = 有人傳送觸發詞時，顯示群組規則。
overview-to-texts = 撰寫歡迎訊息和群組規則
overview-mode = 如何辨識問題
qa-mode-keyword = 關鍵字
qa-mode-keyword-hint = 訊息要與關鍵字完全相同。
qa-mode-fuzzy = 寬鬆
qa-mode-fuzzy-hint = 錯字、順序不同或小幅改寫都沒關係。
qa-mode-semantic = 語意
qa-mode-semantic-hint = 換個說法問同一件事也會回答。
qa-mode-semantic-pro = 換個說法問同一件事也會回答。需要「pro」方案。
overview-replaced = 目前的方案不包含依照意思回答，機器人以「{ $mode }」模式運作。
overview-match = 關鍵字的比對方式
overview-match-exact = 整則訊息就是關鍵字
overview-match-exact-hint = 「營業時間」會回答「營業時間？」，但不會回答「請問營業時間」。
overview-match-contains = 訊息中包含關鍵字
overview-match-contains-hint = 「營業時間」也會回答「請問營業時間」。
overview-compare = 看看會有什麼不同
overview-compare-hint = 顯示最近 30 天哪些訊息會得到不同的回答。只是查看，不會儲存任何變更。
overview-quiet = 說話的頻率
overview-cooldown = 回答之後，同一條規則休息
overview-cooldown-hint = 避免在熱鬧的聊天室裡一再重複。
overview-cooldown-none = 不休息
overview-seconds = { $count } 秒
overview-minutes = { $count } 分鐘
overview-hours = { $count } 小時
overview-scope = 沒有符合的規則時，在以下情況回覆
overview-scope-addressed = 只有在問機器人時
overview-scope-addressed-hint = 有人提及機器人，或回覆它的訊息。
overview-scope-always = 所有沒有答案的訊息
overview-scope-always-hint = 只適合專門用來發問的聊天室。
overview-save = 儲存

## Assistant: past messages
history-running = 正在讀取訊息…
history-incomplete = 訊息很多，只檢查了最新的 { $count } 則。
pages-earlier = 上一頁
pages-later = 下一頁
switch-lead = 比較機器人在最近 30 天會怎麼回答。不會傳送任何訊息。
switch-mode = 比較對象
switch-compare = 比較
switch-told = { $changed ->
    [0] 檢查了 { $date }以來的 { $scanned } 則訊息，回答全都相同。
   *[other] 檢查了 { $date }以來的 { $scanned } 則訊息，其中 { $changed } 則的回答會不同。
}
switch-new = 新增的回答
switch-lost = 消失的回答
switch-other = 不同的回答
switch-same = 相同的回答
switch-listed = 訊息（有差異的優先）
switch-nothing = 沒有這樣的訊息。
switch-how = 比較的是規則、群組規則觸發詞和連結觸發詞的回答。不計入回答後的休息時間，以及沒有符合規則時的回覆。
switch-with-rule = 套用這條規則
switch-no-answer = 不回答
switch-source-rules = 群組規則
switch-source-link = 連結
switch-source-rule = 規則
switch-button = 切換為「{ $mode }」
switch-button-match = 切換
switch-stay = 維持現狀
switch-today = 目前
unanswered-lead = 大家問過、但沒有規則能回答的問題。
unanswered-period = 期間
unanswered-days = { $count ->
    [365] 1 年
   *[other] { $count } 天
}
unanswered-told = { $date }以來的 { $scanned } 則訊息中有 { $questions } 個問題，最常問的排在前面。
unanswered-nothing-title = 這段期間沒有訊息
unanswered-nothing-text = 有人在聊天室發問後，問題就會出現在這裡。聊天室必須有備份。
unanswered-none-title = 所有問題都有答案
unanswered-none-text = 這段期間的問題都有規則可以回答。過一陣子再來看看，或選擇更長的期間。
unanswered-asked = { $count ->
    [1] 問過 1 次（{ $when }）
   *[other] 問過 { $count } 次，最近一次：{ $when }
}
unanswered-make = 建立規則
unanswered-add = 加到現有規則
unanswered-nearest = 加到最相近的規則：
unanswered-examples = 顯示 { $count } 則訊息
unanswered-choose = 要由哪條規則回答？
unanswered-filter = 尋找規則
unanswered-filter-go = 尋找
unanswered-no-rule-title = 找不到規則
unanswered-back = 返回問題列表
unanswered-more-rules = 還有更多規則，請輸入規則中的字詞來尋找。

## Assistant: texts
texts-on = 開啟
texts-welcome = 歡迎訊息
texts-welcome-text = 內容
texts-welcome-hint = 會換成新成員的名字和群組名稱：
texts-preview = 預覽
texts-preview-none = 輸入內容後，就能在這裡預覽。
texts-show-preview = 顯示預覽
texts-now = 目前的內容：
texts-rules = 群組規則
texts-rules-text = 內容
texts-rules-words = 顯示群組規則的觸發詞
texts-words-hint = 每行一個詞。
texts-no-match = 沒有符合的規則時
texts-no-match-text = 回覆
texts-no-match-hint = 留空表示不回覆。
texts-no-match-scope = 選擇何時回覆
texts-link = 這個頁面的連結
texts-link-hint = 有人傳送觸發詞時，機器人會回覆這個聊天室頁面的網址。只有成員可以開啟。
texts-link-address = 回覆內容：
texts-link-none = 這台伺服器還沒有公開網址，請管理者設定 api.base_url。
texts-link-words = 觸發詞，例如「連結」

## Rules of the assistant
done-imported = 已匯入。
error-large-title = 一次太多了
error-large-text = 請分成幾次送出。沒有任何更動。
rule-missing-title = 找不到這條規則
rule-missing-text = 可能有人把它刪除了。
rules-count = { $count } 條規則
rules-add = 新增規則
rules-import = 匯入
rules-export = 匯出
rules-empty-title = 還沒有規則
rules-empty-text = 把大家常問的問題和答案加進來，機器人就會在群組裡回答。
rules-filter = 在規則中尋找
rules-sort = 排序
rules-sort-oldest = 比對順序
rules-sort-hits = 回答最多
rules-sort-changed = 最近更動
rules-show = 顯示
rules-none-title = 找不到規則
rules-none-text = 試試更少或其他的字詞。
rules-all = 顯示全部
rules-caption = 這個聊天室的規則
rules-texts = 問題與答案
rules-use = 使用
rules-actions = 編輯
rules-edit = 編輯
rules-hits = { $count ->
    [0] 還沒用過
   *[other] 回答 { $count } 次
}
rules-previous = 上一頁
rules-next = 下一頁
rules-warning-first = 「{ $word }」出現在好幾條規則裡，由這條最早的回答。
rules-warning-later = 「{ $word }」也在更早的規則裡，會由那一條回答。
rules-warning-trigger = 「{ $word }」會叫出群組規範，所以這條規則不會回答它。
rule-new-title = 新增規則
rule-edit-title = 編輯規則
rule-keywords = 關鍵字
rule-keywords-lines = 一行一個關鍵字。
rule-keywords-chips = 按 Enter 或逗號新增。
rule-keywords-hint = 最多 { $count } 個，每個最多 { $max } 個字。
rule-keyword-remove = 移除關鍵字
rule-keyword-added = 已新增
rule-keyword-removed = 已移除
rule-question = 問題
rule-question-hint = 可以不填。換句話問時，能幫機器人找到這條規則。
rule-answer = 答案
rule-answer-hint = 機器人會把這段話傳到聊天室。
rule-save = 儲存
rule-delete = 刪除規則
rule-delete-title = 要刪除這條規則嗎？
rule-delete-text = 機器人不會再用它回答「{ $word }」。刪除後無法復原。
rule-present = 目前的內容
rule-gone = 這條規則剛才被別人刪除了。儲存的話會重新新增。
import-title = 匯入規則
import-text = 從試算表匯入規則：動手之前會先讓您看會發生什麼事。表格裡沒有的規則會保留。
import-file = 選擇檔案（CSV）
import-paste = 或把表格貼在這裡
import-hint = 欄位：keywords、question、answer。一格可放多個關鍵字，用逗號或換行分開。最簡單的做法：先匯出、修改，再匯入。
import-check = 檢查
import-preview = 匯入結果預覽
import-empty = 這個表格裡沒有規則。
import-too-many = 一個聊天室最多 { $count } 條規則。
import-added = 新增 { $count } 條
import-changed = 修改 { $count } 條
import-same = { $count } 條不變
import-refused = { $count } 條有問題
import-nothing-until = 沒有匯入任何規則。請修正 { $count } 列後再檢查一次。
import-ready = 目前還沒有任何更動。
import-nothing-to-do = 這些規則都已經有了。
import-stale = 剛才有人改了規則。以下是現在匯入會有的結果。
import-more = 還有 { $count } 列
import-confirm = 匯入 { $count } 條規則
import-row-added = 新增
import-row-changed = 修改
import-row-same = 不變
import-row-refused = 有問題
import-line = 第 { $line } 行
import-repeated = 和第 { $line } 行是同一條規則。
try-label = 有人這樣寫
try-hint = 照群組裡的說法寫就好，不會真的送出。
try-submit = 試試看
try-now = 現在
try-now-rule = 有規則會回答。
try-now-group-rules = 機器人會顯示群組規範。
try-now-no-match = 沒有規則符合，機器人會送出預設回覆。
try-now-off = 小幫手已關閉，機器人不會說話。
try-now-silent = 沒有規則符合，機器人不會說話。
try-rule = 看這條規則
try-modes = 各種模式
try-mode-keyword = 關鍵字
try-mode-keyword-text = 關鍵字一模一樣才回答。
try-mode-fuzzy = 寬鬆
try-mode-fuzzy-text = 打錯字或順序不同也看得懂。
try-mode-semantic = 語意
try-mode-semantic-text = 換個說法、意思一樣也看得懂。
try-present = 使用中
try-needs-plan = 需要 pro 方案
try-answers = 會回答。
try-silent = 不回答。
try-score = 相似度
try-reason-trigger = 「{ $word }」是群組規範的觸發詞，會比所有規則優先。
try-reason-keyword = 有關鍵字「{ $word }」。
try-reason-near = 和這條規則有 { $score }% 相似，達到 { $least }% 就會回答。
try-reason-far = 最接近的規則相似度 { $score }%，需要 { $least }%。
try-reason-close = 有兩條規則差不多相似，機器人不會亂猜。
try-reason-no-keyword = 沒有符合的關鍵字。
try-reason-nothing = 沒有任何相近的規則。
try-note = 在聊天室裡，同一條規則可能要隔一段時間才會再回答；這裡不計算間隔。歡迎訊息只給新成員。

## Origins of replies
origin-rule = 自動回覆規則：
origin-some-rule = 由自動回覆規則回答
origin-rule-removed = 由已刪除的自動回覆規則回答
origin-welcome = 歡迎訊息
origin-group-rules = 群組規則
origin-link = 這個頁面的連結
origin-no-match = 沒有符合的規則
origin-keywords = { $first }、{ $next }

## Export
export-cancel = 取消
export-title = 匯出訊息
export-text = 將這個聊天的訊息存成一個檔案，不含照片、影片和檔案。
export-format = 檔案類型
export-html = 閱讀用網頁
export-html-hint = 任何瀏覽器都能開啟
export-csv = 表格
export-csv-hint = 適用 Excel、Numbers 或 Google 試算表
export-jsonl = 完整副本
export-jsonl-hint = 可以再匯入這台或其他伺服器
export-days = 期間
export-days-hint = 兩個都留空，就會匯出全部訊息。
export-from = 開始日期
export-to = 結束日期
export-bad-date = 請輸入正確的日期。
export-bad-order = 結束日期早於開始日期。
export-start = 匯出
export-progress = { $done }／{ $total } 則訊息 · { $size }
export-ready = 完成：{ $total } 則訊息，{ $size }。
export-save = 儲存檔案
export-share = 分享
export-again = 重新匯出
export-failed = 匯出中斷了，請再試一次。
export-cancelled = 已取消匯出。
export-hint = 沒有存到檔案？請改用平常的瀏覽器（例如 Safari 或 Chrome）開啟這個頁面。

## Refusals
error-page-title = 找不到這個頁面
error-page-text = 連結可能不完整。
error-hasty-title = 請稍候
error-hasty-text = 短時間內開啟了太多頁面。
error-hasty-hint = 請在 { $count } 秒後再試。

## Opting out

gap-opted_out = 有成員選擇不保存自己的訊息

## My data
done-erasing = 正在清除您的訊息，可能需要幾分鐘。
my-data-title = 我的資料
my-data-text = 各個聊天室保存了您的哪些內容。
my-data-messages = { $count ->
    [0] 沒有訊息
   *[other] { $count } 則訊息
}
my-data-not-kept = 不保存
my-data-empty-title = 沒有保存您的任何內容
my-data-empty-text = 您目前和過去都不在有機器人的聊天室裡。
my-data-files = 照片與檔案
my-data-size = 大小
my-data-kept-title = 已保存的內容
my-data-to-chat = 開啟聊天室
my-data-export = 下載副本
my-data-export-text = 您在所有聊天室傳過且有保存的內容，合成一個檔案。
my-data-json = 程式用資料
my-data-json-hint = JSON，包含所有細節
my-data-save = 下載檔案
my-data-out-title = 不要保存
my-data-out-text = 選擇後，您今後在這個聊天室傳送的內容都不會保存，也不會出現在搜尋結果或轉送給其他程式。其他人只會看到某一天少了幾則訊息。
my-data-out-rest = 機器人仍會讀取您的訊息以便回答。已經保存的內容會留著，直到您清除為止。
my-data-out-button = 不要保存我的訊息
my-data-in-title = 您的訊息不會保存
my-data-in-text = 您在這個聊天室傳送的內容目前都不保存。恢復後，之後的訊息會再保存；中間的訊息不會補回。
my-data-in-button = 恢復保存我的訊息
my-data-all = 所有聊天室
my-data-all-out = 您選擇了在所有聊天室都不保存任何內容。
my-data-all-out-text = 選擇後，您今後在任何聊天室傳送的內容都不會保存，包括以後加入的聊天室。
my-data-all-out-button = 全部不要保存
my-data-all-in-text = 恢復後，所有聊天室之後的訊息會再保存；中間的訊息不會補回。
my-data-erase = 清除我的訊息
my-data-erase-text = 您在這個聊天室傳過的所有內容，包括照片和檔案，都會從備份中永久清除，無法復原。LINE 裡的訊息不受影響。
my-data-erase-all = 清除我的所有內容
my-data-erase-all-text = 您在所有聊天室傳過的內容，包括照片和檔案，都會從備份中永久清除，無法復原。LINE 裡的訊息不受影響。

## Activity log
log-title = 操作紀錄
log-text = 誰在這個聊天室改了什麼、誰看過訊息。只有您身為擁有者看得到。
log-open = 查看操作紀錄
log-changes = 變更
log-reads = 閱讀
log-changes-hint = 最近 180 天的變更，由新到舊。
log-reads-hint = 每天（UTC）有誰看過幾次訊息，不記錄看了什麼內容。保留 180 天。
log-kind = 項目
log-any-kind = 全部
log-person = 誰
log-day = 日期
log-empty-title = 沒有紀錄
log-empty-text = 最近 180 天沒有這類紀錄。
log-more = 更早的紀錄
log-before = 之前：
log-after = 之後：
log-days = { $count } 天後
log-never = 永不
log-deletions = 刪除訊息
log-erasures = 清除個人訊息
log-rule-added = 新增了規則
log-rule-changed = 修改了規則
log-rule-deleted = 刪除了規則
log-role = { $name } 的身分
log-erased = 清除了 { $name } 的訊息
log-deleted = 刪除了 { $date } 之前的訊息
log-subscribed = 開始備份這個聊天室
log-unsubscribed = 停止備份這個聊天室
log-read-list = 閱讀訊息
log-read-search = 搜尋訊息
log-read-open = 開啟單則訊息
log-read-media = 查看照片與檔案
log-read-export = 匯出訊息
log-read-events = 以程式取得新訊息
log-read-history = 以過去的訊息比較回答
log-key = 金鑰「{ $name }」
log-program = 程式「{ $name }」
log-others = 太多讀者，無法逐一列出
log-times = { $count } 次
