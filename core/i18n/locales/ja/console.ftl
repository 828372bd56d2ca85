skip-to-content = 本文へスキップ
languages = 言語
nav-home = トーク
sign-out = ログアウト
close = 閉じる
go-back = 戻る

## Sign-in
sign-in-title = ログイン
sign-in-text = 参加しているグループのメッセージを読んだり検索したりできます。
sign-in-button = ログイン
sign-in-line = LINEでログイン
sign-in-off-title = ログインが設定されていません
sign-in-off-text = このサーバーではまだログインできません。管理者が数分で設定できます。
demo-people-title = 誰として見てみますか？
demo-people-text = ここに並んでいるのは架空の人物です。選んだ人から見たトークを表示します。
demo-role-owner = グループのオーナー
demo-role-member = グループのメンバー
demo-role-stranger = グループ未参加
problem-other-browser-title = このブラウザではログインできませんでした
problem-other-browser-text = ログインの途中で別のブラウザに切り替わったか、時間がかかりすぎました。プライベートブラウズを使っているときや、LINEのブラウザで開いたときに起こります。
problem-other-browser-step-private = プライベートブラウズをオフにしてください。
problem-other-browser-step-browser = 普段お使いのブラウザ（SafariやChromeなど）でこのページを開いてください。
problem-other-browser-step-again = そこでもう一度ログインしてください。
problem-denied-title = ログインがキャンセルされました
problem-denied-text = いつでもやり直せます。
problem-unconfirmed-title = ログインを確認できませんでした
problem-unconfirmed-text = もう一度ログインしてください。繰り返し起こる場合は、サーバーの管理者にお知らせください。
problem-unavailable-title = ログインサービスが応答しません
problem-unavailable-text = 数分後にもう一度お試しください。

## Errors
missing-title = 表示できません
missing-text = このトークは存在しないか、閲覧する権限がありません。メッセージを読めるのはグループに参加している人だけです。
missing-hint = グループに参加していますか？グループでメッセージを送信してから、このページを開き直してください。
message-missing-title = メッセージが見つかりません
message-missing-text = 保存されていないか、すでに削除されています。
error-title = エラーが発生しました
error-text = しばらくしてからもう一度お試しください。
error-busy-title = サービスが混み合っています
error-input-title = URLが正しくありません
error-input-text = 読み取れない部分があります。リンクが途中で切れているのかもしれません。

## Home
home-title = トーク
home-attention = 確認が必要です
home-empty-title = トークはまだありません
home-empty-text = LINEのグループにボットを招待して、メッセージを送信してください。グループがここに表示されます。
home-more = 続きを表示
usage-label = ストレージ
usage-used = { $quota }のうち{ $percent }%を使用
chat-members = メンバー{ $count }人
chat-messages = { $count ->
    [0] 保存されたメッセージはありません
   *[other] 保存済みメッセージ { $count }件
}
chat-nameless = 名前のないトーク
chat-left = ボットは退出しました
chat-paused = 一時停止中
attention-paused = ストレージがいっぱいのため、新しいメッセージは保存されません。
attention-unsubscribed = このトークをバックアップしている人がいません。
attention-left = ボットはこのトークから退出しました。
attention-media = { $count }個のファイルを保存できませんでした。
attention-webhook-disabled = このWebhookは無効になりました。
attention-webhook-failing = このWebhookは{ $date }以降、応答していません。

## Messages
kind-text = テキスト
kind-image = 写真
kind-video = 動画
kind-audio = ボイスメッセージ
kind-file = ファイル
kind-location = 位置情報
kind-sticker = スタンプ
kind-other = その他
name-unknown = 不明なユーザー
sender-unknown = 不明な送信者
bot-name = ボット
mark-edited = 編集済み
mark-edited-at = { $date } { $time }に編集
message-unsent = このメッセージの送信は取り消されました
message-erased = このメッセージは削除されました
quote-missing = 保存されていないメッセージ
media-pending = 保存中です
media-skipped = 保存されていません（ストレージがいっぱいでした）
media-failed = 保存できませんでした
media-expired = 保存前に保存期間が終了しました
media-erased = 削除されました
media-download = ダウンロード
media-download-named = { $name }をダウンロード
image-of = { $name }の写真
video-of = { $name }の動画
audio-of = { $name }のボイスメッセージ
map-open = 地図で開く

gap-quota = バックアップ一時停止：容量不足
gap-bot_removed = ボットがトークにいない期間
gap-unsubscribed = バックアップされていない期間
gap-outage = サービス停止
gap-until = { $from }～{ $to }
gap-since = { $from }から
gap-skipped = { $count }件のメッセージは保存されていません

timeline-label = メッセージ
timeline-older = これより前のメッセージ
timeline-newer = これより後のメッセージ
timeline-begin = ここからバックアップが始まります
timeline-newest = 最新のメッセージへ
timeline-date = 日付を指定して移動
timeline-go = 移動
timeline-empty-title = メッセージはまだありません
timeline-empty-text = グループで誰かがメッセージを送信すると、ここに表示されます。
timeline-new = 新着メッセージ
message-link = このメッセージへのリンク
export = エクスポート
tools = ツール
media-wall = 写真とファイル
media-empty-title = 写真やファイルはまだありません
media-empty-text = このトークの写真、動画、ボイスメッセージ、ファイルがここに表示されます。
media-more = 以前の項目

permalink-title = メッセージ
permalink-edited = このメッセージは{ $date } { $time }に編集されました。現在の内容を表示しています。
permalink-gone = このメッセージは送信が取り消されたか、削除されました。内容は残っていません。
permalink-show = トークで表示

viewer-label = 写真ビューアー
viewer-previous = 前の写真
viewer-next = 次の写真

## Search
search = 検索
search-label = メッセージを検索
search-hint = 単語、"フレーズ"、-除外、from:名前
search-submit = 検索
search-type = 種類
search-any-type = すべての種類
search-sender = 送信者
search-anyone = 全員
search-from = 開始日
search-to = 終了日（当日は含まない）
search-sort = 並べ替え
search-relevance = 関連度順
search-newest = 新しい順
search-filters = 絞り込み
search-remove = 絞り込みを解除：{ $name }
search-before-date = { $date }より前
search-after-date = { $date }以降
search-results = { $count ->
    [0] 見つかりませんでした
   *[other] { $count }件見つかりました
}
search-none = キーワードを減らすか変更する、または絞り込みを解除してみてください。
search-unknown = 「{ $name }」という名前の人は見つかりません。
search-more = さらに表示
search-bad = 検索条件が正しくありません。引用符と日付を確認してください。
search-away = 現在検索できません。しばらくしてからもう一度お試しください。
search-start-text = このトークのすべてのメッセージを検索できます。

## Dates
weekday-1 = 月
weekday-2 = 火
weekday-3 = 水
weekday-4 = 木
weekday-5 = 金
weekday-6 = 土
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
date-today = 今日
date-yesterday = 昨日

## Tabs and forms
tabs = このトークのページ
tab-messages = メッセージ
tab-search = 検索
tab-media = 写真
tab-assistant = アシスタント
cancel = キャンセル
done-saved = 保存しました。
done-added = 追加しました。
done-deleted = 削除しました。
form-invalid = 正しくない項目があります。ご確認ください。
form-stale = その間にほかの人が変更しました。上書きはしていません。今の内容と見比べてから、もう一度保存してください。
form-conflict = 内容が変わったため、今はできません。ページを再読み込みしてご確認ください。
form-plan-required = 意味で答えるには「pro」プランが必要です。
form-rules-too-large = このトークのルール全体が長すぎます。短くするか、いくつか削除してください。
form-too-many-keys = キーの数が上限です。先に1つ削除してください。
form-busy = うまくいきませんでした。入力は残っています。もう一度送信してください。
form-limit = { $max }文字まで。
defect-empty = 入力してください。
defect-too-long = 長すぎます。{ $max }文字までです。
defect-too-many-keywords = キーワードが多すぎます。{ $max }個までです。
defect-no-keyword = キーワードを1つ以上入れてください。
defect-other = この項目をご確認ください。
error-old-title = ページを開き直してください
error-old-text = このページを開いたあとに、もう一度ログインしています。戻ってページを再読み込みし、もう一度送信してください。
error-stale-title = 内容が変わりました
error-stale-text = ページを開いている間に、ほかの人が変更しました。上書きはしていません。戻ってページを再読み込みしてください。

## People
tab-people = メンバー
people-parts = 表示する人
people-present = 参加中
people-guests = 権限なし
people-left = 退出済み
people-me = あなた
people-more = 続きを表示
people-empty-title = 誰もいません
people-empty-text = グループに参加した人、メッセージを送信した人がここに表示されます。
person-since = { $date }から参加
person-left = { $date }に退出
person-role = 役割
person-missing-title = この人は見つかりません
person-missing-text = ボットの知る限り、この人がこのトークにいたことはありません。
role-owner = オーナー
role-owner-hint = バックアップ、役割、削除を決められます。
role-admin = 管理者
role-admin-hint = アシスタントの設定もできます。
role-member = メンバー
role-member-hint = メッセージを読んだり検索したりできます。
role-guest = 権限なし
role-guest-hint = ここでは何も読めません。
person-erase-title = この人のメッセージを消去
person-erase-text = この人がこのトークで送ったすべてのメッセージを、写真やファイルも含めてバックアップから完全に消去します。元に戻せません。LINE上のメッセージは残ります。
person-erase-label = 確認のため、名前を入力してください：
person-erase-hint = 大文字と小文字、空白は区別しません。
person-erase-mistyped = 名前が違います。何も消去していません。
person-erase-button = 完全に消去
save = 保存

## Settings of a chat
tab-settings = 設定
settings-backup = バックアップ
settings-subscribed = このトークをバックアップしています。新しいメッセージは保存され、あなたのストレージを使用します。
settings-unsubscribed = このトークをバックアップしていません。開始すると、これからのメッセージが保存され、あなたのストレージを使用します。
settings-subscribe = このトークをバックアップ
unsubscribe-title = このトークのバックアップを停止しますか？
unsubscribe-text = 新しいメッセージは、あなたのためには保存されなくなります。保存済みのものは残ります。ほかに誰もバックアップしていなければ、メッセージはまったく保存されなくなります。
unsubscribe-button = バックアップを停止
coverage-title = バックアップの範囲
coverage-since = 開始日
coverage-never = 未開始
coverage-first = 最も古いメッセージ
coverage-last = 最も新しいメッセージ
coverage-removed = 保存期間を過ぎて削除（この日より前）
coverage-files = { $count }個のファイル
coverage-gaps = バックアップのない期間
coverage-complete = 開始以降、欠けているものはありません。
settings-zone = タイムゾーン
settings-zone-label = このトークの日付の基準
settings-zone-hint = 空欄にするとサーバーの設定になります：
settings-zone-unknown = このタイムゾーンはありません。Asia/Tokyoのように一覧から選んでください。
settings-retention = 古いメッセージの自動削除
settings-days-label = メッセージを保存する日数
settings-days-hint = 空欄にすると、ずっと保存します。
settings-days-invalid = 1〜36500の整数を入力するか、空欄にしてください。
retention-title = 古いメッセージを自動で削除しますか？
retention-text = { $count ->
    [0] メッセージは{ $days }日後に削除されます。今のところ、それより古いものはありません。
   *[other] メッセージは{ $days }日後に削除されます。今のところ{ $count }件がそれより古く、1日以内に完全に削除されます。
}
retention-button = 自動で削除
delete-title = 日付より前のメッセージを削除
delete-text = { $date }より前の{ $count }件のメッセージ（{ $size }）を完全に削除します。元に戻せません。
delete-button = 完全に削除
settings-before-label = この日より前のすべて
settings-before-hint = 削除の前に件数を確認できます。
settings-before-button = 件数を確認
settings-before-invalid = 日付を選んでください。
settings-before-nothing = この日より前のメッセージはありません。
job-running-title = 削除しています…
job-running-text = { $total }件中{ $done }件を削除しました。このページを閉じても処理は続きます。
job-done-title = 削除しました
job-done-text = { $done ->
    [0] 削除するものはありませんでした。
   *[other] { $done }件のメッセージを削除し、{ $size }の空きができました。
}
job-failed-title = 完了できませんでした
job-failed-text = { $total }件中{ $done }件を削除しました。もう一度お試しください。

## Pages of the assistant
assistant-sections = アシスタントのページ
assistant-overview = 概要
assistant-rules = ルール
assistant-try = 試す
assistant-switch = 切り替える前に
assistant-unanswered = 未回答
assistant-texts = 文面

## Assistant: overview
attention-unanswered = この30日間に、まだ答えのない質問が{ $count }件あります。
form-now = 現在：{ $value }
overview-card-rules = ルール
overview-card-answers = 30日間の回答
overview-card-unanswered = 未回答の質問
overview-on = オン
overview-off = オフ
overview-enabled = このトークでボットが答える
overview-enabled-hint = オフの間、ボットは何も書き込みません。
overview-parts = ボットの役割
overview-qa = 質問への回答
overview-qa-hint = ルールに従って質問に答えます。
overview-welcome = あいさつ
overview-welcome-hint = グループに参加した人にあいさつします。
overview-group-rules = グループのルール
overview-group-rules-hint = 決めた言葉が送られると、グループのルールを表示します。
overview-to-texts = あいさつとグループのルールを書く
overview-mode = 質問の見分け方
qa-mode-keyword = キーワード
qa-mode-keyword-hint = キーワードがそのまま送られたときに答えます。
qa-mode-fuzzy = あいまい
qa-mode-fuzzy-hint = 打ち間違いや語順、少しの言い換えがあっても答えます。
qa-mode-semantic = 意味
qa-mode-semantic-hint = 別の言い方でも、同じ質問なら答えます。
qa-mode-semantic-pro = 別の言い方でも、同じ質問なら答えます。「pro」プランが必要です。
overview-replaced = 現在のプランでは意味による回答を使えません。ボットは「{ $mode }」で動いています。
overview-match = キーワードの一致のしかた
overview-match-exact = メッセージ全体がキーワード
overview-match-exact-hint = 「営業時間」は「営業時間？」に答えますが、「営業時間を教えて」には答えません。
overview-match-contains = メッセージにキーワードが含まれる
overview-match-contains-hint = 「営業時間」は「営業時間を教えて」にも答えます。
overview-compare = 変わる点を確認
overview-compare-hint = この30日間で、回答が変わるメッセージを表示します。確認するだけでは何も保存されません。
overview-quiet = 発言の頻度
overview-cooldown = 回答したあと、同じルールを休ませる時間
overview-cooldown-hint = にぎやかなトークで、同じ回答を繰り返さないようにします。
overview-cooldown-none = 休ませない
overview-seconds = { $count }秒
overview-minutes = { $count }分
overview-hours = { $count }時間
overview-scope = 一致するルールがないときに返信する相手
overview-scope-addressed = ボットに向けたメッセージだけ
overview-scope-addressed-hint = ボットへのメンションか、ボットへのリプライです。
overview-scope-always = 答えのないすべてのメッセージ
overview-scope-always-hint = 質問専用のトークに向いています。
overview-save = 保存

## Assistant: past messages
history-running = メッセージを読み込んでいます…
history-incomplete = メッセージがとても多いため、新しいものから{ $count }件を調べました。
pages-earlier = 前のページ
pages-later = 次のページ
switch-lead = この30日間にボットがどう答えたはずかを比べます。何も送信されません。
switch-mode = 比べる方法
switch-compare = 比べる
switch-told = { $changed ->
    [0] { $date }からの{ $scanned }件のメッセージを調べました。回答はすべて同じです。
   *[other] { $date }からの{ $scanned }件のメッセージを調べました。{ $changed }件の回答が変わります。
}
switch-new = 増える回答
switch-lost = なくなる回答
switch-other = 変わる回答
switch-same = 同じ回答
switch-listed = メッセージ（違うものから）
switch-nothing = 該当するメッセージはありません。
switch-how = ルール、グループのルールの言葉、リンクの言葉による回答を比べています。回答後の休止時間と、一致するルールがないときの返信は含みません。
switch-with-rule = このルールの場合
switch-no-answer = 回答なし
switch-source-rules = グループのルール
switch-source-link = リンク
switch-source-rule = ルール
switch-button = 「{ $mode }」に切り替える
switch-button-match = 切り替える
switch-stay = このままにする
switch-today = 現在
unanswered-lead = 質問されたのに、答えるルールがないものです。
unanswered-period = 期間
unanswered-days = { $count ->
    [365] 1年
   *[other] { $count }日
}
unanswered-told = { $date }からの{ $scanned }件のメッセージに、質問が{ $questions }件ありました。多い順に並んでいます。
unanswered-nothing-title = この期間のメッセージはありません
unanswered-nothing-text = トークで質問されると、ここに表示されます。トークのバックアップが必要です。
unanswered-none-title = すべての質問に答えがあります
unanswered-none-text = この期間の質問には、すべてルールがあります。しばらくしてからもう一度見るか、期間を長くしてください。
unanswered-asked = { $count ->
    [1] 1回質問されました（{ $when }）
   *[other] { $count }回質問されました（最近：{ $when }）
}
unanswered-make = ルールにする
unanswered-add = ルールに追加
unanswered-nearest = 最も近いルールに追加：
unanswered-examples = メッセージを{ $count }件表示
unanswered-choose = どのルールで答えますか？
unanswered-filter = ルールを探す
unanswered-filter-go = 探す
unanswered-no-rule-title = ルールが見つかりません
unanswered-back = 質問の一覧に戻る
unanswered-more-rules = ほかにもルールがあります。ルールに含まれる言葉で探してください。

## Assistant: texts
texts-on = オン
texts-welcome = あいさつ
texts-welcome-text = 文面
texts-welcome-hint = 新しいメンバーの名前とグループ名に置き換わります：
texts-preview = プレビュー
texts-preview-none = 文面を書くと、ここに表示されます。
texts-show-preview = プレビューを表示
texts-now = 現在の内容：
texts-rules = グループのルール
texts-rules-text = 文面
texts-rules-words = グループのルールを表示する言葉
texts-words-hint = 1行に1つずつ書いてください。
texts-no-match = 一致するルールがないとき
texts-no-match-text = 返信
texts-no-match-hint = 空欄の場合、ボットは何も返しません。
texts-no-match-scope = 返信する相手を選ぶ
texts-link = このページのリンク
texts-link-hint = 決めた言葉が送られると、ボットがこのトークのページのアドレスを返信します。開けるのはメンバーだけです。
texts-link-address = 返信の内容：
texts-link-none = このサーバーにはまだ公開アドレスがありません。管理者が api.base_url を設定してください。
texts-link-words = 言葉（例：「リンク」）

## Rules of the assistant
done-imported = 取り込みました。
error-large-title = 一度に送れる量を超えています
error-large-text = いくつかに分けて送ってください。何も変更されていません。
rule-missing-title = このルールはありません
rule-missing-text = 削除された可能性があります。
rules-count = ルール { $count } 件
rules-add = ルールを追加
rules-import = 取り込む
rules-export = 書き出す
rules-empty-title = ルールはまだありません
rules-empty-text = よくある質問と答えを追加すると、ボットがグループで答えます。
rules-filter = ルールを検索
rules-sort = 並び順
rules-sort-oldest = 照合の順
rules-sort-hits = 回答の多い順
rules-sort-changed = 更新の新しい順
rules-show = 表示
rules-none-title = 見つかりません
rules-none-text = 言葉を減らすか、変えてみてください。
rules-all = すべて表示
rules-caption = このトークのルール
rules-texts = 質問と答え
rules-use = 使用状況
rules-actions = 編集
rules-edit = 編集
rules-hits = { $count ->
    [0] まだ使われていません
   *[other] { $count } 回回答
}
rules-previous = 前のページ
rules-next = 次のページ
rules-warning-first = 「{ $word }」は複数のルールにあります。一番古いこのルールが答えます。
rules-warning-later = 「{ $word }」は古いルールにもあり、そちらが答えます。
rules-warning-trigger = 「{ $word }」ではグループのきまりが表示されるため、このルールは答えません。
rule-new-title = ルールを追加
rule-edit-title = ルールを編集
rule-keywords = キーワード
rule-keywords-lines = 1 行に 1 つずつ書きます。
rule-keywords-chips = Enter キーか「、」で追加します。
rule-keywords-hint = { $count } 個まで、1 つ { $max } 文字までです。
rule-keyword-remove = キーワードを外す
rule-keyword-added = 追加しました
rule-keyword-removed = 外しました
rule-question = 質問
rule-question-hint = なくても構いません。言い方が違うときにルールを見つけやすくなります。
rule-answer = 答え
rule-answer-hint = ボットがトークに送る文です。
rule-save = 保存
rule-delete = ルールを削除
rule-delete-title = このルールを削除しますか？
rule-delete-text = ボットは「{ $word }」にこのルールで答えなくなります。元には戻せません。
rule-present = 現在の内容
rule-gone = このルールはほかの人が削除しました。保存すると新しく追加されます。
import-title = ルールを取り込む
import-text = 表計算ソフトのルールを取り込みます。変更の前に内容を確認できます。表にないルールはそのまま残ります。
import-file = ファイルを選ぶ（CSV）
import-paste = または表をここに貼り付け
import-hint = 列は keywords、question、answer です。1 つのセルに複数のキーワードを、コンマか改行で区切って書けます。書き出し、編集、取り込みの順が簡単です。
import-check = 確認する
import-preview = 取り込みの内容
import-empty = この表にルールがありません。
import-too-many = 1 つのトークに置けるルールは { $count } 件までです。
import-added = 追加 { $count } 件
import-changed = 変更 { $count } 件
import-same = 変更なし { $count } 件
import-refused = 取り込めない行 { $count } 件
import-nothing-until = 何も取り込んでいません。{ $count } 行を直して、もう一度確認してください。
import-ready = まだ何も変更していません。
import-nothing-to-do = これらのルールはすべて登録済みです。
import-stale = ほかの人がルールを変更しました。今取り込むと次のようになります。
import-more = ほか { $count } 行
import-confirm = { $count } 件を取り込む
import-row-added = 追加
import-row-changed = 変更
import-row-same = 変更なし
import-row-refused = 取り込めません
import-line = { $line } 行目
import-repeated = { $line } 行目と同じルールです。
try-label = こう書かれたら
try-hint = グループで書くように入力してください。実際には送信されません。
try-submit = 試す
try-now = 今の設定では
try-now-rule = ルールが答えます。
try-now-group-rules = ボットがグループのきまりを表示します。
try-now-no-match = 答えるルールがないため、決まった返信を送ります。
try-now-off = アシスタントがオフなので、ボットは何も言いません。
try-now-silent = 答えるルールがないため、ボットは何も言いません。
try-rule = ルールを見る
try-modes = モードごとの結果
try-mode-keyword = キーワード
try-mode-keyword-text = キーワードがそのままあるときに答えます。
try-mode-fuzzy = あいまい
try-mode-fuzzy-text = 打ち間違いや語順の違いにも対応します。
try-mode-semantic = 意味
try-mode-semantic-text = 同じ意味の別の言い方にも対応します。
try-present = 使用中
try-needs-plan = プラン「pro」が必要
try-answers = 答えます。
try-silent = 答えません。
try-score = 近さ
try-reason-trigger = 「{ $word }」はグループのきまりの合言葉で、どのルールより優先されます。
try-reason-keyword = キーワード「{ $word }」があります。
try-reason-near = このルールに { $score }% 近く、必要な { $least }% に届いています。
try-reason-far = 一番近いルールでも { $score }% で、{ $least }% が必要です。
try-reason-close = 同じくらい近いルールが 2 つあり、ボットは推測しません。
try-reason-no-keyword = 当てはまるキーワードがありません。
try-reason-nothing = 近いルールがありません。
try-note = トークでは同じルールがしばらく答えないことがありますが、ここでは考えません。あいさつは新しいメンバーだけに送られます。

## Origins of replies
origin-rule = 自動応答ルール：
origin-some-rule = 自動応答ルールによる回答
origin-rule-removed = 削除済みの自動応答ルールによる回答
origin-welcome = あいさつメッセージ
origin-group-rules = グループのルール
origin-link = このページへのリンク
origin-no-match = 一致するルールなし
origin-keywords = { $first }、{ $next }

## Export
export-cancel = キャンセル
export-title = メッセージのエクスポート
export-text = このトークのメッセージを1つのファイルに保存します。写真、動画、ファイルは含まれません。
export-format = ファイルの種類
export-html = 閲覧用のページ
export-html-hint = どのブラウザでも開けます
export-csv = 表
export-csv-hint = Excel、Numbers、Google スプレッドシート用
export-jsonl = 完全なコピー
export-jsonl-hint = このサーバーや別のサーバーに取り込めます
export-days = 期間
export-days-hint = 両方とも空欄にすると、すべてのメッセージを保存します。
export-from = 開始日
export-to = 終了日
export-bad-date = 正しい日付を入力してください。
export-bad-order = 終了日が開始日より前です。
export-start = エクスポート
export-progress = { $total }件中{ $done }件 · { $size }
export-ready = 完了しました：{ $total }件、{ $size }
export-save = ファイルを保存
export-share = 共有
export-again = もう一度エクスポート
export-failed = エクスポートが中断されました。もう一度お試しください。
export-cancelled = エクスポートをキャンセルしました。
export-hint = 保存されない場合は、SafariやChromeなど、ふだんのブラウザでこのページを開いてください。

## Refusals
error-page-title = ページが見つかりません
error-page-text = リンクが途中で切れている可能性があります。
error-hasty-title = 少々お待ちください
error-hasty-text = 短い時間に多くのページが開かれました。
error-hasty-hint = { $count }秒後にもう一度お試しください。

## Opting out

gap-opted_out = 保存を希望しない人のメッセージがあります

## My data
done-erasing = メッセージを消去しています。数分かかることがあります。
my-data-title = 自分のデータ
my-data-text = あなたについて保存されているものを、トークごとに表示します。
my-data-messages = { $count ->
    [0] メッセージなし
   *[other] メッセージ{ $count }件
}
my-data-not-kept = 保存しない
my-data-empty-title = 保存されているものはありません
my-data-empty-text = ボットのいるトークに参加したことがありません。
my-data-files = 写真とファイル
my-data-size = サイズ
my-data-kept-title = 保存されているもの
my-data-to-chat = トークを開く
my-data-export = コピーを保存
my-data-export-text = すべてのトークで保存されているあなたのメッセージを、1つのファイルにまとめます。
my-data-json = プログラム用データ
my-data-json-hint = JSON形式、すべての詳細を含みます
my-data-save = ファイルを保存
my-data-out-title = 保存を希望しない
my-data-out-text = これを選ぶと、今後このトークで送るものは一切保存されず、検索にも表示されず、ほかのプログラムにも渡されません。ほかの人には、その日に欠けているメッセージの件数だけが表示されます。
my-data-out-rest = 返信のため、ボットは引き続きメッセージを読み取ります。すでに保存されているものは、消去するまで残ります。
my-data-out-button = 自分のメッセージを保存しない
my-data-in-title = あなたのメッセージは保存されません
my-data-in-text = このトークで送るものは保存されていません。元に戻すと、それ以降のメッセージが保存されます。その間のメッセージは欠けたままです。
my-data-in-button = 再び保存する
my-data-all = すべてのトーク
my-data-all-out = すべてのトークで保存しないよう設定しています。
my-data-all-out-text = これを選ぶと、今後どのトークで送るものも保存されません。これから参加するトークも含みます。
my-data-all-out-button = どこにも保存しない
my-data-all-in-text = 元に戻すと、すべてのトークでそれ以降のメッセージが保存されます。その間のメッセージは欠けたままです。
my-data-erase = 自分のメッセージを消去
my-data-erase-text = あなたがこのトークで送ったすべてのメッセージを、写真やファイルも含めてバックアップから完全に消去します。元に戻せません。LINE上のメッセージは残ります。
my-data-erase-all = 自分のものをすべて消去
my-data-erase-all-text = あなたがすべてのトークで送ったメッセージを、写真やファイルも含めてバックアップから完全に消去します。元に戻せません。LINE上のメッセージは残ります。

## Activity log
log-title = 操作の記録
log-text = このトークで誰が何を変更し、誰がメッセージを読んだかを表示します。オーナーのあなただけが見られます。
log-open = 操作の記録を見る
log-changes = 変更
log-reads = 閲覧
log-changes-hint = 過去180日間の変更を新しい順に表示します。
log-reads-hint = 誰が何回メッセージを読んだかを1日ごと（UTC）に表示します。内容は記録しません。180日間保存します。
log-kind = 種類
log-any-kind = すべて
log-person = 人
log-day = 日付
log-empty-title = 記録がありません
log-empty-text = 過去180日間に該当する記録はありません。
log-more = 以前の記録
log-before = 変更前：
log-after = 変更後：
log-days = { $count }日後
log-never = しない
log-deletions = メッセージの削除
log-erasures = 個人のメッセージの消去
log-rule-added = ルールを追加しました
log-rule-changed = ルールを変更しました
log-rule-deleted = ルールを削除しました
log-role = { $name }さんの役割
log-erased = { $name }さんのメッセージを消去しました
log-deleted = { $date }より前のメッセージを削除しました
log-subscribed = このトークのバックアップを開始しました
log-unsubscribed = このトークのバックアップを停止しました
log-read-list = メッセージを読む
log-read-search = メッセージを検索
log-read-open = 個別のメッセージを開く
log-read-media = 写真とファイルを見る
log-read-export = メッセージを書き出す
log-read-events = プログラムで新着を取得
log-read-history = 過去のメッセージで回答を比較
log-key = キー「{ $name }」
log-program = プログラム「{ $name }」
log-others = 一覧にできないほど多数
log-times = { $count }回
