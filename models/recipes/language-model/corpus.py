"""Sentences for the language model: the corpora, normalised to the recogniser's outputs, held-out lines removed.

Digits are spelled as cardinals, as in the recogniser's training: with these lines (14,000) the perplexity of the
development sentences, which have no digits, falls by 1 %. A line is dropped when its letters equal a held-out or
development sentence, before or after spelling, and when one contains the other (from 20 letters on), so a held-out
sentence cannot come in as part of a longer line.
"""
import functools
import hashlib
import os
import re
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "recognizer"))
import text as recognizer_text  # noqa: E402

VOCABULARY = recognizer_text.VOCABULARY
FILES = {"kk": "kk.txt.br", "ru": "ru.txt.br", "mixed": "kk-ru-mixed.txt.br", "latin": "kk-latin.txt.br"}
DEV = os.path.join(HERE, "dev.tsv")
DEV_SENTENCES = 100
CONTAINED_LETTERS = 20


def lines(name):
    return recognizer_text._lines(name)


def label(sentence):
    """The text that the recogniser would output: lower case, words joined by one space; empty when nothing is
    left."""
    return re.sub(r" {2,}", " ", recognizer_text.normalize(unicodedata.normalize("NFC", sentence))).strip()


def heldout_labels(language):
    """Held-out sentences with digits spelled, as the evaluation speaks them."""
    return [label(s) for s in recognizer_text.heldout(language)]


def choose_dev():
    """Picks the development sentences by hash, so that the choice survives changes of the corpora; writes their hashes."""
    held = recognizer_text.heldout_keys()
    with open(DEV, "w", encoding="utf-8") as out:
        for language in ("kk", "ru", "mixed"):
            found = {}
            for line in lines(FILES[language]):
                k = recognizer_text.key(line)
                if not re.search(r"\d", line) and k not in held and recognizer_text.usable(line):
                    if 4 <= len(label(line).split()) <= 14:
                        found[k] = line
            for k in sorted(found, key=mark)[:DEV_SENTENCES]:
                out.write("%s\t%s\n" % (language, mark(k)))


def mark(key):
    """Hash of a sentence's letters."""
    return hashlib.sha1(key.encode()).hexdigest()[:16]


@functools.lru_cache(None)
def dev_sentences():
    """[(language, sentence)] of dev.tsv, found in the corpora."""
    with open(DEV, encoding="utf-8") as f:
        chosen = [tuple(line.rstrip("\n").split("\t")) for line in f]
    found = {(language, mark(recognizer_text.key(line))): line
             for language in ("kk", "ru", "mixed") for line in lines(FILES[language])}
    return [(language, found[language, hashed]) for language, hashed in chosen]


def training_labels(further=None, report=print):
    """
    Deduplicated labels to train on: {name: [label, ...]}; reports how many lines each rule removed. `further` are Russian
    lines of other origin, {name: [line, ...]}, under the same rules.
    """
    barred = set(recognizer_text.heldout_keys()) | {recognizer_text.key(s) for _, s in dev_sentences()}
    long_barred = [k for k in barred if len(k) >= CONTAINED_LETTERS]
    joined_barred = "\n".join(long_barred)
    # A line contained in a barred sentence begins with one of that sentence's runs of letters; few lines do.
    beginnings = {k[i:i + CONTAINED_LETTERS] for k in long_barred for i in range(len(k) - CONTAINED_LETTERS + 1)}
    further = further or {}
    out, seen = {}, set()
    for name in [*FILES, *further]:
        kept, dropped = [], {"empty": 0, "duplicate": 0, "held-out": 0, "overlap": 0}
        candidates = []
        is_russian = name == "ru" or name in further
        for line in further[name] if name in further else lines(FILES[name]):
            spelled = recognizer_text.spell_digits(line, "ru" if is_russian else "kk")
            k = recognizer_text.key(spelled)
            if len(k) < 2:
                dropped["empty"] += 1
            elif k in barred or recognizer_text.key(line) in barred:
                dropped["held-out"] += 1
            elif k in seen:
                dropped["duplicate"] += 1
            elif k[:CONTAINED_LETTERS] in beginnings and k in joined_barred:
                dropped["overlap"] += 1
            else:
                seen.add(k)
                candidates.append((k, label(spelled)))
        joined = "\n".join(k for k, _ in candidates)
        containing = [k for k in long_barred if k in joined]
        for k, sentence in candidates:
            if containing and any(b in k for b in containing):
                dropped["overlap"] += 1
            else:
                kept.append(sentence)
        report("%-6s kept %d, dropped %s" % (name, len(kept), dropped))
        out[name] = kept
    check(out, barred)
    return out


def check(labels, barred):
    """Stops the training if a held-out or development sentence slipped through."""
    leaked = sum(recognizer_text.key(s) in barred for group in labels.values() for s in group)
    if leaked:
        raise SystemExit("Cannot train: %d held-out sentences are in the training text" % leaked)
    print("held-out check: 0 of %d barred sentences in %d training lines"
          % (len(barred), sum(len(g) for g in labels.values())))


if __name__ == "__main__":
    choose_dev()
    print({k: len(v) for k, v in training_labels().items()})
