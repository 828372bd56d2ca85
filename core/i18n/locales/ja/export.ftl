## Page of an export for reading
page-zone = 時刻のタイムゾーンは{ $zone }です
page-without-files = 写真・動画・ファイルは含まれていません。
page-earlier = 以前のメッセージ
page-earlier-texts = 編集前の内容
page-count = メッセージ{ $count }件
