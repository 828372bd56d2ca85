usage-exceeded = バックアップの容量（{ $quota }）がいっぱいになり、新しいメッセージの保存を停止しています。プランの変更、購読の解除、古いバックアップの削除を行うと自動的に再開します。
usage-filling = バックアップは{ $quota }のうち{ $percentage }%を使用しています。いっぱいになると、新しいメッセージは保存されません。
usage-resumed = バックアップは{ $quota }のうち{ $percentage }%を使用しています。新しいメッセージの保存を再開しました。
usage-relieved = バックアップは{ $quota }のうち{ $percentage }%を使用しています。空き容量が増えました。
webhook-key-ended = Webhook（{ $host }）を作成した API キーが失効したため、無効にしました。
webhook-gone = Webhook（{ $host }）は存在しないと応答したため、無効にしました。
webhook-failing = Webhook（{ $host }）に何日も送信できないため、無効にしました。
