"""Speaks the development sentences for tuning the decoder: `.cache/dev/*.wav` and `index.jsonl`, with rows as
in the evaluation set. Uses only synthesiser variants that training knows. Takes three minutes.

Two kinds: dev.tsv, every second one in 10 dB noise; and held-out sentences that the evaluation set does not
have, every third one in noise: 300 sentences alone were too few, and their best weights no better elsewhere.
Needs the evaluation set (`../recognizer/make_eval.py`), to know its sentences.
"""
import argparse
import json
import os

import numpy as np

import corpus  # noqa: F401  (puts the recogniser's modules on the path)
import augment
import generate
import soundfile
import speakers
import text

EVALUATION = os.path.join(corpus.HERE, "..", ".cache", "eval", "index.jsonl")
HELD_OUT = {"ru": 220, "kk": 110, "mixed": 100}  # sentences at most; Russian needs them most
OUT = os.path.join(corpus.HERE, "..", ".cache", "dev")


def speak(rng, language, sentence, pool, is_noisy):
    """Samples in the form of the evaluation set, or None if the synthesiser failed."""
    voice = generate.Speaker(rng, pool)
    voice.rate = int(rng.uniform(120, 200))
    spans = text.language_spans(sentence) if language == "mixed" else [(language, sentence)]
    samples, label = voice.say(rng, spans)
    if not 3200 <= len(samples) <= 25 * augment.RATE:
        return None
    samples = np.concatenate([np.zeros(4800, np.float32), samples, np.zeros(3200, np.float32)])
    if is_noisy:
        active = samples[np.repeat(augment.speech_frames(samples), augment.HOP).nonzero()[0]]
        samples = samples + augment.background(rng, len(samples)) * np.sqrt(np.mean(active ** 2)) * augment.db(-10)
    else:
        hiss = augment.coloured(rng, len(samples), 1)
        samples = samples + hiss * np.sqrt(np.mean(samples * samples)) * augment.db(-55)
    return samples * augment.db(rng.uniform(-18, -2)) / np.abs(samples).max(), voice.variant, label


def unevaluated():
    """[(language, sentence, random seed, is noisy)] of held-out sentences whose letters are not in the evaluation set."""
    with open(EVALUATION, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    taken = {text.key(row[field]) for row in rows for field in ("text", "normalized")}
    for language, most in HELD_OUT.items():
        left = [s for s in text.heldout(language) if not {text.key(s), text.key(corpus.label(s))} & taken]
        chosen = [(i, s) for i, s in enumerate(left) if len(corpus.label(s)) >= 8][:most]
        for number, (i, sentence) in enumerate(chosen):
            yield language, sentence, [77, i, len(language)], number % 3 == 2


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", default=OUT)
    args = options.parse_args()
    os.makedirs(args.out, exist_ok=True)
    pool = speakers.variants()[0]
    rows = []
    sentences = [(language, s, [11, i], i % 2 == 1) for i, (language, s) in enumerate(corpus.dev_sentences())]
    for i, (language, sentence, seed, is_noisy) in enumerate([*sentences, *unevaluated()]):
        spoken = speak(np.random.default_rng(seed), language, sentence, pool, is_noisy)
        if spoken is None:
            continue
        samples, variant, label = spoken
        name = "%s-%03d.wav" % (language, i)
        soundfile.write(os.path.join(args.out, name), samples, augment.RATE, subtype="PCM_16")
        rows.append(dict(file=name, language=language, condition="noise10" if is_noisy else "clean", speakers="seen",
                         variant=variant, text=sentence, normalized=label))
    with open(os.path.join(args.out, "index.jsonl"), "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows), "files in", os.path.normpath(args.out))


if __name__ == "__main__":
    main()
