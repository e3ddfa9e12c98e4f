"""Text: the output vocabulary, normalisation, number spelling, word language, held-out filter.

Everything the recogniser can write is one of 71 symbols: blank, space, hyphen, the 42 letters of the Kazakh
Cyrillic alphabet (which contains the Russian one) and a-z. A *label* is a string over those symbols without blank.
"""
import functools
import json
import os
import re
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data"))
import corpora  # noqa: E402

CYRILLIC = "аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя"
LATIN = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = ["", " ", "-"] + list(CYRILLIC) + list(LATIN)
INDEX = {c: i for i, c in enumerate(VOCABULARY)}
KAZAKH_ONLY = set("әғқңөұүһі")

_WORD = re.compile(r"[а-яёәғқңөұүһіa-z0-9]+(?:[-'’ʼ][а-яёәғқңөұүһіa-z0-9]+)*", re.I)
_DIGITS = re.compile(r"\d+")


def encode(label):
    """Label string -> list of vocabulary indices."""
    return [INDEX[c] for c in label]


def decode(indices):
    """Greedy CTC collapse of per-frame argmax indices -> string."""
    out, last = [], 0
    for i in indices:
        if i != last and i != 0:
            out.append(VOCABULARY[i])
        last = i
    return "".join(out).strip()


def words(sentence):
    """Words of a sentence in their original case; punctuation is dropped."""
    return _WORD.findall(unicodedata.normalize("NFC", sentence))


def normalize(sentence):
    """Lower case, words joined by one space, apostrophes dropped. Digits must have been spelled before."""
    s = " ".join(words(sentence.lower()))
    s = re.sub(r"['’ʼ]", "", s)
    return re.sub(r"[^%s%s -]" % (CYRILLIC, LATIN), "", s)


def fold(label):
    """Form used for scoring: most people write ё as е."""
    return label.replace("ё", "е")


def key(sentence):
    """Identity of a sentence for the held-out filter: lower-case letters only, ё folded."""
    return re.sub(r"[^%s%s]" % (CYRILLIC, LATIN), "", fold(sentence.lower()))


# ---------------------------------------------------------------- numbers

_KK_ONES = ["", "бір", "екі", "үш", "төрт", "бес", "алты", "жеті", "сегіз", "тоғыз"]
_KK_TENS = ["", "он", "жиырма", "отыз", "қырық", "елу", "алпыс", "жетпіс", "сексен", "тоқсан"]
_RU_ONES = ["", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять",
            "одиннадцать", "двенадцать", "тринадцать", "четырнадцать", "пятнадцать", "шестнадцать", "семнадцать",
            "восемнадцать", "девятнадцать"]
_RU_TENS = ["", "", "двадцать", "тридцать", "сорок", "пятьдесят", "шестьдесят", "семьдесят", "восемьдесят",
            "девяносто"]
_RU_HUNDREDS = ["", "сто", "двести", "триста", "четыреста", "пятьсот", "шестьсот", "семьсот", "восемьсот",
                "девятьсот"]


def spell_kk(n):
    """Kazakh cardinal of 0 <= n < 10**12."""
    if n == 0:
        return "нөл"
    out = []
    for unit, name in ((10 ** 9, "миллиард"), (10 ** 6, "миллион"), (1000, "мың")):
        if n >= unit:
            head = n // unit
            # 1xxx is read "мың ..." about twice as often as "бір мың ...".
            out += ([] if head == 1 and unit == 1000 else [spell_kk(head)]) + [name]
            n %= unit
    if n >= 100:
        out += ([_KK_ONES[n // 100]] if n >= 200 else []) + ["жүз"]
        n %= 100
    out += [_KK_TENS[n // 10], _KK_ONES[n % 10]]
    return " ".join(w for w in out if w)


def _ru_plural(n, forms):
    n %= 100
    if 11 <= n <= 14:
        return forms[2]
    return forms[0] if n % 10 == 1 else forms[1] if 2 <= n % 10 <= 4 else forms[2]


def spell_ru(n):
    """Russian cardinal (nominative, masculine) of 0 <= n < 10**12."""
    if n == 0:
        return "ноль"

    def below_1000(k, feminine=False):
        out = [_RU_HUNDREDS[k // 100]]
        k %= 100
        if k >= 20:
            out.append(_RU_TENS[k // 10])
            k %= 10
        one = _RU_ONES[k]
        out.append({"один": "одна", "два": "две"}.get(one, one) if feminine else one)
        return [w for w in out if w]

    out = []
    for unit, forms, fem in ((10 ** 9, ("миллиард", "миллиарда", "миллиардов"), False),
                             (10 ** 6, ("миллион", "миллиона", "миллионов"), False),
                             (1000, ("тысяча", "тысячи", "тысяч"), True)):
        if n >= unit:
            head = n // unit
            out += ([] if head == 1 and unit == 1000 else below_1000(head, fem)) + [_ru_plural(head, forms)]
            n %= unit
    return " ".join(out + below_1000(n))


def spell_digits(sentence, language):
    """Replace digit runs by cardinals. Longer than 9 digits or leading zero: digit by digit.

    Case and ordinal agreement is not attempted: audio and label use the same words, so the pair is correct
    even where a reader would inflect ("1991 жылы").
    """
    speller = spell_ru if language == "ru" else spell_kk

    def one(m):
        d = m.group(0)
        if len(d) > 9 or (len(d) > 1 and d[0] == "0"):
            return " " + " ".join(speller(int(c)) for c in d) + " "
        return " " + speller(int(d)) + " "

    # "12 500" and "12.500" are one number; "12-ші" keeps its suffix as part of the last word.
    s = re.sub(r"(?<=\d)[  .](?=\d{3}(?!\d))", "", sentence)
    s = _DIGITS.sub(one, s)
    return re.sub(r" {2,}", " ", re.sub(r" +(?=[-.,!?;:])", "", s)).strip()


# ---------------------------------------------------------------- corpora


def _lines(name):
    return [unicodedata.normalize("NFC", line.strip()) for line in corpora.lines(name) if line.strip()]


@functools.lru_cache(None)
def heldout_keys():
    keys = set()
    for name, lang in (("kk-heldout.txt.br", "kk"), ("ru-heldout.txt.br", "ru"), ("mixed-heldout.txt.br", "kk")):
        for line in _lines(name):
            keys.add(key(line))
            keys.add(key(spell_digits(line, lang)))
    keys.discard("")
    return keys


def usable(sentence, latin_ok=False):
    """Whether the synthesiser can speak this line as written.

    Dropped: Latin letters (unless allowed), words mixing alphabets, abbreviations in capitals (the Kazakh voice reads
    them as words, the Russian one spells them), single consonants, lines of fewer than 2 or more than 30 words.
    """
    ws = words(sentence)
    if not 1 < len(ws) <= 30:
        return False
    all_caps = sentence.upper() == sentence
    for w in ws:
        lat = bool(re.search(r"[a-z]", w, re.I))
        cyr = bool(re.search(r"[а-яёәғқңөұүһі]", w, re.I))
        if lat and (not latin_ok or cyr and "-" not in w):
            return False
        if cyr and not lat and len(w) > 1 and w.upper() == w and not all_caps and not w.isdigit():
            return False
        if cyr and len(w) == 1 and w.lower() not in "аеёиоуыэюявксәіөүұ":
            return False
        if re.search(r"(.)\1\1", w.lower()) or len(w) > 28:
            return False
    if re.search(r"[^\w\s.,!?;:\-–—()\"'«»„“”’ʼ…/%№&+]", sentence):
        return False
    return not re.search(r"[%№&+/]", sentence)


@functools.lru_cache(None)
def corpus(name):
    """Training sentences of `kk`, `ru`, `mixed` or `latin`, held-out sentences removed, in file order."""
    file, lang, latin = {"kk": ("kk.txt.br", "kk", False), "ru": ("ru.txt.br", "ru", False),
                         "mixed": ("kk-ru-mixed.txt.br", "kk", False),
                         "latin": ("kk-latin.txt.br", "kk", True)}[name]
    held, out, seen = heldout_keys(), [], set()
    for line in _lines(file):
        spelled = spell_digits(line, lang) if any(c.isdigit() for c in line) else line
        k = key(spelled)
        if k in held or key(line) in held or k in seen or not usable(line, latin):
            continue
        if any(len(w) > 1 and not re.search(r"[aeiouyаәеёиоөуұүыіэюя\d]", w) for w in words(line.lower())) and not latin:
            continue  # "ль", "мм" would be read letter by letter
        # Lines in capitals would be spelled letter by letter.
        out.append(spelled.lower() if spelled.upper() == spelled else spelled)
        seen.add(k)
    return out


@functools.lru_cache(None)
def heldout(name):
    """Held-out sentences of `kk`, `ru`, `mixed` that can be spoken, digits spelled; key duplicates removed."""
    lang = "ru" if name == "ru" else "kk"
    out, seen = [], set()
    for line in _lines("%s-heldout.txt.br" % name):
        line = re.sub(r"[^\w\s.,!?;:\-–—()\"'«»„“”’ʼ…/%№&+]", " ", line)
        spelled = spell_digits(line, lang)
        if usable(line) and key(spelled) not in seen:
            seen.add(key(spelled))
            out.append(spelled.lower() if spelled.upper() == spelled else spelled)
    return out


@functools.lru_cache(None)
def word_counts(language):
    """Word -> relative frequency in the training text of `kk` or `ru`."""
    counts, total = {}, 0
    for line in _lines("%s.txt.br" % language):
        for w in words(line.lower()):
            counts[w] = counts.get(w, 0) + 1
            total += 1
    return {w: c / total for w, c in counts.items()}


_RU_ENDINGS = ("ый", "ая", "ое", "ые", "ого", "ому", "ыми", "ить", "ать", "ять", "еть", "ться", "тся", "ешь", "ишь",
               "ение", "ания", "ание", "ость", "ости", "ально", "ично", "енно", "ский", "ская", "ское")


def word_language(word):
    """`kk`, `ru` or `en`: the language of the voice that should speak this word of a Kazakh sentence."""
    w = word.lower()
    if re.search(r"[a-z]", w):
        return "en"
    if set(w) & KAZAKH_ONLY:
        return "kk"
    kk, ru = word_counts("kk").get(w, 0), word_counts("ru").get(w, 0)
    if ru > 3 * kk and ru > 2.5e-6:
        return "ru"
    if kk == 0 and ru > 0 or kk < 4e-6 and len(w) > 4 and w.endswith(_RU_ENDINGS):
        return "ru"
    return "kk"


def language_spans(sentence):
    """Split a mixed sentence into [(language, text)], each to be spoken by its own voice."""
    spans = []
    for m in re.finditer(r"\S+", sentence):
        token = m.group(0)
        ws = words(token)
        lang = word_language(ws[0]) if ws else (spans[-1][0] if spans else "kk")
        if spans and spans[-1][0] == lang:
            spans[-1][1].append(token)
        else:
            spans.append((lang, [token]))
    return [(lang, " ".join(tokens)) for lang, tokens in spans]


def write_vocabulary(path):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(VOCABULARY, f, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    write_vocabulary(os.path.join(HERE, "..", "..", "svc-kk-ru-v2", "vocabulary.json"))
    for c in ("kk", "ru", "mixed", "latin"):
        print(c, len(corpus(c)))
    for c in ("kk", "ru", "mixed"):
        print("held-out", c, len(heldout(c)))
    for s in heldout("mixed")[:12]:
        print(language_spans(s))
    print(spell_kk(1991), "|", spell_ru(21002), "|", spell_digits("1991 жылы 25-ші, 3.5", "kk"))
