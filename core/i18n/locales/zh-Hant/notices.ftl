usage-exceeded = 您的儲存空間（{ $quota }）已滿，新訊息暫停備份。升級方案、停止備份部分聊天室或刪除舊訊息後，就會自動恢復備份。
usage-filling = 您的備份已使用 { $quota } 的 { $percentage }%。空間用完後，新訊息將不再備份。
usage-resumed = 您的備份已使用 { $quota } 的 { $percentage }%。新訊息已恢復備份。
usage-relieved = 您的備份已使用 { $quota } 的 { $percentage }%。空間已經足夠。
webhook-key-ended = 建立您的 webhook（{ $host }）的 API 金鑰已失效，因此這個 webhook 已停用。
webhook-gone = 您的 webhook（{ $host }）回應該網址已不存在，因此已停用。
webhook-failing = 您的 webhook（{ $host }）連續多日無法送達，已停用。
