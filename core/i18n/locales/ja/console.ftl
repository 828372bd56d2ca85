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
