"""Evaluation set: held-out sentences spoken by seen and unseen synthesiser variants, clean and in 10 dB noise.

Writes `.cache/eval/*.wav` (16 kHz mono 16 bit) and `index.jsonl`: file, language (kk, ru, mixed), condition (clean,
noise10), speakers (seen, unseen), variant, text, normalized. Deterministic for a seed. Digits are spelled as
cardinals in both audio and reference; mixed sentences are spoken word by word in the voice of the word's language.
Every file has 300 ms of background before and 200 ms after the speech.
"""
import argparse
import json
import os

import numpy as np
import soundfile

import augment as A
import generate
import speakers
import text

HERE = os.path.dirname(os.path.abspath(__file__))
EVAL = os.path.join(HERE, "..", ".cache", "eval")


def make(out, count, seed):
    os.makedirs(out, exist_ok=True)
    seen, unseen = speakers.variants()
    rows = []
    for li, lang in enumerate(("kk", "ru", "mixed")):
        lines = text.heldout(lang)
        order = np.random.default_rng(seed + li).permutation(len(lines))
        for group, pool in (("seen", seen), ("unseen", unseen)):
            for condition in ("clean", "noise10"):
                done = 0
                for j, i in enumerate(order):
                    if done == count:
                        break
                    rng = np.random.default_rng([seed, li, group == "seen", condition == "clean", int(i)])
                    line = lines[i]
                    voice = generate.Speaker(rng, pool)
                    voice.rate = int(rng.uniform(120, 200))
                    spans = text.language_spans(line) if lang == "mixed" else [(lang, line)]
                    x, label = voice.say(rng, spans)
                    if len(x) < 3200 or len(x) > 25 * A.RATE:
                        continue
                    x = np.concatenate([np.zeros(4800, np.float32), x, np.zeros(3200, np.float32)])
                    if condition == "noise10":
                        active = x[np.repeat(A.speech_frames(x), A.HOP).nonzero()[0]]
                        noise = A.background(rng, len(x))
                        x = x + noise * np.sqrt(np.mean(active ** 2)) * A.db(-10)
                    else:
                        x = x + A.coloured(rng, len(x), 1) * np.sqrt(np.mean(x * x)) * A.db(-55)
                    x *= A.db(rng.uniform(-18, -2)) / np.abs(x).max()
                    name = "%s-%s-%s-%03d.wav" % (lang, group, condition, done)
                    soundfile.write(os.path.join(out, name), x, A.RATE, subtype="PCM_16")
                    rows.append(dict(file=name, language=lang, condition=condition, speakers=group,
                                     variant=voice.variant, text=line, normalized=label))
                    done += 1
    with open(os.path.join(out, "index.jsonl"), "w", encoding="utf-8") as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")
    return rows


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default=EVAL)
    p.add_argument("--count", type=int, default=100, help="sentences per cell (12 cells)")
    p.add_argument("--seed", type=int, default=7)
    a = p.parse_args()
    print(len(make(a.out, a.count, a.seed)), "files in", a.out)
