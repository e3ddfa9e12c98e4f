"""Text: cleaning to the symbol set, held-out filtering, and short inputs (words, numbers, phrases)."""

import os
import random
import re
import sys

from config import BOS, EOS, LETTERS, SYMBOLS, TEXT_DIR, TOKEN

sys.path.insert(0, os.path.join(TEXT_DIR, ".."))
import corpora  # noqa: E402

ALLOWED = set(SYMBOLS[3:])
UNITS = "нөл бір екі үш төрт бес алты жеті сегіз тоғыз".split()
TENS = " он жиырма отыз қырық елу алпыс жетпіс сексен тоқсан".split(" ")


def clean(line):
    """Maps a raw line to lower-case text of the symbol set ending with . ! or ?; None if that is impossible.
    """
    text = line.strip().lower()
    text = re.sub(r"[«»\"“”„'’`]", "", text)
    text = re.sub(r"[()\[\]]", ", ", text)
    text = text.replace("…", ".").replace("–", "—")
    text = re.sub(r"\s+[—-]+\s+", " — ", text)
    text = re.sub(r"([.!?])[.!?]+", r"\1", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ([,.!?:;])", r"\1", text)
    text = re.sub(r"([,.:;])[,.:;]+", r"\1", text)
    text = re.sub(r"([,.!?:;])(?=[^\s])", r"\1 ", text)  # "бар.жоқ" -> "бар. жоқ"
    text = text.strip(" ,:;—-")
    if not text or not set(text) <= ALLOWED or text[0] not in LETTERS:
        return None
    if text[-1] not in ".!?":
        text += "."
    return text


def normalized(text):
    """Key for comparing sentences: lower case, letters only."""
    return "".join(ch for ch in text.lower() if ch.isalpha())


def encode(text):
    """Token ids of "^" + text + "$"."""
    return [BOS] + [TOKEN[ch] for ch in text] + [EOS]


def read_heldout():
    """Returns (cleaned Kazakh held-out sentences in file order, set of normalized held-out sentences of every list)."""
    keys = set()
    for name in sorted(os.listdir(TEXT_DIR)):
        if name.endswith("-heldout.txt.br"):
            keys |= {normalized(line) for line in corpora.lines(name)}
    cleaned = [clean(line) for line in corpora.lines("kk-heldout.txt.br")]
    return [text for text in cleaned if text and 8 <= len(text) <= 140], keys - {""}


def read_training(shortest=3, longest=150):
    """Cleaned, distinct training sentences without any held-out sentence."""
    _, heldout = read_heldout()
    seen, sentences = set(), []
    for line in corpora.lines("kk.txt.br"):
        if len(line) > 2 * longest or any(ch.isdigit() for ch in line):
            continue
        text = clean(line)
        if text is None or not shortest <= len(text) <= longest:
            continue
        key = normalized(text)
        if key in heldout or key in seen:
            continue
        seen.add(key)
        sentences.append(text)
    return sentences


def number_words(value):
    """Kazakh cardinal of 0 <= value < 10**9."""
    if value < 10:
        return UNITS[value]
    if value < 100:
        return TENS[value // 10] + (" " + UNITS[value % 10] if value % 10 else "")
    for size, name in ((10**6, "миллион"), (1000, "мың"), (100, "жүз")):
        if value >= size:
            head, rest = divmod(value, size)
            words = name if head == 1 and size < 10**6 else number_words(head) + " " + name
            return words + (" " + number_words(rest) if rest else "")
    raise ValueError(value)


def short_text(rng, sentences):
    """A random short input: one word, one number, or a phrase of up to three words."""
    kind = rng.random()
    if kind < 0.3:
        value = rng.randrange(10 ** rng.choice([1, 2, 2, 3, 4, 6]))
        body = number_words(value)
    else:
        words = re.sub(r"[^%s -]" % LETTERS, "", rng.choice(sentences)).replace("- ", " ").split()
        words = [word.strip("-") for word in words if word.strip("-")]
        count = 1 if kind < 0.65 else rng.choice([2, 3])
        start = rng.randrange(max(1, len(words) - count + 1))
        body = " ".join(words[start:start + count])
    return body + rng.choice("....?!") if body else None


def training_mix(seed, short_share=0.10):
    """Endless stream of training texts: shuffled sentences (questions and exclamations slightly more often
    than they occur) with a share of short inputs."""
    rng = random.Random(seed)
    sentences = read_training()
    marked = [text for text in sentences if text[-1] in "?!"]
    while True:
        rng.shuffle(sentences)
        for text in sentences:
            draw = rng.random()
            if draw < short_share:
                short = short_text(rng, sentences)
                if short:
                    yield short
            elif draw < short_share + 0.06:
                yield rng.choice(marked)
            yield text
