"""Counts words in the wrong language: Russian words in transcripts of Kazakh speech, and the reverse.

    npm run evaluate -- people FOLDER --cache CACHE      then, with the table that FOLDER's recordings have:
    languages.py CACHE/MODEL-WEIGHTS.jsonl FOLDER/index.jsonl

A word counts if it is not in its reference, and belongs to the other language by frequency and letters
(`text.word_language`): names and loanwords that were actually spoken do not count.
"""
import json
import os
import sys

import text

OTHER = {"kk": "ru", "ru": "kk"}


def foreign(heard, reference, language):
    """(words in the wrong language, words) of a transcript."""
    said = set(text.fold(text.normalize(reference)).split())
    words = text.fold(text.normalize(heard)).split()
    return sum(w not in said and text.word_language(w) == OTHER[language] for w in words), len(words)


def main(cache, index):
    with open(cache, encoding="utf-8") as f:
        heard = {os.path.realpath(row["path"]): row["heard"] for row in map(json.loads, f)}
    sums = {}
    with open(index, encoding="utf-8") as f:
        for row in map(json.loads, f):
            found = heard.get(os.path.realpath(os.path.join(os.path.dirname(index), row["file"])))
            if found is not None and row["language"] in OTHER:
                wrong, words = foreign(found["text"], row["normalized"], row["language"])
                s = sums.setdefault("%s-%s-%s" % (row["language"], row["speakers"], row["condition"]), [0, 0])
                s[0] += wrong
                s[1] += words
    for name, (wrong, words) in sums.items():
        print("%-28s %5.1f %% of %d words" % (name, 100 * wrong / max(1, words), words))


if __name__ == "__main__":
    main(*sys.argv[1:])
