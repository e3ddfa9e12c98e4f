"""Trains the character n-gram language model of the recogniser and writes `models/svc-kk-ru-v2/lm.bin`.

    python3 models/recipes/language-model/train.py        about two minutes on one core, 2.5 GB of memory

Interpolated modified Kneser-Ney of order 9 over Kazakh, Russian and mixed sentences together, pruned by
weighted difference; plus the list of words seen at least twice and of the word forms of hunspell-ru.
`--sources aphorisms,tales` adds the text of `debian_text.py`. Held-out and development sentences are never
used (`corpus.py` stops the run otherwise). File layout: README.md.
"""
import argparse
import gzip
import json
import os
import re
import struct
import subprocess

import numpy as np

import corpus
import debian_text
import ngrams

OUT = os.path.join(corpus.HERE, "..", "..", "svc-kk-ru-v2", "lm.bin")
VERSION = 1
PLAIN_WORD = re.compile("[%s]+" % corpus.recognizer_text.CYRILLIC)
LONGEST_WORD = 40  # letters; longer ones of the dictionary are compounds nobody says


def encode(labels):
    """Converts labels to symbols, with every sentence between boundaries; neighbours share one."""
    table = {c: i for i, c in enumerate(corpus.VOCABULARY)}
    return np.array([0] + [i for s in labels for i in [table[c] for c in s] + [0]], np.uint8)


def word_hashes(words):
    """FNV-1a over the symbol indices of each word, 32 bits; the decoder updates it letter by letter."""
    lengths = np.array([len(w) for w in words])
    ends = np.cumsum(lengths)
    table = np.zeros(0x500, np.uint32)
    for symbol, output in enumerate(corpus.VOCABULARY[1:], 1):
        table[ord(output)] = symbol
    symbols = table[np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)]
    hashes = np.full(len(words), 2166136261, np.uint32)
    for i in range(lengths.max()):
        longer = lengths > i
        hashes[longer] = (hashes[longer] ^ symbols[(ends - lengths + i)[longer]]) * np.uint32(16777619)
    return hashes


def dictionary():
    """Word forms of hunspell-ru in the recogniser's spelling, both with ё and with е in its place."""
    files = ["/usr/share/hunspell/ru_RU.dic", "/usr/share/hunspell/ru_RU.aff"]
    forms = subprocess.run(["unmunch", *files], capture_output=True, check=True).stdout.decode("utf-8", "ignore")
    words = {f if PLAIN_WORD.fullmatch(f) else corpus.label(f) for f in set(forms.lower().split("\n"))} - {""}
    return words | {word.replace("ё", "е") for word in words}


def lexicon(labels, at_least):
    """(sorted hashes, log-probs) of the words seen at least `at_least` times and of the dictionary's; rarer
    words get the log-prob of one occurrence."""
    counts = {}
    for s in labels:
        for w in s.split():
            counts[w] = counts.get(w, 0) + 1
    total = sum(counts.values())
    known = {w: 1 for w in dictionary() if len(w) < LONGEST_WORD}
    known.update({w: n for w, n in counts.items() if n >= at_least})
    hashes, first = np.unique(word_hashes(list(known)), return_index=True)
    logp = np.log(np.array(list(known.values()))[first] / total)
    print("words: %d, %d distinct in the text, %.2f %% of its running words are seen often enough" % (
        len(hashes), len(counts), 100 * sum(n for n in counts.values() if n >= at_least) / total))
    return hashes, logp


def quantise(values, low, high):
    """256 even steps from `low` to `high`: (bytes, codes)."""
    codes = np.linspace(low, high, 256).astype(np.float32)
    return np.clip(np.rint((values - low) * 255 / (high - low)), 0, 255).astype(np.uint8), codes


def write(path, levels, words):
    """Levels in breadth-first order; see README.md for the layout."""
    tokens, flags, logp, counts, bows = [], [], [], [], []
    for depth, level in enumerate(levels):
        _, starts, _ = level.group() if depth else (None, np.zeros(1, np.int64), None)
        counts.append(np.diff(np.append(starts, len(level.keys))))
        bows.append(level.bow)
        tokens.append((level.keys & ngrams.LOW).astype(np.uint8))
        logp.append(level.logp)
        contexts = levels[depth + 1].contexts if depth + 1 < len(levels) else np.zeros(0, np.uint64)
        flags.append(np.isin(level.keys, contexts))
    tokens, flags, logp = np.concatenate(tokens), np.concatenate(flags), np.concatenate(logp)
    counts, bows = np.concatenate(counts).astype(np.uint8), np.concatenate(bows)
    assert flags.sum() == len(counts) - 1
    hashes, word_logp = words
    logp_bytes, logp_codes = quantise(logp, -14.0, 0.0)
    bow_bytes, bow_codes = quantise(bows, -10.0, 2.0)
    word_bytes, word_codes = quantise(word_logp, -16.0, -2.0)
    header = json.dumps({
        "version": VERSION, "order": len(levels), "vocabulary": corpus.VOCABULARY, "nodeCount": len(counts),
        "arcCount": len(tokens), "wordCount": len(hashes)}, ensure_ascii=False).encode()
    header += b" " * (-(8 + len(header)) % 4)
    gaps = np.diff(hashes.astype(np.int64), prepend=0).astype("<u4")
    body = b"".join([
        logp_codes.tobytes(), bow_codes.tobytes(), word_codes.tobytes(), gaps.tobytes(),
        (tokens | (flags.astype(np.uint8) << 7)).tobytes(), logp_bytes.tobytes(), counts.tobytes(),
        bow_bytes.tobytes(), word_bytes.tobytes()])
    data = gzip.compress(b"DLM1" + struct.pack("<I", len(header)) + header + body, 9, mtime=0)
    with open(path + ".plain", "wb") as f:
        f.write(data)
    subprocess.run(["node", os.path.join(corpus.HERE, "pack.mjs"), path + ".plain", path], check=True)
    os.remove(path + ".plain")
    print("%s: order %d, %d contexts, %d arcs, %d words, %.2f MB" % (
        os.path.normpath(path), len(levels), len(counts), len(tokens), len(hashes), len(data) / 1e6))


def report(levels, title):
    for language in ("kk", "ru", "mixed"):
        dev = [corpus.label(s) for l, s in corpus.dev_sentences() if l == language]
        for name, labels in (("held-out", corpus.heldout_labels(language)), ("dev", dev)):
            nats, characters = ngrams.perplexity(levels, encode(labels))
            print("%s: perplexity per character, %s %s: %.3f (%d characters)" % (
                title, name, language, np.exp(nats), characters))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--order", type=int, default=9)
    options.add_argument("--threshold", type=float, default=1.5, help="pruning, nats over the training text")
    options.add_argument("--word-count", type=int, default=2, help="a word is known from this many occurrences on")
    options.add_argument("--sources", default="", help="further text, names of debian_text.py with commas between")
    options.add_argument("--out", default=OUT)
    args = options.parse_args()
    further = {name: debian_text.lines(name) for name in args.sources.split(",") if name}
    labels = [s for group in corpus.training_labels(further).values() for s in group]
    symbols = encode(labels)
    levels = ngrams.count(symbols, args.order, continuation=True)
    ngrams.smooth(levels, len(corpus.VOCABULARY))
    ngrams.prune(levels, args.threshold)
    ngrams.fill_unigrams(levels[0], len(corpus.VOCABULARY))
    ngrams.set_backoff(levels)
    report(levels, "pruned")
    write(args.out, levels, lexicon(labels, args.word_count))


if __name__ == "__main__":
    main()
