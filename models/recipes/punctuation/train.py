"""
Trains the punctuation model: /usr/bin/python3 train.py DATA OUT [seconds] [threads]

One to six adjacent lines of one source are joined, cut to at most 64 words from a random position, and
corrupted as a recogniser would. Saves OUT/model.pt every ten minutes and resumes from it.
"""

import math
import os
import random
import sys
import time

import numpy as np
import torch
from torch.nn import functional as F

from model import CASES, FEATURES, MARKS, Punctuator, features

DATA, OUT = sys.argv[1], sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 3600
torch.set_num_threads(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
WORDS, BATCH = 64, 48
RATE = 2.5e-3
IGNORED = -100
# Sources whose commas are wrong as often as right.
NO_COMMAS = {"kk/reviews", "mixed/mixed"}
# Sources with the capitals of verse.
NO_CASE = {"kk/abai"}
SHARE = {"ru/ruslit": 0.4, "kk/docs": 0.6}
os.makedirs(OUT, exist_ok=True)

vocabulary, table = {}, []


def idOf(word):
    at = vocabulary.get(word)
    if at is None:
        at = vocabulary[word] = len(table)
        table.append(features(word))
    return at


def read(path):
    lines = []
    for line in open(path, encoding="utf8"):
        source, text = line.rstrip("\n").split("\t")
        words = [item.split("|") for item in text.split(" ")]
        ids = np.array([idOf(word) for word, _, _ in words], np.int32)
        marks = np.array([MARKS.index(mark) for _, mark, _ in words], np.int8)
        cases = np.array([CASES.index(case) for _, _, case in words], np.int8)
        lines.append((source, ids, marks, cases))
    return lines


def load():
    lines = read(f"{DATA}/train.tsv")
    blocks = {}
    for source, ids, marks, cases in lines:
        blocks.setdefault(source, []).append((ids, marks, cases))
    return blocks


blocks = load()
bank = torch.tensor(np.array(table, np.int64))
print(f"{sum(len(b) for b in blocks.values())} lines, {len(table)} words", flush=True)
rng = random.Random(1)
nprng = np.random.default_rng(1)
COMMA, STOP, QUESTION, DASH, COLON = (MARKS.index(mark) for mark in [",", ".", "?", "—", ":"])
# Median pause in seconds after each mark, and how often there is one: a prior, not measured on labelled
# speech.
PAUSES = {0: (0.12, 0.06), COMMA: (0.25, 0.6), STOP: (0.6, 0.9), QUESTION: (0.6, 0.9), DASH: (0.3, 0.7), COLON: (0.35, 0.8)}


def epoch():
    """Sequences of joined lines, shuffled."""
    items = []
    for source, lines in blocks.items():
        share = SHARE.get(source, 1)
        at = 0
        while at < len(lines):
            count = rng.choice([1, 1, 2, 3, 4, 5, 6])
            if rng.random() < share:
                items.append((source, at, min(len(lines), at + count)))
            at += count
    rng.shuffle(items)
    return items


def sequence(source, first, end):
    lines = blocks[source][first:end]
    ids = np.concatenate([line[0] for line in lines])
    marks = np.concatenate([line[1] for line in lines]).astype(np.int64)
    cases = np.concatenate([line[2] for line in lines]).astype(np.int64)
    ends = np.zeros(len(ids), np.int64)
    at = 0
    for line in lines:
        at += len(line[0])
        # A line without an end mark still ends, but it is unknown which mark it lacks.
        ends[at - 1] = 1
        if marks[at - 1] not in (STOP, QUESTION):
            marks[at - 1] = IGNORED
    ends[(marks == STOP) | (marks == QUESTION)] = 1
    if source in NO_COMMAS:
        marks[(marks == COMMA) | (marks == 0)] = np.where(
            (marks == 0)[(marks == COMMA) | (marks == 0)], 0, IGNORED
        )
    if source in NO_CASE:
        cases[:] = IGNORED
    if rng.random() < 0.35:
        ids, marks, cases, ends = spoiled(ids, marks, cases, ends)
    if len(ids) > WORDS:
        start = rng.randrange(len(ids) - WORDS + 1) if rng.random() < 0.7 else 0
        cut = slice(start, start + WORDS)
        ids, marks, cases, ends = ids[cut], marks[cut], cases[cut], ends[cut]
        # The text after the cut is unknown.
        if start + WORDS < len(ends) and marks[-1] == 0:
            marks[-1] = IGNORED
    return ids, marks, cases, ends, pauses(marks)


def spoiled(ids, marks, cases, ends):
    """Drops and doubles words, as recognition does."""
    keep = nprng.random(len(ids)) > 0.06
    # The mark of a lost word moves to the previous word.
    for at in np.nonzero(~keep)[0]:
        if at > 0 and marks[at] > 0 and marks[at - 1] == 0:
            marks[at - 1] = marks[at]
            ends[at - 1] = max(ends[at - 1], ends[at])
        elif marks[at] > 0:
            keep[at] = True
    if not keep.any():
        return ids, marks, cases, ends
    swapped = nprng.random(len(ids)) < 0.03
    ids = np.where(swapped, nprng.integers(0, len(table), len(ids)), ids)
    return ids[keep], marks[keep], cases[keep], ends[keep]


def pauses(marks):
    out = np.full(len(marks), -1, np.float32)
    if rng.random() < 0.5:
        return out
    for at, mark in enumerate(marks):
        median, share = PAUSES.get(int(mark), (0.12, 0.06))
        out[at] = median * math.exp(0.6 * nprng.standard_normal()) if nprng.random() < share else 0
    return out


def batches():
    while True:
        items = [sequence(*item) for item in epoch()]
        items.sort(key=lambda item: len(item[0]) + rng.random() * 6)
        groups, group, width = [], [], 0
        for item in items:
            width = max(width, len(item[0]))
            if group and width * (len(group) + 1) > WORDS * BATCH:
                groups.append(group)
                group, width = [], len(item[0])
            group.append(item)
        groups.append(group)
        rng.shuffle(groups)
        for group in groups:
            length = max(len(item[0]) for item in group)
            ids = torch.zeros(len(group), length, dtype=torch.long)
            marks = torch.full((len(group), length), IGNORED)
            cases = torch.full((len(group), length), IGNORED)
            ends = torch.full((len(group), length), -1.0)
            gaps = torch.full((len(group), length), -1.0)
            for row, item in enumerate(group):
                n = len(item[0])
                ids[row, :n] = torch.from_numpy(item[0].astype(np.int64))
                marks[row, :n] = torch.from_numpy(item[1])
                cases[row, :n] = torch.from_numpy(item[2])
                ends[row, :n] = torch.from_numpy(item[3].astype(np.float32))
                gaps[row, :n] = torch.from_numpy(item[4])
            yield bank[ids], gaps, marks, cases, ends


model = Punctuator()
averaged = Punctuator()
optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
step, spent = 0, 0.0
if os.path.exists(f"{OUT}/model.pt"):
    saved = torch.load(f"{OUT}/model.pt")
    model.load_state_dict(saved["model"])
    averaged.load_state_dict(saved["averaged"])
    optimizer.load_state_dict(saved["optimizer"])
    step, spent = saved["step"], saved["spent"]
else:
    averaged.load_state_dict(model.state_dict())
print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)


def save():
    torch.save(
        {
            "model": model.state_dict(),
            "averaged": averaged.state_dict(),
            "optimizer": optimizer.state_dict(),
            "step": step,
            "spent": spent,
        },
        f"{OUT}/part.pt",
    )
    os.replace(f"{OUT}/part.pt", f"{OUT}/model.pt")


model.train()
begun = time.monotonic()
before = spent
shown = [0.0, 0.0, 0.0, 0]
lastSave = begun
weights = torch.ones(len(MARKS))
for ids, gaps, marks, cases, ends in batches():
    spent = before + time.monotonic() - begun
    share = min(1, spent / SECONDS)
    rate = RATE * min(1, (step + 1) / 300) * (0.5 + 0.5 * math.cos(math.pi * share))
    for group in optimizer.param_groups:
        group["lr"] = max(rate, 1e-5)
    markLogits, caseLogits, endLogits = model(ids, gaps)
    markLoss = F.cross_entropy(markLogits.flatten(0, 1), marks.flatten(), ignore_index=IGNORED)
    caseLoss = F.cross_entropy(caseLogits.flatten(0, 1), cases.flatten(), ignore_index=IGNORED)
    known = ends >= 0
    endLoss = F.binary_cross_entropy_with_logits(endLogits[known], ends[known])
    loss = markLoss + 0.6 * caseLoss + 0.5 * endLoss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    step += 1
    with torch.no_grad():
        decay = min(0.999, step / (step + 20))
        for mine, theirs in zip(averaged.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - decay)
    for at, value in enumerate([markLoss, caseLoss, endLoss]):
        shown[at] += value.item()
    shown[3] += 1
    if step % 100 == 0:
        print(f"{step} {spent:.0f} s " + " ".join(f"{value / shown[3]:.4f}" for value in shown[:3]), flush=True)
        shown = [0.0, 0.0, 0.0, 0]
    if time.monotonic() - lastSave > 300:
        save()
        lastSave = time.monotonic()
    if share >= 1:
        break
save()
print("done", flush=True)
