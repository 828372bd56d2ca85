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
sign-in-off-text = เซิร์ฟเวอร์นี้ยังเข้าสู่ระบบไม่ได้ ผู้ดูแลสามารถตั้งค่าให้เสร็จได้ในไม่กี่นาที
demo-people-title = อยากลองดูในมุมของใคร
demo-people-text = ทุกคนในรายชื่อนี้เป็นตัวละครสมมติ เลือกคนหนึ่งเพื่อดูแชทในแบบที่เขาเห็น
demo-role-owner = เจ้าของกลุ่ม
demo-role-member = อยู่ในกลุ่ม
demo-role-stranger = ไม่ได้อยู่ในกลุ่ม
problem-other-browser-title = เข้าสู่ระบบในเบราว์เซอร์นี้ไม่สำเร็จ
problem-other-browser-text = การเข้าสู่ระบบเริ่มในเบราว์เซอร์หนึ่งแต่ไปจบในอีกเบราว์เซอร์หนึ่ง หรือใช้เวลานานเกินไป มักเกิดเมื่อใช้โหมดส่วนตัว หรือเมื่อ LINE เปิดเบราว์เซอร์ของตัวเอง
problem-other-browser-step-private = ปิดโหมดส่วนตัว (ไม่ระบุตัวตน)
problem-other-browser-step-browser = เปิดหน้านี้ในเบราว์เซอร์ที่คุณใช้ประจำ เช่น Safari หรือ Chrome
problem-other-browser-step-again = แล้วเข้าสู่ระบบที่นั่นอีกครั้ง
problem-denied-title = คุณยังไม่ได้เข้าสู่ระบบ
problem-denied-text = การเข้าสู่ระบบถูกยกเลิก คุณลองใหม่ได้ทุกเมื่อ
problem-unconfirmed-title = ยืนยันการเข้าสู่ระบบไม่ได้
problem-unconfirmed-text = โปรดเข้าสู่ระบบอีกครั้ง หากยังไม่ได้ โปรดแจ้งผู้ดูแลเซิร์ฟเวอร์นี้
problem-unavailable-title = บริการเข้าสู่ระบบไม่ตอบสนอง
problem-unavailable-text = โปรดลองใหม่ในอีกไม่กี่นาที

## Errors
missing-title = เปิดหน้านี้ไม่ได้
missing-text = ไม่มีแชทนี้ หรือคุณไม่มีสิทธิ์อ่าน เฉพาะคนที่อยู่ในกลุ่มเท่านั้นที่อ่านข้อความของกลุ่มได้
missing-hint = คุณอยู่ในกลุ่มนี้ใช่ไหม ลองพิมพ์ข้อความในกลุ่ม แล้วเปิดหน้านี้อีกครั้ง
message-missing-title = ไม่พบข้อความนี้
message-missing-text = ข้อความนี้ไม่ได้ถูกเก็บไว้ หรือถูกลบไปแล้ว
error-title = เกิดข้อผิดพลาด
error-text = โปรดลองอีกครั้งในอีกสักครู่
error-busy-title = ระบบกำลังทำงานหนัก
error-input-title = ที่อยู่นี้ไม่ถูกต้อง
error-input-text = มีบางส่วนที่ระบบอ่านไม่เข้าใจ ลิงก์อาจถูกตัดขาด

## Home
home-title = แชท
home-attention = สิ่งที่คุณควรดู
home-empty-title = ยังไม่มีแชท
home-empty-text = เชิญบอตเข้ากลุ่ม LINE แล้วพิมพ์ข้อความในกลุ่ม จากนั้นกลุ่มจะปรากฏที่นี่
home-more = แชทเพิ่มเติม
usage-label = พื้นที่จัดเก็บ
usage-used = ใช้ไป { $percent }% จาก { $quota }
chat-members = สมาชิก { $count } คน
chat-messages = { $count ->
    [0] ยังไม่มีข้อความที่เก็บไว้
   *[other] เก็บไว้ { $count } ข้อความ
}
chat-nameless = แชทไม่มีชื่อ
chat-left = บอตออกจากแชทนี้แล้ว
chat-paused = หยุดชั่วคราว
attention-paused = พื้นที่เต็ม ข้อความใหม่จะไม่ถูกเก็บ
attention-unsubscribed = ไม่มีใครสำรองข้อมูลแชทนี้
attention-left = บอตไม่ได้อยู่ในแชทนี้แล้ว
attention-media = เก็บไฟล์ไม่สำเร็จ { $count } ไฟล์
attention-webhook-disabled = เว็บฮุคนี้ถูกปิดใช้งานแล้ว
attention-webhook-failing = เว็บฮุคนี้ไม่ตอบสนองตั้งแต่ { $date }

## Messages
kind-text = ข้อความ
kind-image = รูปภาพ
kind-video = วิดีโอ
kind-audio = ข้อความเสียง
kind-file = ไฟล์
kind-location = ตำแหน่ง
kind-sticker = สติกเกอร์
kind-other = อื่น ๆ
someone = ใครบางคน
everyone-former = ไม่ทราบผู้ส่ง
bot-name = บอต
mark-edited = แก้ไขแล้ว
mark-edited-at = แก้ไขเมื่อ { $date } { $time }
message-unsent = ข้อความนี้ถูกยกเลิกการส่ง
message-erased = ข้อความนี้ถูกลบแล้ว
quote-missing = ข้อความที่ไม่ได้เก็บไว้
media-pending = กำลังดาวน์โหลด
media-skipped = ไม่ได้เก็บไว้ เพราะพื้นที่เต็ม
media-failed = ดาวน์โหลดไม่สำเร็จ
media-expired = ไฟล์หมดอายุบนแพลตฟอร์มก่อนที่จะดาวน์โหลด
media-erased = ลบแล้ว
media-download = ดาวน์โหลด
media-download-named = ดาวน์โหลด { $name }
image-of = รูปภาพจาก { $name }
video-of = วิดีโอจาก { $name }
audio-of = ข้อความเสียงจาก { $name }
map-open = เปิดในแผนที่

gap-quota = หยุดสำรองข้อมูลชั่วคราว เพราะพื้นที่เต็ม
gap-bot_removed = บอตไม่ได้อยู่ในแชท
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
permalink-gone = ข้อความนี้ถูกยกเลิกการส่งหรือถูกลบแล้ว จึงไม่มีเนื้อหาเก็บไว้
permalink-show = ดูในบทสนทนา

viewer-label = หน้าจอดูรูปภาพ
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
search-relevance = ตรงที่สุด
search-newest = ใหม่ที่สุด
search-filters = ตัวกรอง
search-remove = ลบตัวกรอง: { $name }
search-before-date = ก่อน { $date }
search-after-date = ตั้งแต่ { $date }
search-results = { $count ->
    [0] ไม่พบข้อความ
   *[other] พบ { $count } ข้อความ
}
search-none = ลองใช้คำน้อยลงหรือคำอื่น หรือลบตัวกรองออก
search-unknown = ที่นี่ไม่มีคนชื่อ { $name }
search-more = ผลลัพธ์เพิ่มเติม
search-bad = ระบบไม่เข้าใจคำค้นนี้ โปรดตรวจสอบเครื่องหมายคำพูดและวันที่
search-away = ขณะนี้ค้นหาไม่ได้ โปรดลองอีกครั้งในอีกสักครู่
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

## Opting out

gap-opted_out = ข้อความของผู้ที่ขอไม่ให้เก็บ
