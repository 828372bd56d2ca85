## The page of operators about the set-up of the bots

operator-line-title = การตั้งค่า LINE
operator-line-text = สิ่งที่ LINE ตอบเกี่ยวกับบอทแต่ละตัว และสิ่งที่มีเพียงคุณเท่านั้นที่ดูได้ในคอนโซล
operator-line-checked = ถามเมื่อ { $time }
operator-line-fix = ตั้งค่า Webhook URL
operator-line-fix-text = จากนั้น LINE จะส่ง webhook ของบอทไปที่ { $address }
operator-line-again = ตรวจสอบอีกครั้ง
operator-line-unset = Webhook URL ไม่ได้เปลี่ยน
operator-line-is-wrong = ผิด
operator-line-is-unanswered = ไม่มีคำตอบ
operator-line-is-warning = คำเตือน
operator-line-is-look = โปรดตรวจดู
operator-line-is-fine = ปกติ

## Findings about the set-up of a bot

line-token-works = LINE ยอมรับโทเค็นการเข้าถึง ซึ่งเป็นของบอท “{ $name }”
line-token-missing = ยังไม่ได้ตั้งค่าโทเค็นการเข้าถึง chatkeep จึงตอบไม่ได้ และถาม LINE เรื่องอื่นไม่ได้
line-token-refused = LINE ปฏิเสธโทเค็นการเข้าถึง: พิมพ์ผิด หมดอายุ หรือถูกเพิกถอน
line-token-expires = โทเค็นการเข้าถึงจะหมดอายุใน { $hours } ชั่วโมง
line-token-unverified = LINE ไม่บอกว่าโทเค็นชนิดนี้เป็นของแชนเนลใด จึงไม่ทราบว่ารหัสลับของแชนเนลเป็นของแชนเนลเดียวกันหรือไม่
line-secret-fits = รหัสลับของแชนเนลเป็นของแชนเนลเดียวกับโทเค็นการเข้าถึง
line-secret-missing = ยังไม่ได้ตั้งค่ารหัสลับของแชนเนล จึงรับ webhook ไม่ได้
line-secret-other = รหัสลับของแชนเนลไม่ใช่ของแชนเนล { $channel } ซึ่งเป็นเจ้าของโทเค็นการเข้าถึง
line-secret-swapped = รหัสลับของแชนเนลไม่ใช่ของแชนเนลที่เป็นเจ้าของโทเค็น แต่รหัสลับของบอท “{ $bot }” ใช่: มีการสลับกัน
line-same-channel = บอท “{ $bot }” มีโทเค็นการเข้าถึงของแชนเนลเดียวกัน: บอทสองตัวใช้แชนเนลเดียวกันไม่ได้
line-bot-answers = แชทของบัญชีปิดอยู่ บอทจึงเป็นผู้ตอบ
line-people-answer = แชทของบัญชีเปิดอยู่ เจ้าหน้าที่ของบัญชีจึงตอบเองควบคู่กับบอทได้ และข้อความจะไม่ถูกทำเครื่องหมายว่าอ่านแล้วโดยอัตโนมัติ
line-clock-right = นาฬิกาของเครื่องนี้ตรงกับของ LINE
line-clock-ahead = นาฬิกาของเครื่องนี้เร็วกว่าของ LINE { $seconds } วินาที
line-clock-behind = นาฬิกาของเครื่องนี้ช้ากว่าของ LINE { $seconds } วินาที
line-no-public-address = ยังไม่ได้ตั้งค่า URL สาธารณะของ chatkeep จึงไม่ทราบว่า Webhook URL ใดถูกต้อง
line-not-https = LINE ส่ง webhook ไปยัง URL แบบ HTTPS เท่านั้น แต่ { $ours } ไม่ใช่
line-webhook-works = LINE ส่ง webhook ไปที่ { $address } และ webhook ทดสอบได้รับการตอบรับแล้ว
line-webhook-set = ขณะนี้ Webhook URL คือ { $address }
line-webhook-unset = ยังไม่ได้ตั้งค่า Webhook URL ที่ LINE ต้องเป็น { $ours }
line-webhook-nowhere = ยังไม่ได้ตั้งค่า Webhook URL ที่ LINE
line-webhook-elsewhere = LINE ส่ง webhook ไปที่ { $found } แต่ต้องเป็น { $ours }
line-webhook-of-other = LINE ส่ง webhook ของบอทนี้ไปยัง URL ของบอท “{ $bot }” แต่ต้องเป็น { $ours }
line-webhook-off = “Use webhook” ปิดอยู่ LINE จึงไม่ส่ง webhook
line-webhook-unreachable = LINE เชื่อมต่อ { $address } ไม่ได้: { $reason }
line-webhook-unsigned = webhook ทดสอบถูกปฏิเสธที่ { $address } ด้วยสถานะ 401: LINE ลงนามด้วยรหัสลับอื่นที่ไม่ใช่รหัสที่ตั้งไว้
line-webhook-refused = { $address } ตอบ webhook ทดสอบด้วยสถานะ { $status } แต่ต้องเป็น 200
line-quota-left = ส่งข้อความแล้ว { $used } จาก { $limit } ข้อความของเดือนนี้
line-quota-nearly-used = ส่งข้อความไปแล้ว { $used } จาก { $limit } ข้อความของเดือนนี้ ใกล้ครบแล้ว
line-quota-unlimited = เดือนนี้ส่งข้อความแล้ว { $used } ข้อความ ไม่มีขีดจำกัด
line-quota-used-up = ส่งครบ { $limit } ข้อความของเดือนนี้แล้ว LINE จะปฏิเสธข้อความเพิ่มจนถึงเดือนหน้า มีเพียงการตอบกลับที่ยังใช้ได้
line-ask-redelivery = “Webhook redelivery” เปิดอยู่หรือไม่ หากไม่เปิด ข้อความระหว่างที่ chatkeep หยุดจะสูญหาย
line-ask-replies = ข้อความตอบกลับอัตโนมัติและข้อความทักทายปิดอยู่หรือไม่ หากไม่ปิด LINE จะตอบควบคู่กับบอท
line-ask-groups = บัญชีเข้าร่วมกลุ่มและแชทหลายคนได้หรือไม่ หากไม่ได้ จะไม่มีใครเชิญบอทได้
line-unanswered = { $subject }: LINE ไม่ตอบ ({ $why })

## Questions that LINE did not answer, and why

line-about-account = บัญชีของบอท
line-about-token = แชนเนลของโทเค็นการเข้าถึง
line-about-secret = แชนเนลของรหัสลับ
line-about-webhook = Webhook URL
line-about-webhook-test = webhook ทดสอบ
line-about-setting-webhook = การตั้งค่า Webhook URL
line-about-quota = ข้อความของเดือนนี้
line-why-unreachable = เชื่อมต่อไม่ได้
line-why-hasty = คำขอมากเกินไป โปรดลองใหม่ภายหลัง
line-why-token = โทเค็นการเข้าถึงถูกปฏิเสธ
line-why-status = สถานะ { $status }
line-why-unknown = ไม่มีคำตอบที่ถูกต้อง

## Places where findings are mended

line-place-token = LINE Developers Console → Messaging API → Channel access token จากนั้น { $setting } หรือตำแหน่งที่ `chatkeep config show` แสดง
line-place-secret = LINE Developers Console → Basic settings → Channel secret จากนั้น { $setting } หรือตำแหน่งที่ `chatkeep config show` แสดง
line-place-settings = ส่วน [[line]] ของ chatkeep.toml
line-place-webhook = LINE Developers Console → Messaging API → Webhook settings
line-place-responses = LINE Official Account Manager → ตั้งค่า → ตั้งค่าการตอบกลับ
line-place-groups = LINE Official Account Manager → ตั้งค่า → ตั้งค่าบัญชี → เปิด/ปิดฟังก์ชัน
line-place-plan = LINE Official Account Manager → ตั้งค่า → การใช้งานและแพ็กเกจ
line-place-clock = การซิงค์เวลาของเครื่องนี้ (NTP)
line-place-base-url = การตั้งค่า CHATKEEP_API_BASE_URL
line-place-network = พร็อกซี ไฟร์วอลล์ และใบรับรองหน้า chatkeep และดูว่าโพรเซสที่มีบทบาท ingress ทำงานอยู่หรือไม่
