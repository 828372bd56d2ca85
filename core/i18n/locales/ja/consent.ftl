## Consent of a person to an app that reads for them
consent-title = 「{ $name }」にトークの読み取りを許可しますか？
consent-person = { $person }としてログインしています。
consent-asks = 「{ $name }」ができるようになること：
consent-may-messages = メッセージを読む・検索する
consent-may-media = 写真を見る・ファイルを開く
consent-may-members = トークのメンバーを見る
consent-where = 許可するトーク
consent-all = 自分が読めるすべてのトーク（今後増えるものも含む）
consent-chosen = 次のトークだけ：
consent-choose = トークを1つ以上選ぶか、すべてのトークを選んでください。
consent-later = 何も変更できません。許可はいつでも取り消せます。
consent-place = 名前はアプリが名乗っているものです。許可すると「{ $place }」に移動します。そこから来た場合にだけ許可してください。
consent-place-own = お使いの端末にあるアプリ
consent-place-scheme = { $scheme } のリンクを開くアプリ
consent-allow = 許可する
consent-deny = 許可しない
consent-unnamed = 名前のないアプリ

## Apps that a person allowed to read
consents-title = { $person }が読み取りを許可したアプリ
consents-all = すべてのトーク
consents-some = { $count }件のトーク
consents-row = { $reach }、{ $date }に許可
consents-none = なし

## Request of an app that is refused
consent-refused-title = 「{ $name }」はトークを読み取れません
consent-refused-text = アプリからの要求が正しくありません（{ $why }）。何も許可されていません。
consent-refused-report = アプリに知らせる
consent-refused-place = 名前はアプリが名乗っているものです。リンク先は「{ $place }」です。そこから来た場合にだけ開いてください。
