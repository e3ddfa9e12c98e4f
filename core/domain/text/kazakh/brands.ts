/**
 * Names and words with a conventional pronunciation, in Latin and in Kazakh letters.
 *
 * They are spelled as Kazakh media pronounce them, with the service's own name; domains use English letter
 * names.
 */
const SPOKEN_NAMES = `
acer эйсер; adidas адидас; adobe адоби; ai эй ай; air эйр; airbnb эйрбиэнби; airbus эйрбас; airpods эйрподс;
almaty алматы; altel алтел; amazon амазон; amd эй эм ди; and энд; android андроид; api эй пи ай; app апп;
apple эпл; arsenal арсенал; astana астана; asus асус; audi ауди; bank банк; barcelona барселона; bayern бавария;
beeline билайн; benz бенц; bitcoin биткоин; black блэк; blockchain блокчейн; bloomberg блумберг; blue блю;
bluetooth блютуз; bmw би эм ви; boeing боинг; booking букинг; bot бот; burger бургер; business бизнес; cafe кафе;
center центр; champions чемпионс; chat чат; chatgpt чат джи пи ти; chelsea челси; chevrolet шевроле;
chocofamily шокофэмили; chrome хром; city сити; cloud клауд; club клаб; cnn си эн эн; coca кока; coffee кофе;
cola кола; college колледж; com ком; company компани; covid ковид; coworking коворкинг; cup кап; dauys дауыс;
dell делл; design дизайн; digital диджитал; discord дискорд; docker докер; drive драйв; ebay ибэй; email имейл;
energy энерджи; english инглиш; ethereum эфириум; europa юропа; excel эксель; facebook фейсбук; fashion фэшн;
ferrari феррари; fi фай; fifa фифа; file файл; fire файр; firefox файрфокс; forbes форбс; ford форд; forte форте;
free фри; freedom фридом; game гейм; games геймс; github гитхаб; glovo глово; gmail джимейл; gold голд;
google гугл; gpt джи пи ти; green грин; group групп; gucci гуччи; halyk халық; hello хэллоу; hilton хилтон;
home хоум; honda хонда; hotel отель; house хаус; huawei хуавей; hub хаб; hyundai хёндэ; ikea икеа; indrive индрайв;
instagram инстаграм; intel интел; internet интернет; isbn ай эс би эн; ipad айпад; iphone айфон; it ай ти; java джава;
javascript джаваскрипт; jusan жусан; juventus ювентус; kaspi каспи; kazakh казах; kazakhstan казахстан;
kcell кселл; kfc кей эф си; kia киа; king кинг; kolesa колеса; krisha крыша; kz кей зед; league лиг; lenovo леново;
level левел; lexus лексус; lg эл джи; life лайф; light лайт; like лайк; linux линукс; live лайв;
liverpool ливерпуль; lounge лаунж; love лав; macbook макбук; madrid мадрид; mail мейл; mall молл;
management менеджмент; manager менеджер; manchester манчестер; market маркет; marketing маркетинг;
marriott марриотт; mastercard мастеркард; max макс; mazda мазда; mcdonalds макдоналдс; media медиа; mega мега;
mercedes мерседес; microsoft майкрософт; minecraft майнкрафт; mini мини; mobile мобайл; music мьюзик; nasa наса;
nato нато; netflix нетфликс; new нью; news ньюс; nike найк; nissan ниссан; node ноуд; nokia нокиа; nvidia энвидиа;
of оф; office офис; offline офлайн; ok окей; one уан; online онлайн; openai оупен эй ай; opera опера;
outlook аутлук; page пейдж; park парк; paypal пэйпал; pepsi пепси; phone фон; photoshop фотошоп; pizza пицца;
play плэй; playstation плэйстейшн; plaza плаза; plus плюс; porsche порше; powerpoint пауэрпоинт; premium премиум;
pro про; puma пума; python пайтон; qr кью ар; real реал; red ред; reddit реддит; reels рилс; resort ризорт; reuters рейтерс;
rixos риксос; safari сафари; sale сейл; samsung самсунг; school скул; service сервис; shop шоп; shorts шортс;
show шоу; shymkent шымкент; site сайт; sky скай; skype скайп; smart смарт; sony сони; spacex спейс икс;
spotify спотифай; star стар; starbucks старбакс; starlink старлинк; startup стартап; steam стим; store стор;
story сторис; stream стрим; style стайл; tech тек; tele теле; telegram телеграм; tesla тесла; test тест; the зе;
tiktok тик ток; time тайм; times таймс; toyota тойота; twitter твиттер; two ту; typescript тайпскрипт; uber убер;
ucl ю си эл; uefa уефа; ufc ю эф си; ultra ультра; unesco юнеско; unicef юнисеф; united юнайтед;
university университи; video видео; vip ви ай пи; visa виза; volkswagen фольксваген; web веб; whatsapp уатсап;
white уайт; wi вай; wifi вай фай; wikipedia википедия; windows виндоус; wolt волт; word ворд; world уорлд;
www дабл ю дабл ю дабл ю; xbox иксбокс; xiaomi сяоми; yandex яндекс; york йорк; youtube ютуб; zara зара; zoom зум
`;

/** Pronunciations by the Latin word in lower case. */
export const KNOWN_WORDS: ReadonlyMap<string, string> = new Map(
  SPOKEN_NAMES.split(";").map((entry) => {
    const [written = "", ...spoken] = entry.trim().split(" ");
    return [written, spoken.join(" ")];
  }),
);
