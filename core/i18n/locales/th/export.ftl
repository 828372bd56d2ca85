## Page of an export for reading
page-zone = เวลาแสดงตามเขตเวลา { $zone }
page-without-files = ไม่รวมรูปภาพ วิดีโอ และไฟล์
page-earlier = ข้อความก่อนหน้านี้
page-earlier-texts = ข้อความก่อนแก้ไข
page-count = { $count } ข้อความ
