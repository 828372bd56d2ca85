## Page of an export for reading
page-zone = 時間以 { $zone } 時區顯示
page-without-files = 不含照片、影片和檔案。
page-earlier = 較早的訊息
page-earlier-texts = 編輯前的內容
page-count = { $count } 則訊息
