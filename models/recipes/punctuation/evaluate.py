"""
Precision, recall and F1 by mark, of held-out lines joined by three without boundaries.

    /usr/bin/python3 evaluate.py DATA MODEL [lines joined]

Intervals are 95 % of a bootstrap over sequences.
"""

import sys

import numpy as np
import torch

from model import CASES, MARKS, Punctuator, features

DATA, PATH = sys.argv[1], sys.argv[2]
JOINED = int(sys.argv[3]) if len(sys.argv) > 3 else 3
torch.set_num_threads(1)
saved = torch.load(PATH)
model = Punctuator()
model.load_state_dict(saved["averaged"])
model.eval()
COMMA, STOP, QUESTION = (MARKS.index(mark) for mark in [",", ".", "?"])


def read(path):
    for line in open(path, encoding="utf8"):
        source, text = line.rstrip("\n").split("\t")
        words = [item.split("|") for item in text.split(" ")]
        yield source, words


def sequences(lines):
    groups = {}
    for source, words in lines:
        groups.setdefault(source, []).append(words)
    for source, many in groups.items():
        for at in range(0, len(many) - JOINED + 1, JOINED):
            group = many[at : at + JOINED]
            ends = np.cumsum([len(words) for words in group]) - 1
            yield source, [word for words in group for word in words], ends


@torch.no_grad()
def marksOf(words):
    ids = torch.tensor([[features(word) for word, _, _ in words]])
    marks, cases, ends = model(ids, torch.full((1, len(words)), -1.0))
    return marks[0].argmax(1).numpy(), cases[0].argmax(1).numpy(), torch.sigmoid(ends[0]).numpy()


def counts(lines):
    """For each sequence: true positives, false positives and false negatives of each mark."""
    rows = []
    for _, words, ends in sequences(lines):
        marks, cases, _ = marksOf(words)
        truth = np.array([MARKS.index(mark) for _, mark, _ in words])
        case = np.array([CASES.index(cased) for _, _, cased in words])
        # A line without an end mark says nothing about its end.
        unknown = np.zeros(len(words), bool)
        for end in ends:
            if truth[end] not in (STOP, QUESTION):
                unknown[end] = True
        row = []
        for mark in (COMMA, STOP, QUESTION):
            is_, was = (marks == mark) & ~unknown, (truth == mark) & ~unknown
            row += [(is_ & was).sum(), (is_ & ~was).sum(), (~is_ & was).sum()]
        is_, was = cases > 0, case > 0
        row += [(is_ & was).sum(), (is_ & ~was).sum(), (~is_ & was).sum()]
        starts = np.concatenate([[0], ends[:-1] + 1])
        inside = np.ones(len(words), bool)
        inside[starts] = False
        is_, was = is_ & inside, was & inside
        row += [(is_ & was).sum(), (is_ & ~was).sum(), (~is_ & was).sum()]
        rows.append(row)
    return np.array(rows)


def f1(sums):
    tp, fp, fn = sums[0], sums[1], sums[2]
    return 100 * 2 * tp / max(1, 2 * tp + fp + fn)


def report(name, lines):
    rows = counts(lines)
    if len(rows) == 0:
        return
    rng = np.random.default_rng(0)
    cells = []
    for at, figure in enumerate(["comma", "stop", "question", "capitals", "inside"]):
        part = rows[:, 3 * at : 3 * at + 3]
        draws = [f1(part[rng.integers(0, len(part), len(part))].sum(0)) for _ in range(200)]
        low, high = np.percentile(draws, [2.5, 97.5])
        cells.append(f"{figure} {f1(part.sum(0)):.1f} ({low:.0f}–{high:.0f})")
    print(f"{name:18s} {len(rows):5d}  " + "  ".join(cells), flush=True)


def held(lines, misses):
    """Share of words inside sentences that the causal head recognises as such when this share of true ends is
    missed."""
    inner, last = [], []
    for _, words in lines:
        if words[-1][1] not in (".", "?"):
            continue
        scores = marksOf(words)[2]
        last.append(scores[-1])
        inner += [score for score, (_, mark, _) in zip(scores[:-1], words[:-1]) if mark not in (".", "?")]
    threshold = np.quantile(last, misses)
    return 100 * np.mean(np.array(inner) < threshold)


test = list(read(f"{DATA}/test.tsv"))
for language in ("kk", "ru", "mixed"):
    heldout = list(read(f"{DATA}/heldout-{language}.tsv"))
    report(f"{language} held out", heldout)
    print(f"   held at 2 / 5 / 10 % missed: {held(heldout, 0.02):.1f} / {held(heldout, 0.05):.1f} / {held(heldout, 0.1):.1f}")
    if language != "mixed":
        edited = [(s, w) for s, w in test if s.startswith(language) and s not in ("kk/reviews", "kk/abai", "ru/ruslit", "ru/jokes")]
        report(f"{language} edited", edited)
for source in sorted({source for source, _ in test}):
    report(source, [(s, w) for s, w in test if s == source])
