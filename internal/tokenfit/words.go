package tokenfit

import "strings"

// The vocabularies below were written for this tool. They are common words of the languages they name: a byte pair
// vocabulary cuts rare words into more pieces, so the generators mix rare runes in (see cjk).

var english = strings.Fields(`access account action active actor address agent alias amount answer apply archive argument array
artifact attach attempt author balance batch before between block branch bridge broken browser buffer build bundle button cache
callback cancel capture catalog center chain change channel character check child choice circle class clean client clock clone cluster
code collect color column command comment commit common compare compile complete component compress compute config confirm connect
console constant consume contact container content context continue control convert cookie copy core count cover create credential
current cursor custom customer daemon data database date debug decode default define delay delete delta deploy depth design detail
detect device digest direct directory disable discard dispatch display document domain double download draft driver dry dump duration
dynamic each early edge edit editor effect element email empty enable encode encrypt end endpoint engine entry environment error escape
estimate event example exclude execute exist exit expand expire explain export expression extend extension external extra fail failure
fallback false fast feature fetch field file fill filter final find finish first fixed flag flow flush focus folder follow force foreign
format forward found frame free front full function future gateway general generate global grace graph group guard handle handler hash
header health heavy height hidden history hold hook host hours idle image import include index infer info initial inject inner input
insert inspect install instance interface internal interval invalid invoice item iterate job join journal keep kernel key label language
large last latency launch layer layout leader leak leave left length level library license light limit line link list listen load local
locate lock logger login long lookup loop machine main manage manager manifest manual margin mark market master match matrix maximum
measure member memory menu merge message meta method metric middle migrate minimum mirror missing mobile mock model module monitor month
mount move multiple name native network never next node normal notice notify null number object observe offset online open operation
operator option order origin other output outside owner package page panel parallel parameter parent parse partial password patch path
pattern pause payload payment pending perform period permission person phase pipeline place plain plan platform player plugin pointer
policy pool port position post prefix prepare present preview previous price primary print priority private probe problem process
producer product profile program progress project promise prompt proof property protocol provider proxy public publish pull purge push
quality query question queue quick quota random range rate ratio reader ready reason receive recent record recover redirect reduce
reference refresh region register reject related release reload remote remove rename render repair repeat replace replica reply report
repository request require reserve reset resolve resource response restart restore result resume retry return review revision right role
rollback root rotate route router rule runner runtime safe sample save scale scan schedule schema scope score script scroll search second
secret section secure segment select send sender sensor sequence server service session setting setup shadow shape share shell shift short
signal signature simple single size skip sleep slice slot small snapshot socket sort source space special split stable stack stage start
state static status step stop storage store stream string strong structure style submit subscribe success suffix summary support suspend
switch symbol sync system table target task team template temporary tenant terminal test text thread threshold throttle ticket time
timeout title token tool topic total trace track traffic transaction transfer transform transport trigger trust type unique unit unknown
unlock update upgrade upload usage user valid validate value variable vector vendor verify version view virtual visible volume wait walk
warning watch weight widget width window wire within worker workflow workspace wrap write writer zone`)

var englishSmall = strings.Fields(`the the the a a to to of of and and in in is it that for with on this as are not be by we from or at
if so was but an which when can has have will should then there its our they only also each after before without into because`)

var chinese = strings.Fields(`我们 他们 这个 那个 问题 文件 系统 数据 用户 服务 程序 代码 函数 变量 接口 测试 错误 消息 时间 结果 需要 可以 已经 没有 如果 但是
因为 所以 然后 首先 最后 必须 应该 可能 使用 读取 写入 修改 删除 增加 检查 运行 启动 停止 等待 返回 调用 发送 接收 请求 响应 网络 连接 内存 磁盘 目录
路径 配置 参数 版本 更新 安装 部署 日志 记录 会话 上下文 压缩 窗口 模型 缓存 队列 线程 进程 并发 锁 事务 备份 恢复 权限 安全 密码 账号 登录 注册
城市 天气 今天 明天 昨天 学校 老师 学生 公司 经理 同事 会议 项目 计划 报告 价格 市场 经济 社会 历史 文化 音乐 电影 朋友 家庭 孩子 父母 医院 医生 身体
健康 饮食 水果 蔬菜 旅行 火车 飞机 汽车 道路 桥梁 河流 山脉 海洋 天空 春天 夏天 秋天 冬天 颜色 红色 蓝色 绿色 大 小 多 少 新 旧 快 慢 好 坏 长 短
了 的 的 的 是 在 和 也 都 就 把 被 对 从 到 给 让 很 更 最 不 又 还 再 每 各 某 之 与 及 或 并 而 则 其 此 于 以 为`)

var japanese = strings.Fields(`これ それ あれ ここ そこ 私 私たち 彼 彼女 問題 ファイル システム データ ユーザー サービス プログラム コード 関数 変数 テスト
エラー メッセージ 時間 結果 必要 場合 設定 確認 実行 開始 停止 返す 呼び出す 送信 受信 リクエスト ネットワーク 接続 メモリ ディスク ディレクトリ パス
バージョン 更新 インストール ログ 記録 セッション 圧縮 ウィンドウ モデル キャッシュ 会社 学校 先生 学生 会議 計画 報告 価格 市場 経済 社会 歴史 文化
音楽 映画 友達 家族 子供 病院 医者 身体 健康 料理 果物 野菜 旅行 電車 飛行機 道路 川 山 海 空 春 夏 秋 冬 赤い 青い 新しい 古い 速い 遅い 大きい
小さい とても すぐに まだ もう 多分 きっと しかし そして だから 例えば また さらに`)
var japaneseParticles = strings.Fields(`は が を に で の の と も から まで より へ`)
var japaneseEnds = strings.Fields(`です ます でした ました ください と思います かもしれません しています になります ができます ではありません 必要があります`)

var korean = strings.Fields(`우리 그들 이것 그것 문제 파일 시스템 데이터 사용자 서비스 프로그램 코드 함수 변수 테스트 오류 메시지 시간 결과 필요 경우 설정 확인 실행
시작 중지 반환 호출 전송 수신 요청 응답 네트워크 연결 메모리 디스크 디렉터리 경로 버전 업데이트 설치 배포 로그 기록 세션 압축 창 모델 캐시 대기열
회사 학교 선생님 학생 회의 계획 보고서 가격 시장 경제 사회 역사 문화 음악 영화 친구 가족 아이 병원 의사 건강 요리 과일 여행 기차 비행기 도로 강 산
바다 하늘 봄 여름 가을 겨울 빨간 파란 새로운 오래된 빠른 느린 큰 작은 매우 바로 아직 이미 아마 그러나 그리고 그래서 예를 또한`)
var koreanParticles = strings.Fields(`은 는 이 가 을 를 에 에서 의 와 과 도 부터 까지 으로 로`)
var koreanEnds = strings.Fields(`합니다 했습니다 하세요 할 수 있습니다 입니다 아닙니다 됩니다 것 같습니다 하지 않습니다 해야 합니다`)

var russian = strings.Fields(`мы они это проблема файл система данные пользователь сервис программа код функция переменная тест ошибка
сообщение время результат нужно можно если но потому затем сначала наконец должен может использовать читать писать изменить удалить
добавить проверить запустить остановить ждать вернуть вызвать отправить получить запрос ответ сеть соединение память диск каталог путь
настройка параметр версия обновление установка журнал запись сеанс сжатие окно модель город погода сегодня завтра школа учитель работа
компания встреча проект план отчёт цена рынок история культура музыка друг семья ребёнок больница врач здоровье путешествие поезд
самолёт дорога река море небо весна лето осень зима новый старый быстрый медленный большой маленький очень уже ещё и в на с по для не
что как из от до при без под над между через около`)

var european = strings.Fields(`größe über können müssen würde schließen prüfen ändern löschen hinzufügen zurück später früher dürfen
für während außerdem natürlich vollständig ähnlich möglich Schlüssel Überschrift Verzeichnis Änderung Länge Höhe déjà été être après
très même aussi problème système données utilisé fichier réseau mémoire répertoire clé dernière première créé modifié supprimé vérifier
où là ça français réponse élève école ciudad año también después más información función sesión conexión versión configuración código
número página último según había está están será niño español não então também será após até você função sessão informação conexão
configuração código página último três está são país além`)

var greek = strings.Fields(`το και αρχείο σύστημα δεδομένα χρήστης υπηρεσία πρόγραμμα κώδικας συνάρτηση μεταβλητή δοκιμή σφάλμα μήνυμα
χρόνος αποτέλεσμα πρέπει μπορεί αν αλλά γιατί μετά πρώτα τελικά διαβάζω γράφω αλλαγή διαγραφή προσθήκη έλεγχος αίτημα απάντηση δίκτυο
σύνδεση μνήμη δίσκος φάκελος διαδρομή ρύθμιση έκδοση`)

var arabic = strings.Fields(`نحن هذا هذه ملف نظام بيانات مستخدم خدمة برنامج رمز دالة متغير اختبار خطأ رسالة وقت نتيجة يجب يمكن إذا لكن لأن ثم أولا
أخيرا قراءة كتابة تعديل حذف إضافة فحص تشغيل إيقاف انتظار إرسال استقبال طلب استجابة شبكة اتصال ذاكرة قرص مجلد مسار إعداد إصدار تحديث سجل جلسة ضغط
نافذة نموذج في من على إلى عن مع كل بعد قبل`)

var hebrew = strings.Fields(`אנחנו זה קובץ מערכת נתונים משתמש שירות תוכנית קוד פונקציה משתנה בדיקה שגיאה הודעה זמן תוצאה צריך אפשר אם אבל כי אחר כך
קודם לבסוף קריאה כתיבה שינוי מחיקה הוספה הרצה עצירה המתנה שליחה קבלה בקשה תשובה רשת חיבור זיכרון דיסק תיקייה נתיב הגדרה גרסה עדכון`)

var hindi = strings.Fields(`हम यह वह समस्या फ़ाइल सिस्टम डेटा उपयोगकर्ता सेवा प्रोग्राम कोड फ़ंक्शन परीक्षण त्रुटि संदेश समय परिणाम चाहिए सकता अगर लेकिन क्योंकि फिर पहले
अंत में पढ़ना लिखना बदलना हटाना जोड़ना जाँच चलाना रोकना प्रतीक्षा भेजना अनुरोध उत्तर नेटवर्क मेमोरी डिस्क पथ सेटिंग संस्करण है हैं का की के को से पर और`)

var thai = strings.Fields(`เรา นี้ นั้น ปัญหา ไฟล์ ระบบ ข้อมูล ผู้ใช้ บริการ โปรแกรม โค้ด ฟังก์ชัน ตัวแปร ทดสอบ ข้อผิดพลาด ข้อความ เวลา ผลลัพธ์ ต้อง สามารถ ถ้า แต่
เพราะ แล้ว ก่อน สุดท้าย อ่าน เขียน แก้ไข ลบ เพิ่ม ตรวจสอบ เริ่ม หยุด รอ ส่ง รับ คำขอ เครือข่าย หน่วยความจำ ดิสก์ เส้นทาง ตั้งค่า รุ่น ปรับปรุง`)
