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
demo-role-stranger = グループに参加していません
problem-other-browser-title = このブラウザではログインできませんでした
problem-other-browser-text = ログインの途中で別のブラウザに切り替わったか、時間がかかりすぎました。プライベートブラウズを使っているときや、LINEのブラウザで開いたときに起こります。
problem-other-browser-step-private = プライベートブラウズをオフにしてください。
problem-other-browser-step-browser = 普段お使いのブラウザ（SafariやChromeなど）でこのページを開いてください。
problem-other-browser-step-again = そこでもう一度ログインしてください。
problem-denied-title = ログインしていません
problem-denied-text = ログインがキャンセルされました。いつでもやり直せます。
problem-unconfirmed-title = ログインを確認できませんでした
problem-unconfirmed-text = もう一度ログインしてください。繰り返し起こる場合は、サーバーの管理者にお知らせください。
problem-unavailable-title = ログインサービスが応答しません
problem-unavailable-text = 数分後にもう一度お試しください。

## Errors
missing-title = 表示できません
missing-text = このトークは存在しないか、読む権限がありません。メッセージを読めるのはグループに参加している人だけです。
missing-hint = グループに参加していますか？グループで何か発言してから、このページを開き直してください。
message-missing-title = このメッセージはありません
message-missing-text = 保存されていないか、その後に削除されました。
error-title = エラーが発生しました
error-text = しばらくしてからもう一度お試しください。
error-busy-title = サービスが混み合っています
error-input-title = アドレスが正しくありません
error-input-text = 読み取れない部分があります。リンクが途中で切れているのかもしれません。

## Home
home-title = トーク
home-attention = 確認が必要です
home-empty-title = トークはまだありません
home-empty-text = LINEのグループにボットを招待して、何か発言してください。グループがここに表示されます。
home-more = 続きを表示
usage-label = ストレージ
usage-used = { $quota }のうち{ $percent }%を使用
chat-members = メンバー{ $count }人
chat-messages = { $count ->
    [0] 保存されたメッセージはありません
   *[other] { $count }件のメッセージを保存
}
chat-nameless = 名前のないトーク
chat-left = ボットは退出しました
chat-paused = 停止中
attention-paused = ストレージがいっぱいのため、新しいメッセージは保存されません。
attention-unsubscribed = このトークをバックアップしている人がいません。
attention-left = ボットはこのトークにいません。
attention-media = { $count }個のファイルを保存できませんでした。
attention-webhook-disabled = このWebhookは無効になりました。
attention-webhook-failing = このWebhookは{ $date }から応答していません。

## Messages
kind-text = テキスト
kind-image = 写真
kind-video = 動画
kind-audio = ボイスメッセージ
kind-file = ファイル
kind-location = 位置情報
kind-sticker = スタンプ
kind-other = その他
someone = 誰か
everyone-former = 不明な送信者
bot-name = ボット
mark-edited = 編集済み
mark-edited-at = { $date } { $time }に編集
message-unsent = このメッセージは送信取消されました
message-erased = このメッセージは削除されました
quote-missing = 保存されていないメッセージ
media-pending = 取得中です
media-skipped = 保存されていません（ストレージがいっぱいでした）
media-failed = 取得できませんでした
media-expired = 取得前にプラットフォームから消えました
media-erased = 削除されました
media-download = ダウンロード
media-download-named = { $name }をダウンロード
image-of = { $name }の写真
video-of = { $name }の動画
audio-of = { $name }のボイスメッセージ
map-open = 地図で開く

gap-quota = バックアップ停止：ストレージがいっぱいでした
gap-bot_removed = ボットがトークにいませんでした
gap-unsubscribed = バックアップしている人がいませんでした
gap-outage = サービスが停止していました
gap-until = { $from } – { $to }
gap-since = { $from }から
gap-skipped = { $count }件のメッセージは保存されていません

timeline-label = メッセージ
timeline-older = 以前のメッセージ
timeline-newer = 以降のメッセージ
timeline-begin = ここからバックアップが始まります
timeline-newest = 最新のメッセージへ
timeline-date = 日付へ移動
timeline-go = 移動
timeline-empty-title = メッセージはまだありません
timeline-empty-text = グループで誰かが発言すると、ここに表示されます。
timeline-new = 新着メッセージ
message-link = このメッセージへのリンク
export = エクスポート
tools = ツール
media-wall = 写真とファイル
media-empty-title = 写真やファイルはまだありません
media-empty-text = このトークの写真、動画、ボイスメッセージ、ファイルがここに表示されます。
media-more = 以前のもの

permalink-title = メッセージ
permalink-edited = このメッセージは{ $date } { $time }に編集されました。現在の内容を表示しています。
permalink-gone = このメッセージは送信取消または削除されました。内容は残っていません。
permalink-show = トークの中で見る

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
search-to = 終了日（この日より前）
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
search-none = 言葉を減らすか変えるか、絞り込みを解除してみてください。
search-unknown = { $name }という人はいません。
search-more = さらに表示
search-bad = 検索条件を読み取れません。引用符と日付を確認してください。
search-away = 現在検索できません。しばらくしてからもう一度お試しください。
search-start-text = このトークで話されたことをすべて検索できます。

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

## Opting out

gap-opted_out = 保存を希望しない人のメッセージがあります
