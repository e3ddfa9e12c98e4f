"""Greedy character error rates of a checkpoint, causal and full head, on the evaluation set and human test sets."""
import argparse
import csv
import json
import os

import numpy as np
import soundfile
import torch
from scipy import signal

import augment as A
import export
import text

HERE = os.path.dirname(os.path.abspath(__file__))
EVAL = os.path.join(HERE, "..", ".cache", "eval")
SPEECH = os.path.join(HERE, "..", "..", "..", "test", "fixtures", "speech")
# Voices that are not used in training.
HUMAN_SETS = ("asterisk-ru-additional", "pisets-ru-test", "kazakh-speech-commands")
FLUSH = 5120  # digital silence appended, samples (320 ms)


def distance(a, b):
    """Levenshtein distance of two sequences."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diag, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diag, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diag + (x != y))
    return row[-1]


def features(x):
    """Samples -> log-mel of whole encoder frames, with zeros appended."""
    n = -(-(len(x) + FLUSH) // A.FRAME) * A.FRAME
    return A.log_mel(np.pad(x, (0, n - len(x)))).astype(np.float16)


def load_set(per_cell=0, human=True, also=()):
    """[(cell name, reference, log-mel)], cells `kk-seen-clean` ... and `human-<set>`.

    also: folders with an `index.jsonl` as that of the evaluation set, see `rhvoice.py`."""
    items, used = [], {}
    for folder in (EVAL, *also):
        with open(os.path.join(folder, "index.jsonl"), encoding="utf-8") as f:
            for row in map(json.loads, f):
                cell = "%s-%s-%s" % (row["language"], row["speakers"], row["condition"])
                used[cell] = used.get(cell, 0) + 1
                if per_cell and used[cell] > per_cell:
                    continue
                x, _ = soundfile.read(os.path.join(folder, row["file"]), dtype="float32")
                items.append((cell, text.fold(row["normalized"]), features(x)))
    for name in HUMAN_SETS if human else ():
        with open(os.path.join(SPEECH, name, "transcripts.tsv"), encoding="utf-8") as f:
            for row in csv.DictReader(f, delimiter="\t"):
                path = os.path.join(SPEECH, name, row["file"])
                if not os.path.exists(path):
                    continue
                x, rate = soundfile.read(path, dtype="float32", always_2d=True)
                g = np.gcd(rate, A.RATE)
                x = signal.resample_poly(x[:, 0], A.RATE // g, rate // g).astype(np.float32)
                label = text.normalize(text.spell_digits(row["text"], row["language"]))
                items.append(("human-" + name, text.fold(label), features(x[:30 * A.RATE])))
    return items


def transcribe(model, mels, device="cpu", bf16=True, frames=8192):
    """Log-mel arrays -> [(causal text, full text)], in batches of about `frames` mel frames."""
    order = sorted(range(len(mels)), key=lambda i: len(mels[i]))
    out = [None] * len(mels)
    at = 0
    while at < len(order):
        end = at + 1
        while end < len(order) and len(mels[order[end]]) * (end + 1 - at) <= frames:
            end += 1
        group = order[at:end]
        at = end
        longest = len(mels[group[-1]])
        x = np.full((len(group), longest, A.MELS), np.log(A.MEL_FLOOR), np.float32)
        mask = torch.zeros(len(group), longest // 4, device=device)
        for r, i in enumerate(group):
            x[r, :len(mels[i])] = mels[i]
            mask[r, :len(mels[i]) // 4] = 1
        with torch.no_grad(), torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
            encoded, causal, _speech, _ = model.encode(torch.from_numpy(x).to(device))
            full = model.refine(encoded, mask)
        causal, full = causal.argmax(-1).cpu(), full.argmax(-1).cpu()
        for r, i in enumerate(group):
            n = len(mels[i]) // 4
            out[i] = (text.decode(causal[r, :n].tolist()), text.decode(full[r, :n].tolist()))
    return out


def score(model, items, device="cpu", bf16=True):
    """Cell -> {causal, full: greedy CER %, full_wer %, n}. ё counts as е."""
    model.eval()
    guesses = transcribe(model, [m for _, _, m in items], device, bf16)
    sums = {}
    for (cell, ref, _), (causal, full) in zip(items, guesses):
        s = sums.setdefault(cell, np.zeros(6))
        causal, full = text.fold(causal), text.fold(full)
        s += [distance(causal, ref), distance(full, ref), len(ref), distance(full.split(), ref.split()),
              len(ref.split()), 1]
    return {c: dict(causal=round(100 * s[0] / s[2], 2), full=round(100 * s[1] / s[2], 2),
                    full_wer=round(100 * s[3] / s[4], 1), n=int(s[5])) for c, s in sums.items()}


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--checkpoint", default=os.path.join(export.CACHE, "checkpoint.pt"))
    p.add_argument("--per-cell", type=int, default=0, help="sentences per cell, 0 for all")
    p.add_argument("--into", help="JSON file (training.json) that gets the scores as `final`")
    p.add_argument("--dev", help="folder of `rhvoice.py dev`, scored, too")
    p.add_argument("--show", type=int, default=0, help="print some transcripts of every cell")
    a = p.parse_args()
    torch.set_num_threads(1)
    model, _ = export.load(a.checkpoint)
    items = load_set(a.per_cell, also=[a.dev] if a.dev else [])
    scores = score(model, items, bf16=False)
    for cell, v in scores.items():
        print("%-34s %s" % (cell, v))
    if a.into:
        export.merge(a.into, final=scores)
    shown = {}
    for (cell, ref, mel) in items:
        shown[cell] = shown.get(cell, 0) + 1
        if shown[cell] <= a.show:
            print(cell, "\n  ref ", ref, "\n  full", transcribe(model, [mel], bf16=False)[0][1])
