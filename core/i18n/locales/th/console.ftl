skip-to-content = ข้ามไปยังเนื้อหา
languages = ภาษา
nav-home = แชท
sign-out = ออกจากระบบ
close = ปิด
go-back = กลับ

## Sign-in
sign-in-title = เข้าสู่ระบบ
sign-in-text = อ่านและค้นหาข้อความของกลุ่มที่คุณอยู่
sign-in-button = เข้าสู่ระบบ
sign-in-line = เข้าสู่ระบบด้วย LINE
sign-in-off-title = ยังไม่ได้ตั้งค่าการเข้าสู่ระบบ
sign-in-off-text = เซิร์ฟเวอร์นี้ยังเข้าสู่ระบบไม่ได้ ผู้ดูแลระบบสามารถตั้งค่าให้เสร็จได้ในไม่กี่นาที
demo-people-title = ดูในมุมมองของใคร
demo-people-text = ทุกคนในรายชื่อนี้เป็นตัวละครสมมติ เลือกคนหนึ่งเพื่อดูแชทในแบบที่เขาเห็น
demo-role-owner = เจ้าของกลุ่ม
demo-role-member = สมาชิกกลุ่ม
demo-role-stranger = ไม่ได้อยู่ในกลุ่ม
problem-other-browser-title = เข้าสู่ระบบในเบราว์เซอร์นี้ไม่สำเร็จ
problem-other-browser-text = การเข้าสู่ระบบเริ่มในเบราว์เซอร์หนึ่งแต่ไปจบในอีกเบราว์เซอร์หนึ่ง หรือใช้เวลานานเกินไป มักเกิดเมื่อใช้โหมดส่วนตัว หรือเมื่อ LINE เปิดเบราว์เซอร์ของตัวเอง
problem-other-browser-step-private = ปิดโหมดส่วนตัว (ไม่ระบุตัวตน)
problem-other-browser-step-browser = เปิดหน้านี้ในเบราว์เซอร์ที่คุณใช้ประจำ เช่น Safari หรือ Chrome
problem-other-browser-step-again = จากนั้นเข้าสู่ระบบอีกครั้งในเบราว์เซอร์นั้น
problem-denied-title = คุณยังไม่ได้เข้าสู่ระบบ
problem-denied-text = การเข้าสู่ระบบถูกยกเลิก คุณลองใหม่ได้ทุกเมื่อ
problem-unconfirmed-title = ยืนยันการเข้าสู่ระบบไม่ได้
problem-unconfirmed-text = โปรดเข้าสู่ระบบอีกครั้ง หากยังไม่สำเร็จ โปรดแจ้งผู้ดูแลระบบ
problem-unavailable-title = บริการเข้าสู่ระบบไม่ตอบสนอง
problem-unavailable-text = โปรดลองใหม่ในอีกไม่กี่นาที

## Errors
missing-title = เปิดหน้านี้ไม่ได้
missing-text = ไม่มีแชทนี้ หรือคุณไม่มีสิทธิ์อ่าน เฉพาะคนที่อยู่ในกลุ่มเท่านั้นที่อ่านข้อความของกลุ่มได้
missing-hint = คุณอยู่ในกลุ่มนี้ใช่ไหม ลองพิมพ์ข้อความในกลุ่ม แล้วเปิดหน้านี้อีกครั้ง
message-missing-title = ไม่พบข้อความนี้
message-missing-text = ระบบไม่ได้เก็บข้อความนี้ไว้ หรือข้อความถูกลบไปแล้ว
error-title = เกิดข้อผิดพลาด
error-text = โปรดลองอีกครั้งภายหลัง
error-busy-title = ขณะนี้ระบบไม่ว่าง
error-input-title = ลิงก์ไม่ถูกต้อง
error-input-text = มีบางส่วนที่ระบบอ่านไม่ได้ ลิงก์อาจไม่ครบถ้วน

## Home
home-title = แชท
home-attention = สิ่งที่ต้องตรวจสอบ
home-empty-title = ยังไม่มีแชท
home-empty-text = เชิญบอทเข้ากลุ่ม LINE แล้วพิมพ์ข้อความในกลุ่ม จากนั้นกลุ่มจะปรากฏที่นี่
home-more = แชทเพิ่มเติม
usage-label = พื้นที่จัดเก็บ
usage-used = ใช้ไป { $percent }% จาก { $quota }
chat-members = สมาชิก { $count } คน
chat-messages = { $count ->
    [0] ยังไม่มีข้อความที่เก็บไว้
   *[other] เก็บไว้ { $count } ข้อความ
}
chat-nameless = แชทไม่มีชื่อ
chat-left = บอทออกจากแชทนี้แล้ว
chat-paused = หยุดชั่วคราว
attention-paused = พื้นที่เต็มแล้ว ระบบจะไม่เก็บข้อความใหม่
attention-unsubscribed = ไม่มีใครสำรองข้อมูลแชทนี้
attention-left = บอทไม่ได้อยู่ในแชทนี้แล้ว
attention-media = เก็บไฟล์ไม่สำเร็จ { $count } ไฟล์
attention-webhook-disabled = webhookนี้ถูกปิดใช้งานแล้ว
attention-webhook-failing = webhookนี้ไม่ตอบสนองตั้งแต่ { $date }

## Messages
kind-text = ข้อความ
kind-image = รูปภาพ
kind-video = วิดีโอ
kind-audio = ข้อความเสียง
kind-file = ไฟล์
kind-location = ตำแหน่งที่ตั้ง
kind-sticker = สติกเกอร์
kind-other = อื่น ๆ
name-unknown = ผู้ใช้ที่ไม่ทราบชื่อ
sender-unknown = ไม่ทราบผู้ส่ง
bot-name = บอท
mark-edited = แก้ไขแล้ว
mark-edited-at = แก้ไขเมื่อ { $date } { $time }
message-unsent = ยกเลิกการส่งข้อความนี้แล้ว
message-erased = ข้อความนี้ถูกลบแล้ว
quote-missing = ข้อความที่ไม่ได้เก็บไว้
media-pending = กำลังบันทึกไฟล์
media-skipped = ไม่ได้เก็บไว้ เพราะพื้นที่เต็ม
media-failed = บันทึกไฟล์ไม่สำเร็จ
media-expired = ไฟล์หมดอายุก่อนที่จะบันทึกได้
media-erased = ลบแล้ว
media-download = ดาวน์โหลด
media-download-named = ดาวน์โหลด { $name }
image-of = รูปภาพจาก { $name }
video-of = วิดีโอจาก { $name }
audio-of = ข้อความเสียงจาก { $name }
map-open = เปิดในแผนที่

gap-quota = หยุดสำรองข้อมูลชั่วคราว เพราะพื้นที่เต็ม
gap-bot_removed = บอทไม่ได้อยู่ในแชท
gap-unsubscribed = ไม่มีใครสำรองข้อมูลแชทนี้
gap-outage = ระบบหยุดทำงาน
gap-until = { $from } – { $to }
gap-since = ตั้งแต่ { $from }
gap-skipped = ไม่ได้เก็บไว้ { $count } ข้อความ

timeline-label = ข้อความ
timeline-older = ข้อความก่อนหน้า
timeline-newer = ข้อความถัดไป
timeline-begin = การสำรองข้อมูลเริ่มต้นที่นี่
timeline-newest = ไปที่ข้อความล่าสุด
timeline-date = ไปยังวันที่
timeline-go = ไป
timeline-empty-title = ยังไม่มีข้อความ
timeline-empty-text = เมื่อมีคนพิมพ์ข้อความในกลุ่ม ข้อความจะปรากฏที่นี่
timeline-new = ข้อความใหม่
message-link = ลิงก์ไปยังข้อความนี้
export = ส่งออก
tools = เครื่องมือ
media-wall = รูปภาพและไฟล์
media-empty-title = ยังไม่มีรูปภาพหรือไฟล์
media-empty-text = รูปภาพ วิดีโอ ข้อความเสียง และไฟล์ของแชทนี้จะปรากฏที่นี่
media-more = รายการก่อนหน้า

permalink-title = ข้อความ
permalink-edited = ข้อความนี้ถูกแก้ไขเมื่อ { $date } { $time } ที่แสดงคือข้อความปัจจุบัน
permalink-gone = ข้อความนี้ถูกยกเลิกหรือถูกลบแล้ว จึงไม่มีเนื้อหาเก็บไว้
permalink-show = ดูในบทสนทนา

viewer-label = ตัวแสดงรูปภาพ
viewer-previous = รูปก่อนหน้า
viewer-next = รูปถัดไป

## Search
search = ค้นหา
search-label = ค้นหาข้อความ
search-hint = คำค้น, "วลี", -ไม่เอาคำนี้, from:ชื่อ
search-submit = ค้นหา
search-type = ประเภท
search-any-type = ทุกประเภท
search-sender = ผู้ส่ง
search-anyone = ทุกคน
search-from = ตั้งแต่วันที่
search-to = ก่อนวันที่
search-sort = เรียงตาม
search-relevance = ตรงกับคำค้นมากที่สุด
search-newest = ใหม่ที่สุดก่อน
search-filters = ตัวกรอง
search-remove = ลบตัวกรอง: { $name }
search-before-date = ก่อน { $date }
search-after-date = ตั้งแต่ { $date }
search-results = { $count ->
    [0] ไม่พบข้อความ
   *[other] พบ { $count } ข้อความ
}
search-none = ลองใช้คำน้อยลงหรือคำอื่น หรือลบตัวกรองออก
search-unknown = ไม่พบคนชื่อ { $name } ในแชทนี้
search-more = ผลลัพธ์เพิ่มเติม
search-bad = ระบบไม่เข้าใจคำค้นนี้ โปรดตรวจสอบเครื่องหมายคำพูดและวันที่
search-away = ขณะนี้ค้นหาไม่ได้ โปรดลองอีกครั้งภายหลัง
search-start-text = ค้นหาทุกอย่างที่เคยคุยกันในแชทนี้

## Dates
weekday-1 = จ.
weekday-2 = อ.
weekday-3 = พ.
weekday-4 = พฤ.
weekday-5 = ศ.
weekday-6 = ส.
weekday-7 = อา.
month-1 = ม.ค.
month-2 = ก.พ.
month-3 = มี.ค.
month-4 = เม.ย.
month-5 = พ.ค.
month-6 = มิ.ย.
month-7 = ก.ค.
month-8 = ส.ค.
month-9 = ก.ย.
month-10 = ต.ค.
month-11 = พ.ย.
month-12 = ธ.ค.
date-long = { $weekday } { $day } { $month } { $year }
date-year = { $day } { $month } { $year }
date-short = { $day } { $month }
date-today = วันนี้
date-yesterday = เมื่อวาน

## Tabs and forms
tabs = หน้าต่าง ๆ ของแชทนี้
tab-messages = ข้อความ
tab-search = ค้นหา
tab-media = รูปภาพ
tab-assistant = ผู้ช่วย
cancel = ยกเลิก
done-saved = บันทึกแล้ว
done-added = เพิ่มแล้ว
done-deleted = ลบแล้ว
form-invalid = มีบางช่องไม่ถูกต้อง โปรดตรวจสอบ
form-stale = มีคนอื่นแก้ไขไปก่อนแล้ว ยังไม่ได้เขียนทับอะไร โปรดเทียบกับเนื้อหาปัจจุบัน แล้วบันทึกอีกครั้ง
form-conflict = ตอนนี้ทำไม่ได้เพราะข้อมูลเปลี่ยนไป โปรดโหลดหน้าใหม่เพื่อดูข้อมูลล่าสุด
form-plan-required = การตอบตามความหมายต้องใช้แพ็กเกจ “pro”
form-rules-too-large = กฎทั้งหมดของแชทนี้รวมกันยาวเกินไป โปรดย่อหรือลบบางข้อ
form-too-many-keys = มีคีย์ครบจำนวนแล้ว โปรดลบออกก่อนหนึ่งอัน
form-busy = เมื่อครู่ทำไม่สำเร็จ ข้อมูลยังอยู่ครบ โปรดส่งอีกครั้ง
form-limit = ไม่เกิน { $max } ตัวอักษร
defect-empty = โปรดกรอกช่องนี้
defect-too-long = ยาวเกินไป ใส่ได้ไม่เกิน { $max } ตัวอักษร
defect-too-many-keywords = คำสำคัญมากเกินไป ใส่ได้ไม่เกิน { $max } คำ
defect-no-keyword = โปรดใส่คำสำคัญอย่างน้อยหนึ่งคำ
defect-other = โปรดตรวจสอบช่องนี้
error-old-title = โปรดเปิดหน้านี้ใหม่
error-old-text = คุณเข้าสู่ระบบใหม่หลังจากเปิดหน้านี้ โปรดย้อนกลับ โหลดหน้าใหม่ แล้วส่งอีกครั้ง
error-stale-title = ข้อมูลเปลี่ยนไปแล้ว
error-stale-text = มีคนอื่นแก้ไขระหว่างที่คุณเปิดหน้านี้อยู่ ยังไม่ได้เขียนทับอะไร โปรดย้อนกลับและโหลดหน้าใหม่

## People
tab-people = สมาชิก
people-parts = แสดงใครบ้าง
people-present = อยู่ในแชท
people-guests = ไม่มีสิทธิ์
people-left = ออกแล้ว
people-me = คุณ
people-more = สมาชิกเพิ่มเติม
people-empty-title = ไม่มีใคร
people-empty-text = คนที่เข้ากลุ่มหรือส่งข้อความในกลุ่มจะปรากฏที่นี่
person-since = เข้าร่วมเมื่อ { $date }
person-left = ออกเมื่อ { $date }
person-role = บทบาท
person-missing-title = ไม่พบคนนี้
person-missing-text = เท่าที่บอทรู้ คนนี้ไม่เคยอยู่ในแชทนี้
role-owner = เจ้าของ
role-owner-hint = ตัดสินใจเรื่องการสำรองข้อมูล บทบาท และการลบ
role-admin = แอดมิน
role-admin-hint = ตั้งค่าผู้ช่วยได้ด้วย
role-member = สมาชิก
role-member-hint = อ่านและค้นหาข้อความได้
role-guest = ไม่มีสิทธิ์
role-guest-hint = อ่านอะไรที่นี่ไม่ได้
person-erase-title = ลบข้อความของคนนี้
person-erase-text = ทุกอย่างที่คนนี้ส่งในแชทนี้ รวมถึงรูปและไฟล์ จะถูกลบออกจากข้อมูลสำรองอย่างถาวรและกู้คืนไม่ได้ ข้อความใน LINE ยังอยู่เหมือนเดิม
person-erase-label = พิมพ์ชื่อเพื่อยืนยัน:
person-erase-hint = ไม่สนตัวพิมพ์เล็กใหญ่และช่องว่าง
person-erase-mistyped = ชื่อไม่ตรง ยังไม่ได้ลบอะไร
person-erase-button = ลบถาวร
save = บันทึก

## Settings of a chat
tab-settings = ตั้งค่า
settings-backup = การสำรองข้อมูล
settings-subscribed = คุณกำลังสำรองข้อมูลแชทนี้ ข้อความใหม่จะถูกเก็บและนับรวมในพื้นที่ของคุณ
settings-unsubscribed = คุณไม่ได้สำรองข้อมูลแชทนี้ หากเริ่ม ข้อความใหม่จะถูกเก็บและนับรวมในพื้นที่ของคุณ
settings-subscribe = สำรองข้อมูลแชทนี้
unsubscribe-title = หยุดสำรองข้อมูลแชทนี้ไหม
unsubscribe-text = ข้อความใหม่จะไม่ถูกเก็บให้คุณอีก ข้อมูลที่สำรองไว้แล้วยังอยู่ หากไม่มีใครสำรองข้อมูลแชทนี้ ข้อความใหม่จะไม่ถูกเก็บเลย
unsubscribe-button = หยุดสำรองข้อมูล
coverage-title = ข้อมูลที่สำรองไว้
coverage-since = สำรองข้อมูลตั้งแต่
coverage-never = ไม่เคย
coverage-first = ข้อความเก่าที่สุด
coverage-last = ข้อความล่าสุด
coverage-removed = ลบเพราะครบกำหนด ก่อนวันที่
coverage-files = { $count } ไฟล์
coverage-gaps = ช่วงที่ไม่มีการสำรองข้อมูล
coverage-complete = ไม่มีอะไรขาดหายตั้งแต่นั้น
settings-zone = เขตเวลา
settings-zone-label = แชทนี้ใช้เวลาของที่ใด
settings-zone-hint = เว้นว่างเพื่อใช้ของเซิร์ฟเวอร์:
settings-zone-unknown = ไม่รู้จักเขตเวลานี้ โปรดเลือกจากรายการ เช่น Asia/Bangkok
settings-retention = ลบข้อความเก่าอัตโนมัติ
settings-days-label = เก็บข้อความไว้กี่วัน
settings-days-hint = เว้นว่างเพื่อเก็บไว้ตลอด
settings-days-invalid = โปรดใส่จำนวนเต็ม 1 ถึง 36500 หรือเว้นว่าง
retention-title = ลบข้อความเก่าอัตโนมัติไหม
retention-text = { $count ->
    [0] ข้อความจะถูกลบหลังจาก { $days } วัน ตอนนี้ยังไม่มีข้อความที่เก่าขนาดนั้น
   *[other] ข้อความจะถูกลบหลังจาก { $days } วัน ตอนนี้มี { $count } ข้อความที่เก่ากว่านั้น ซึ่งจะถูกลบถาวรภายในหนึ่งวัน
}
retention-button = ลบอัตโนมัติ
delete-title = ลบข้อความก่อนวันที่
delete-text = ข้อความ { $count } รายการก่อน { $date } ({ $size }) จะถูกลบถาวรและกู้คืนไม่ได้
delete-button = ลบถาวร
settings-before-label = ทุกอย่างที่ส่งก่อนวันที่
settings-before-hint = คุณจะเห็นจำนวนก่อนที่จะลบจริง
settings-before-button = นับข้อความ
settings-before-invalid = โปรดเลือกวันที่
settings-before-nothing = ไม่มีข้อความก่อนวันที่นั้น
job-running-title = กำลังลบ…
job-running-text = ลบแล้ว { $done } จาก { $total } ข้อความ คุณออกจากหน้านี้ได้ ระบบจะทำต่อเอง
job-done-title = ลบแล้ว
job-done-text = { $done ->
    [0] ไม่มีอะไรต้องลบ
   *[other] ลบ { $done } ข้อความแล้ว ได้พื้นที่คืน { $size }
}
job-failed-title = ทำไม่สำเร็จ
job-failed-text = ลบแล้ว { $done } จาก { $total } ข้อความ โปรดลองอีกครั้ง


## Pages of the assistant
assistant-sections = หน้าของผู้ช่วย
assistant-overview = ภาพรวม
assistant-rules = กฎ
assistant-try = ลองดู
assistant-switch = ก่อนเปลี่ยน
assistant-unanswered = ยังไม่ได้ตอบ
assistant-texts = ข้อความ

## Assistant: overview
attention-unanswered = มีคำถาม { $count } ข้อในช่วง 30 วันที่ผ่านมาที่ยังไม่มีคำตอบ
form-now = ตอนนี้: { $value }
overview-card-rules = กฎ
overview-card-answers = คำตอบใน 30 วัน
overview-card-unanswered = คำถามที่ยังไม่มีคำตอบ
overview-on = เปิด
overview-off = ปิด
overview-enabled = ให้บอทตอบในแชตนี้
overview-enabled-hint = เมื่อปิด บอทจะไม่ส่งข้อความใด ๆ เลย
overview-parts = สิ่งที่บอททำ
overview-qa = ถาม-ตอบ
overview-qa-hint = ตอบคำถามตามกฎของคุณ
overview-welcome = ข้อความต้อนรับ
overview-welcome-hint = ทักทายคนที่เข้ากลุ่ม
overview-group-rules = กติกากลุ่ม
overview-group-rules-hint = แสดงกติกากลุ่มเมื่อมีคนส่งคำที่กำหนดไว้
overview-to-texts = เขียนข้อความต้อนรับและกติกากลุ่ม
overview-mode = วิธีจับคำถาม
qa-mode-keyword = คีย์เวิร์ด
qa-mode-keyword-hint = ต้องส่งคำสำคัญตรงตัว
qa-mode-fuzzy = ยืดหยุ่น
qa-mode-fuzzy-hint = พิมพ์ผิด สลับคำ หรือเปลี่ยนคำเล็กน้อยก็ตอบได้
qa-mode-semantic = ตามความหมาย
qa-mode-semantic-hint = ถามเรื่องเดียวกันด้วยคำอื่นก็ตอบได้
qa-mode-semantic-pro = ถามเรื่องเดียวกันด้วยคำอื่นก็ตอบได้ ต้องใช้แพ็กเกจ “pro”
overview-replaced = แพ็กเกจปัจจุบันไม่รวมการตอบตามความหมาย บอทจึงทำงานแบบ “{ $mode }”
overview-match = นับคำสำคัญเมื่อ
overview-match-exact = ทั้งข้อความคือคำสำคัญ
overview-match-exact-hint = “เวลาเปิด” ตอบ “เวลาเปิด?” แต่ไม่ตอบ “ขอถามเวลาเปิดหน่อย”
overview-match-contains = มีคำสำคัญอยู่ในข้อความ
overview-match-contains-hint = “เวลาเปิด” ตอบ “ขอถามเวลาเปิดหน่อย” ด้วย
overview-compare = ดูว่าอะไรจะเปลี่ยน
overview-compare-hint = แสดงข้อความในช่วง 30 วันที่จะได้คำตอบต่างไป การดูจะไม่บันทึกอะไร
overview-quiet = ตอบบ่อยแค่ไหน
overview-cooldown = หลังตอบแล้ว ให้กฎเดิมพัก
overview-cooldown-hint = เพื่อไม่ให้ตอบซ้ำ ๆ ในแชตที่คุยกันเยอะ
overview-cooldown-none = ไม่ต้องพัก
overview-seconds = { $count } วินาที
overview-minutes = { $count } นาที
overview-hours = { $count } ชั่วโมง
overview-scope = เมื่อไม่มีกฎที่ตรง ให้ตอบกลับ
overview-scope-addressed = เฉพาะเมื่อพูดกับบอท
overview-scope-addressed-hint = มีคนกล่าวถึงบอทหรือตอบกลับข้อความของบอท
overview-scope-always = ทุกข้อความที่ไม่มีคำตอบ
overview-scope-always-hint = เหมาะกับแชตที่มีไว้ถามคำถามเท่านั้น
overview-save = บันทึก

## Assistant: past messages
history-running = กำลังอ่านข้อความ…
history-incomplete = มีข้อความจำนวนมาก จึงตรวจเฉพาะ { $count } ข้อความล่าสุด
pages-earlier = หน้าก่อน
pages-later = หน้าถัดไป
switch-lead = เปรียบเทียบว่าบอทจะตอบอย่างไรในช่วง 30 วันที่ผ่านมา โดยไม่ส่งข้อความใด ๆ
switch-mode = เปรียบเทียบกับ
switch-compare = เปรียบเทียบ
switch-told = { $changed ->
    [0] ตรวจ { $scanned } ข้อความตั้งแต่ { $date } แล้ว คำตอบเหมือนเดิมทั้งหมด
   *[other] ตรวจ { $scanned } ข้อความตั้งแต่ { $date } แล้ว มี { $changed } ข้อความที่จะได้คำตอบต่างไป
}
switch-new = คำตอบใหม่
switch-lost = คำตอบที่หายไป
switch-other = คำตอบที่เปลี่ยน
switch-same = คำตอบเหมือนเดิม
switch-listed = ข้อความ (ที่ต่างกันอยู่ก่อน)
switch-nothing = ไม่มีข้อความแบบนี้
switch-how = เปรียบเทียบคำตอบจากกฎ จากคำเรียกกติกากลุ่ม และจากคำเรียกลิงก์ ไม่รวมเวลาพักหลังตอบและข้อความตอบกลับเมื่อไม่มีกฎที่ตรง
switch-with-rule = เมื่อใช้กฎนี้
switch-no-answer = ไม่ตอบ
switch-source-rules = กติกากลุ่ม
switch-source-link = ลิงก์
switch-source-rule = กฎ
switch-button = เปลี่ยนเป็น “{ $mode }”
switch-button-match = เปลี่ยน
switch-stay = ใช้แบบเดิม
switch-today = ตอนนี้
unanswered-lead = คำถามที่มีคนถามแต่ยังไม่มีกฎตอบ
unanswered-period = ช่วงเวลา
unanswered-days = { $count ->
    [365] 1 ปี
   *[other] { $count } วัน
}
unanswered-told = พบ { $questions } คำถามใน { $scanned } ข้อความตั้งแต่ { $date } เรียงจากที่ถามบ่อยที่สุด
unanswered-nothing-title = ไม่มีข้อความในช่วงนี้
unanswered-nothing-text = เมื่อมีคนถามในแชต คำถามจะปรากฏที่นี่ แชตต้องมีการสำรองข้อมูล
unanswered-none-title = ทุกคำถามมีคำตอบแล้ว
unanswered-none-text = คำถามในช่วงนี้มีกฎตอบครบแล้ว กลับมาดูใหม่ภายหลังหรือเลือกช่วงเวลาที่ยาวขึ้น
unanswered-asked = { $count ->
    [1] ถาม 1 ครั้ง ({ $when })
   *[other] ถาม { $count } ครั้ง ล่าสุด { $when }
}
unanswered-make = สร้างเป็นกฎ
unanswered-add = เพิ่มในกฎที่มี
unanswered-nearest = เพิ่มในกฎที่ใกล้เคียงที่สุด:
unanswered-examples = แสดง { $count } ข้อความ
unanswered-choose = ให้กฎไหนตอบคำถามนี้
unanswered-filter = ค้นหากฎ
unanswered-filter-go = ค้นหา
unanswered-no-rule-title = ไม่พบกฎ
unanswered-back = กลับไปที่คำถาม
unanswered-more-rules = ยังมีกฎอื่นอีก ลองค้นหาด้วยคำที่อยู่ในกฎ

## Assistant: texts
texts-on = เปิดใช้
texts-welcome = ข้อความต้อนรับ
texts-welcome-text = ข้อความ
texts-welcome-hint = จะถูกแทนด้วยชื่อสมาชิกใหม่และชื่อกลุ่ม:
texts-preview = ตัวอย่าง
texts-preview-none = เขียนข้อความแล้วจะเห็นตัวอย่างที่นี่
texts-show-preview = แสดงตัวอย่าง
texts-now = ข้อความตอนนี้:
texts-rules = กติกากลุ่ม
texts-rules-text = ข้อความ
texts-rules-words = คำที่ใช้เรียกกติกากลุ่ม
texts-words-hint = หนึ่งคำต่อหนึ่งบรรทัด
texts-no-match = เมื่อไม่มีกฎที่ตรง
texts-no-match-text = ข้อความตอบกลับ
texts-no-match-hint = เว้นว่างไว้ บอทจะไม่ตอบ
texts-no-match-scope = เลือกว่าจะตอบกลับเมื่อใด
texts-link = ลิงก์ของหน้านี้
texts-link-hint = เมื่อมีคนส่งคำที่กำหนด บอทจะตอบด้วยที่อยู่ของหน้าแชตนี้ เฉพาะสมาชิกเท่านั้นที่เปิดได้
texts-link-address = บอทจะตอบว่า:
texts-link-none = เซิร์ฟเวอร์นี้ยังไม่มีที่อยู่สาธารณะ ผู้ดูแลต้องตั้งค่า api.base_url
texts-link-words = คำเรียก เช่น “ลิงก์”

## Rules of the assistant
done-imported = นำเข้าแล้ว
error-large-title = มากเกินไปสำหรับครั้งเดียว
error-large-text = โปรดแบ่งส่งเป็นหลายครั้ง ยังไม่มีอะไรเปลี่ยนแปลง
rule-missing-title = ไม่พบกฎนี้
rule-missing-text = อาจมีคนลบไปแล้ว
rules-count = { $count } กฎ
rules-add = เพิ่มกฎ
rules-import = นำเข้า
rules-export = ส่งออก
rules-empty-title = ยังไม่มีกฎ
rules-empty-text = เพิ่มคำถามที่คนถามบ่อยพร้อมคำตอบ แล้วบอทจะตอบในกลุ่มให้
rules-filter = ค้นหาในกฎ
rules-sort = เรียงตาม
rules-sort-oldest = ลำดับการจับคู่
rules-sort-hits = ตอบบ่อยที่สุด
rules-sort-changed = แก้ไขล่าสุด
rules-show = แสดง
rules-none-title = ไม่พบกฎ
rules-none-text = ลองใช้คำน้อยลงหรือคำอื่น
rules-all = แสดงทั้งหมด
rules-caption = กฎของแชตนี้
rules-texts = คำถามและคำตอบ
rules-use = การใช้งาน
rules-actions = แก้ไข
rules-edit = แก้ไข
rules-hits = { $count ->
    [0] ยังไม่เคยใช้
   *[other] ตอบ { $count } ครั้ง
}
rules-previous = หน้าก่อน
rules-next = หน้าถัดไป
rules-warning-first = “{ $word }” อยู่ในหลายกฎ กฎนี้เป็นผู้ตอบเพราะเก่าที่สุด
rules-warning-later = “{ $word }” อยู่ในกฎที่เก่ากว่าด้วย กฎนั้นจะตอบแทน
rules-warning-trigger = “{ $word }” ใช้เรียกกติกากลุ่ม กฎนี้จึงไม่ตอบคำนี้
rule-new-title = เพิ่มกฎ
rule-edit-title = แก้ไขกฎ
rule-keywords = คีย์เวิร์ด
rule-keywords-lines = บรรทัดละหนึ่งคำ
rule-keywords-chips = กด Enter หรือจุลภาคเพื่อเพิ่ม
rule-keywords-hint = ได้ไม่เกิน { $count } คำ คำละไม่เกิน { $max } ตัวอักษร
rule-keyword-remove = ลบคีย์เวิร์ด
rule-keyword-added = เพิ่มแล้ว
rule-keyword-removed = ลบแล้ว
rule-question = คำถาม
rule-question-hint = ไม่บังคับ ช่วยให้บอทหากฎเจอเมื่อถามด้วยคำอื่น
rule-answer = คำตอบ
rule-answer-hint = บอทจะส่งข้อความนี้ในแชต
rule-save = บันทึก
rule-delete = ลบกฎ
rule-delete-title = ลบกฎนี้ใช่ไหม
rule-delete-text = บอทจะไม่ใช้กฎนี้ตอบ “{ $word }” อีก และย้อนกลับไม่ได้
rule-present = ข้อมูลปัจจุบัน
rule-gone = มีคนลบกฎนี้ไปแล้ว ถ้าบันทึกจะเพิ่มใหม่อีกครั้ง
import-title = นำเข้ากฎ
import-text = นำเข้ากฎจากสเปรดชีต โดยจะแสดงผลให้ดูก่อนเปลี่ยนแปลงจริง กฎที่ไม่อยู่ในตารางจะยังอยู่เหมือนเดิม
import-file = เลือกไฟล์ (CSV)
import-paste = หรือวางตารางที่นี่
import-hint = คอลัมน์: keywords, question, answer ใส่หลายคีย์เวิร์ดในช่องเดียวได้ คั่นด้วยจุลภาคหรือขึ้นบรรทัดใหม่ วิธีที่ง่ายที่สุดคือส่งออก แก้ไข แล้วนำเข้า
import-check = ตรวจสอบ
import-preview = ผลของการนำเข้า
import-empty = ไม่มีกฎในตารางนี้
import-too-many = แชตหนึ่งมีได้ไม่เกิน { $count } กฎ
import-added = เพิ่มใหม่ { $count }
import-changed = แก้ไข { $count }
import-same = เหมือนเดิม { $count }
import-refused = มีปัญหา { $count }
import-nothing-until = ยังไม่ได้นำเข้า โปรดแก้ { $count } แถวแล้วตรวจสอบอีกครั้ง
import-ready = ยังไม่มีอะไรเปลี่ยนแปลง
import-nothing-to-do = กฎเหล่านี้มีอยู่แล้วทั้งหมด
import-stale = มีคนแก้กฎระหว่างนี้ นี่คือผลหากนำเข้าตอนนี้
import-more = และอีก { $count } แถว
import-confirm = นำเข้า { $count } กฎ
import-row-added = เพิ่มใหม่
import-row-changed = แก้ไข
import-row-same = เหมือนเดิม
import-row-refused = มีปัญหา
import-line = บรรทัด { $line }
import-repeated = เป็นกฎเดียวกับบรรทัด { $line }
try-label = มีคนเขียนว่า
try-hint = พิมพ์เหมือนที่คนเขียนในกลุ่ม จะไม่มีการส่งจริง
try-submit = ลองดู
try-now = ตอนนี้
try-now-rule = มีกฎที่ตอบ
try-now-group-rules = บอทแสดงกติกากลุ่ม
try-now-no-match = ไม่มีกฎที่ตรง บอทจะส่งข้อความตอบกลับที่ตั้งไว้
try-now-off = ผู้ช่วยปิดอยู่ บอทจะไม่ตอบ
try-now-silent = ไม่มีกฎที่ตรง บอทจะไม่ตอบ
try-rule = ดูกฎ
try-modes = ในแต่ละโหมด
try-mode-keyword = คีย์เวิร์ด
try-mode-keyword-text = ตอบเมื่อมีคีย์เวิร์ดตรงทุกตัวอักษร
try-mode-fuzzy = ยืดหยุ่น
try-mode-fuzzy-text = เข้าใจแม้พิมพ์ผิดหรือเรียงคำต่างกัน
try-mode-semantic = ตามความหมาย
try-mode-semantic-text = เข้าใจคำอื่นที่มีความหมายเดียวกัน
try-present = กำลังใช้
try-needs-plan = ต้องใช้แพ็กเกจ pro
try-answers = ตอบ
try-silent = ไม่ตอบ
try-score = ความใกล้เคียง
try-reason-trigger = “{ $word }” เป็นคำเรียกกติกากลุ่ม ซึ่งมาก่อนทุกกฎ
try-reason-keyword = มีคีย์เวิร์ด “{ $word }”
try-reason-near = ใกล้เคียงกฎนี้ { $score }% (ต้องได้ { $least }%)
try-reason-far = กฎที่ใกล้ที่สุดได้ { $score }% แต่ต้องได้ { $least }%
try-reason-close = มีสองกฎที่ใกล้เคียงพอ ๆ กัน บอทจึงไม่เดา
try-reason-no-keyword = ไม่มีคีย์เวิร์ดที่ตรง
try-reason-nothing = ไม่มีกฎใดใกล้เคียง
try-note = ในแชตจริงกฎเดิมอาจเว้นช่วงก่อนตอบซ้ำ แต่การลองนี้ไม่นับช่วงเว้น ส่วนข้อความต้อนรับมีไว้สำหรับสมาชิกใหม่เท่านั้น

## Origins of replies
origin-rule = ตอบโดยกฎ:
origin-some-rule = ตอบโดยกฎอัตโนมัติ
origin-rule-removed = ตอบโดยกฎที่ถูกลบไปแล้ว
origin-welcome = ข้อความต้อนรับ
origin-group-rules = กฎของกลุ่ม
origin-link = ลิงก์ไปยังหน้านี้
origin-no-match = ไม่มีกฎที่ตรงกัน
origin-keywords = { $first }, { $next }

## Export
export-cancel = ยกเลิก
export-title = ส่งออกข้อความ
export-text = บันทึกข้อความของแชทนี้เป็นไฟล์เดียว ไม่รวมรูปภาพ วิดีโอ และไฟล์
export-format = ชนิดของไฟล์
export-html = หน้าเว็บสำหรับอ่าน
export-html-hint = เปิดได้ในทุกเบราว์เซอร์
export-csv = ตาราง
export-csv-hint = สำหรับ Excel, Numbers หรือ Google ชีต
export-jsonl = สำเนาฉบับเต็ม
export-jsonl-hint = นำเข้าเซิร์ฟเวอร์นี้หรือเซิร์ฟเวอร์อื่นได้อีก
export-days = ช่วงเวลา
export-days-hint = เว้นว่างทั้งสองช่องเพื่อส่งออกทั้งหมด
export-from = วันแรก
export-to = วันสุดท้าย
export-bad-date = โปรดใส่วันที่ให้ถูกต้อง
export-bad-order = วันสุดท้ายอยู่ก่อนวันแรก
export-start = ส่งออก
export-progress = { $done } จาก { $total } ข้อความ · { $size }
export-ready = เสร็จแล้ว: { $total } ข้อความ, { $size }
export-save = บันทึกไฟล์
export-share = แชร์
export-again = ส่งออกใหม่
export-failed = การส่งออกถูกขัดจังหวะ โปรดลองอีกครั้ง
export-cancelled = ยกเลิกการส่งออกแล้ว
export-hint = ถ้าไฟล์ไม่ถูกบันทึก ให้เปิดหน้านี้ในเบราว์เซอร์ที่ใช้ประจำ เช่น Safari หรือ Chrome

## Refusals
error-page-title = ไม่พบหน้านี้
error-page-text = ลิงก์อาจไม่ครบ
error-hasty-title = โปรดรอสักครู่
error-hasty-text = มีการเปิดหลายหน้าเกินไปในเวลาสั้นๆ
error-hasty-hint = ลองอีกครั้งใน { $count } วินาที

## Opting out

gap-opted_out = ข้อความของผู้ที่ขอไม่ให้เก็บ

## My data
done-erasing = กำลังลบข้อความของคุณ อาจใช้เวลาสักครู่
my-data-title = ข้อมูลของฉัน
my-data-text = สิ่งที่เก็บไว้เกี่ยวกับคุณ แยกตามแชท
my-data-messages = { $count ->
    [0] ไม่มีข้อความ
   *[other] { $count } ข้อความ
}
my-data-not-kept = ไม่เก็บ
my-data-empty-title = ไม่มีอะไรเก็บไว้
my-data-empty-text = คุณไม่เคยอยู่ในแชทที่มีบอท
my-data-files = รูปและไฟล์
my-data-size = ขนาด
my-data-kept-title = สิ่งที่เก็บไว้
my-data-to-chat = เปิดแชท
my-data-export = บันทึกสำเนา
my-data-export-text = ทุกอย่างของคุณที่เก็บไว้จากทุกแชท รวมในไฟล์เดียว
my-data-json = ข้อมูลสำหรับโปรแกรม
my-data-json-hint = JSON พร้อมรายละเอียดทั้งหมด
my-data-save = บันทึกไฟล์
my-data-out-title = ไม่ให้เก็บข้อความ
my-data-out-text = หากเลือกข้อนี้ สิ่งที่คุณส่งในแชทนี้ตั้งแต่นี้ไปจะไม่ถูกเก็บ ค้นหาไม่พบ และไม่ส่งต่อให้โปรแกรมอื่น คนอื่นจะเห็นเพียงจำนวนข้อความที่ขาดไปในแต่ละวัน
my-data-out-rest = บอทยังอ่านข้อความของคุณเพื่อตอบ สิ่งที่เก็บไว้แล้วจะยังอยู่จนกว่าคุณจะลบ
my-data-out-button = ไม่ต้องเก็บข้อความของฉัน
my-data-in-title = ข้อความของคุณไม่ถูกเก็บ
my-data-in-text = สิ่งที่คุณส่งในแชทนี้ไม่ถูกเก็บ หากเปลี่ยนใจ จะเก็บข้อความตั้งแต่นั้นไป ข้อความระหว่างนี้จะหายไป
my-data-in-button = เก็บข้อความของฉันอีกครั้ง
my-data-all = ทุกแชท
my-data-all-out = คุณขอไม่ให้เก็บอะไรของคุณในทุกแชท
my-data-all-out-text = หากเลือกข้อนี้ สิ่งที่คุณส่งตั้งแต่นี้ไปจะไม่ถูกเก็บในแชทใดเลย รวมถึงแชทที่คุณเข้าร่วมภายหลัง
my-data-all-out-button = ไม่ต้องเก็บในทุกแชท
my-data-all-in-text = หากเปลี่ยนใจ จะเก็บข้อความในทุกแชทตั้งแต่นั้นไป ข้อความระหว่างนี้จะหายไป
my-data-erase = ลบข้อความของฉัน
my-data-erase-text = ทุกอย่างที่คุณส่งในแชทนี้ รวมถึงรูปและไฟล์ จะถูกลบออกจากข้อมูลสำรองอย่างถาวรและกู้คืนไม่ได้ ข้อความใน LINE ยังอยู่เหมือนเดิม
my-data-erase-all = ลบทุกอย่างของฉัน
my-data-erase-all-text = ทุกอย่างที่คุณส่งในทุกแชท รวมถึงรูปและไฟล์ จะถูกลบออกจากข้อมูลสำรองอย่างถาวรและกู้คืนไม่ได้ ข้อความใน LINE ยังอยู่เหมือนเดิม

## Activity log
log-title = บันทึกการใช้งาน
log-text = ใครเปลี่ยนอะไรในแชทนี้ และใครอ่านข้อความ มีเพียงคุณที่เป็นเจ้าของเท่านั้นที่เห็น
log-open = ดูบันทึกการใช้งาน
log-changes = การเปลี่ยนแปลง
log-reads = การอ่าน
log-changes-hint = การเปลี่ยนแปลงใน 180 วันที่ผ่านมา เรียงจากใหม่ไปเก่า
log-reads-hint = ใครอ่านข้อความกี่ครั้งในแต่ละวัน (UTC) โดยไม่บันทึกว่าอ่านอะไร เก็บไว้ 180 วัน
log-kind = อะไร
log-any-kind = ทั้งหมด
log-person = ใคร
log-day = วันที่
log-empty-title = ไม่พบรายการ
log-empty-text = ไม่มีรายการแบบนี้ใน 180 วันที่ผ่านมา
log-more = ก่อนหน้านี้
log-before = เดิม:
log-after = ใหม่:
log-days = หลัง { $count } วัน
log-never = ไม่ลบ
log-deletions = การลบข้อความ
log-erasures = การลบข้อความของบุคคล
log-rule-added = เพิ่มกฎ
log-rule-changed = แก้ไขกฎ
log-rule-deleted = ลบกฎ
log-role = บทบาทของ { $name }
log-erased = ลบข้อความของ { $name }
log-deleted = ลบข้อความก่อน { $date }
log-subscribed = เริ่มสำรองข้อมูลแชทนี้
log-unsubscribed = หยุดสำรองข้อมูลแชทนี้
log-read-list = อ่านข้อความ
log-read-search = ค้นหาข้อความ
log-read-open = เปิดข้อความเดี่ยว
log-read-media = ดูรูปและไฟล์
log-read-export = ส่งออกข้อความ
log-read-events = รับข้อความใหม่ด้วยโปรแกรม
log-read-history = เทียบคำตอบกับข้อความที่ผ่านมา
log-key = คีย์ “{ $name }”
log-program = โปรแกรม “{ $name }”
log-others = มีผู้อ่านมากเกินกว่าจะแสดง
log-times = { $count } ครั้ง
