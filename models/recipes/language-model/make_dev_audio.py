"""Speaks the development sentences for tuning the decoder: `.cache/dev/*.wav` and `index.jsonl`, rows as in the
evaluation set. Only synthesiser variants that training knows; every second sentence in 10 dB noise. Two minutes.
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

OUT = os.path.join(corpus.HERE, "..", ".cache", "dev")


def speak(rng, language, sentence, pool, is_noisy):
    """Samples as the evaluation set makes them, or None when the synthesiser gave up."""
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


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", default=OUT)
    args = options.parse_args()
    os.makedirs(args.out, exist_ok=True)
    pool = speakers.variants()[0]
    rows = []
    for i, (language, sentence) in enumerate(corpus.dev_sentences()):
        rng = np.random.default_rng([11, i])
        spoken = speak(rng, language, sentence, pool, i % 2 == 1)
        if spoken is None:
            continue
        samples, variant, label = spoken
        name = "%s-%03d.wav" % (language, i)
        soundfile.write(os.path.join(args.out, name), samples, augment.RATE, subtype="PCM_16")
        rows.append(dict(file=name, language=language, condition="noise10" if i % 2 else "clean", speakers="seen",
                         variant=variant, text=sentence, normalized=label))
    with open(os.path.join(args.out, "index.jsonl"), "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows), "files in", os.path.normpath(args.out))


if __name__ == "__main__":
    main()
