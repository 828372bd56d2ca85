## The page of operators about the set-up of the bots

operator-line-title = LINEの設定
operator-line-text = 各ボットについてのLINEの回答と、管理画面でしか確認できない項目です。
operator-line-checked = { $time }に問い合わせました。
operator-line-fix = Webhook URLを設定
operator-line-fix-text = LINEはこのボットのWebhookを { $address } に送るようになります。
operator-line-again = もう一度確認
operator-line-unset = Webhook URLは変更されませんでした。
operator-line-is-wrong = 誤り
operator-line-is-unanswered = 応答なし
operator-line-is-warning = 注意
operator-line-is-look = 要確認
operator-line-is-fine = 正常

## Findings about the set-up of a bot

line-token-works = LINEはこのアクセストークンを受け付けます。ボット「{ $name }」のものです。
line-token-missing = アクセストークンが設定されていないため、chatkeepは応答することも、LINEに他の項目を問い合わせることもできません。
line-token-refused = LINEがアクセストークンを拒否しました。入力の誤り、期限切れ、または取り消し済みです。
line-token-expires = アクセストークンはあと{ $hours }時間で期限切れになります。
line-token-unverified = この種類のアクセストークンがどのチャネルのものかLINEは示さないため、チャネルシークレットが同じチャネルのものか確認できません。
line-secret-fits = チャネルシークレットはアクセストークンと同じチャネルのものです。
line-secret-missing = チャネルシークレットが設定されていないため、Webhookを受け付けられません。
line-secret-other = チャネルシークレットは、アクセストークンのチャネル{ $channel }のものではありません。
line-secret-swapped = チャネルシークレットはアクセストークンのチャネルのものではなく、ボット「{ $bot }」のものが一致します。取り違えています。
line-same-channel = ボット「{ $bot }」のアクセストークンも同じチャネルのものです。2つのボットで1つのチャネルは使えません。
line-bot-answers = アカウントのチャットはオフで、ボットが応答します。
line-people-answer = アカウントのチャットはオンです。ボットのほかに担当者も手動で応答でき、メッセージは自動では既読になりません。
line-clock-right = このマシンの時計はLINEと一致しています。
line-clock-ahead = このマシンの時計はLINEより{ $seconds }秒進んでいます。
line-clock-behind = このマシンの時計はLINEより{ $seconds }秒遅れています。
line-no-public-address = chatkeepの公開URLが設定されていないため、正しいWebhook URLがわかりません。
line-not-https = LINEはHTTPSのURLにしかWebhookを送りませんが、{ $ours } はHTTPSではありません。
line-webhook-works = LINEは { $address } にWebhookを送り、テストWebhookは受け付けられました。
line-webhook-set = Webhook URLは { $address } になりました。
line-webhook-unset = LINEにWebhook URLが設定されていません。{ $ours } を設定してください。
line-webhook-nowhere = LINEにWebhook URLが設定されていません。
line-webhook-elsewhere = LINEは { $found } にWebhookを送っています。正しくは { $ours } です。
line-webhook-of-other = LINEはこのボットのWebhookをボット「{ $bot }」のURLに送っています。正しくは { $ours } です。
line-webhook-off = 「Webhookの利用」がオフのため、LINEはWebhookを送りません。
line-webhook-unreachable = LINEから { $address } に接続できません：{ $reason }。
line-webhook-unsigned = テストWebhookは { $address } でステータス401により拒否されました。LINEは設定とは別のチャネルシークレットで署名しています。
line-webhook-refused = テストWebhookへの { $address } の応答はステータス{ $status }でした。200である必要があります。
line-quota-left = 今月の{ $limit }通のうち{ $used }通を送信しました。
line-quota-nearly-used = 今月の{ $limit }通のうち、すでに{ $used }通を送信しました。
line-quota-unlimited = 今月は{ $used }通を送信しました。上限はありません。
line-quota-used-up = 今月の{ $limit }通をすべて送信したため、LINEは来月まで送信を拒否します。受け取ったメッセージへの返信は続けられます。
line-ask-redelivery = 「Webhookの再送」はオンですか。オフの場合、chatkeepの停止中のメッセージは失われます。
line-ask-replies = 応答メッセージとあいさつメッセージはオフですか。オンの場合、ボットとは別にLINEも応答します。
line-ask-groups = グループ・複数人トークへの参加は許可されていますか。許可されていない場合、誰も招待できません。
line-unanswered = { $subject }：LINEの応答がありません（{ $why }）。

## Questions that LINE did not answer, and why

line-about-account = ボットのアカウント
line-about-token = アクセストークンのチャネル
line-about-secret = シークレットのチャネル
line-about-webhook = Webhook URL
line-about-webhook-test = テストWebhook
line-about-setting-webhook = Webhook URLの設定
line-about-quota = 今月のメッセージ数
line-why-unreachable = 接続できません
line-why-hasty = リクエストが多すぎます。後でもう一度お試しください
line-why-token = アクセストークンが拒否されました
line-why-status = ステータス{ $status }
line-why-unknown = 有効な応答がありません

## Places where findings are mended

line-place-token = LINE Developersコンソール → Messaging API設定 → チャネルアクセストークン、次に { $setting }、または `chatkeep config show` が示す設定場所
line-place-secret = LINE Developersコンソール → チャネル基本設定 → チャネルシークレット、次に { $setting }、または `chatkeep config show` が示す設定場所
line-place-settings = chatkeep.tomlの [[line]] セクション
line-place-webhook = LINE Developersコンソール → Messaging API設定 → Webhook設定
line-place-responses = LINE Official Account Manager → 設定 → 応答設定
line-place-groups = LINE Official Account Manager → 設定 → アカウント設定 → 機能の利用
line-place-plan = LINE Official Account Manager → 設定 → 利用と請求
line-place-clock = このマシンの時刻同期（NTP）
line-place-base-url = 設定 CHATKEEP_API_BASE_URL
line-place-network = chatkeepの前段のプロキシ、ファイアウォール、証明書、およびingressロールのプロセスが動作しているか
