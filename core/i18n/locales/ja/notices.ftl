usage-exceeded = バックアップのストレージ（{ $quota }）がいっぱいになり、新しいメッセージの保存を停止しています。プランのアップグレード、一部のトークのバックアップ停止、古いメッセージの削除のいずれかを行うと、自動的に再開します。
usage-filling = バックアップは{ $quota }のうち{ $percentage }%を使用しています。いっぱいになると、新しいメッセージは保存されなくなります。
usage-resumed = バックアップは{ $quota }のうち{ $percentage }%を使用しています。新しいメッセージの保存を再開しました。
usage-relieved = バックアップは{ $quota }のうち{ $percentage }%を使用しています。空き容量に余裕ができました。
webhook-key-ended = Webhook（{ $host }）の作成に使ったAPIキーが失効したため、このWebhookを無効にしました。
webhook-gone = Webhook（{ $host }）から「存在しない」という応答があったため、無効にしました。
webhook-failing = Webhook（{ $host }）に何日も送信できないため、無効にしました。
