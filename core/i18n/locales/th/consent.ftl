## Consent of a person to an app that reads for them
consent-title = อนุญาตให้ “{ $name }” อ่านแชทของคุณไหม
consent-person = คุณเข้าสู่ระบบในชื่อ { $person }
consent-asks = “{ $name }” จะทำสิ่งต่อไปนี้ได้:
consent-may-messages = อ่านและค้นหาข้อความ
consent-may-media = ดูรูปภาพและเปิดไฟล์
consent-may-members = ดูว่าใครอยู่ในแชท
consent-where = ให้อ่านแชทใดบ้าง
consent-all = ทุกแชทที่ฉันอ่านได้ รวมถึงแชทที่เพิ่มภายหลัง
consent-chosen = เฉพาะแชทเหล่านี้:
consent-choose = โปรดเลือกอย่างน้อยหนึ่งแชท หรือเลือกทุกแชท
consent-later = แอปเปลี่ยนแปลงอะไรไม่ได้ และคุณยกเลิกการอนุญาตได้ทุกเมื่อ
consent-place = ชื่อนี้แอปตั้งเอง เมื่ออนุญาตแล้วระบบจะพาคุณไปที่ { $place } อนุญาตเฉพาะเมื่อคุณมาจากที่นั่น
consent-place-own = แอปบนอุปกรณ์ของคุณเอง
consent-place-scheme = แอปที่เปิดลิงก์ { $scheme }
consent-allow = อนุญาต
consent-deny = ไม่อนุญาต
consent-unnamed = แอปไม่มีชื่อ

## Apps that a person allowed to read
consents-title = แอปที่ { $person } อนุญาตให้อ่าน
consents-all = ทุกแชท
consents-some = { $count } แชท
consents-row = { $reach } อนุญาตตั้งแต่ { $date }
consents-none = ไม่มี

## Request of an app that is refused
consent-refused-title = “{ $name }” อ่านแชทของคุณไม่ได้
consent-refused-text = คำขอของแอปไม่ถูกต้อง ({ $why }) ยังไม่มีการอนุญาตใด ๆ
consent-refused-report = แจ้งให้แอปทราบ
consent-refused-place = ชื่อนี้แอปตั้งเอง ลิงก์จะพาไปที่ { $place } เปิดเฉพาะเมื่อคุณมาจากที่นั่น
