"""Reference speech of held-out sentences, for the evaluation: `reference.py [--count 40] [--speeds 0.5 0.8 1
1.25 2]`.

For every voice and speed, writes 24 kHz WAV files of the espeak-ng variant that the voice was trained on, at
the voice's level, to models/recipes/.cache/reference/, and index.jsonl with a line per file: file, again (a
second take), voice, speed (1 is 160 words a minute), f0_range (lowest and highest Hz that the voice can
have), text (as given to the synthesizer), normalized (letters only), frames, durations (frames of every token
of "^" + text + "$", 256 samples each). The first --spoken-at-speeds sentences only are also spoken at speeds
other than 1. Deterministic.

espeak-ng never speaks a sentence the same way twice: its pitch flutters, and its noises are drawn again. The
distance of two takes is the best that a synthesizer trained on it can reach."""

import argparse
import json
import os
import random

import numpy as np
import soundfile

import align
from config import BASE_RATE, REFERENCE_DIR, SAMPLE_RATE, VOICES
from espeak import Espeak
from prepare import gains, speak, to_frames
from text import normalized, read_heldout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=40, help="sentences of each voice")
    parser.add_argument("--speeds", type=float, nargs="+", default=[0.5, 0.8, 1.0, 1.25, 2.0])
    parser.add_argument("--spoken-at-speeds", type=int, default=20, help="of them, sentences at speeds other than 1")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    espeak = Espeak()
    heldout, _ = read_heldout()
    gain = gains(espeak, heldout)
    chosen = list(heldout)
    random.Random(options.seed).shuffle(chosen)
    # The letter-to-phoneme alignment is learnt from all held-out sentences, so it does not depend on --count.
    pairs = {}
    for text in heldout:
        for voice in VOICES:
            spoken = speak(espeak, text, voice, BASE_RATE)
            for part in spoken[1] if spoken else []:
                key = ("".join(text[i] for i in part["letters"]), tuple(part["phonemes"]))
                pairs[key] = pairs.get(key, 0) + 1
    splits = align.learn(pairs)
    os.makedirs(REFERENCE_DIR, exist_ok=True)

    def record(file, text, number, speed):
        """Speaks into a file; returns the durations, or None if the speech would be too long."""
        spoken = speak(espeak, text, VOICES[number], round(BASE_RATE * speed))
        if spoken is None:
            return None
        boundaries = align.boundaries(text, spoken[1], splits, len(spoken[0]))
        pcm, durations = to_frames(spoken[0], boundaries, gain[number])
        soundfile.write(os.path.join(REFERENCE_DIR, file), np.round(pcm * 32767.0).astype(np.int16), SAMPLE_RATE)
        return durations

    rows = []
    for number, voice in enumerate(VOICES):
        texts = [text for text in chosen if speak(espeak, text, voice, BASE_RATE)][:options.count]
        for speed in options.speeds:
            for i, text in enumerate(texts if speed == 1 else texts[:options.spoken_at_speeds]):
                file = f"{voice.id}-{speed:g}-{i:03d}.wav"
                durations = record(file, text, number, speed)
                if durations is not None:
                    rows.append((number, {"file": file, "again": file.replace(".wav", "-again.wav"), "voice": voice.id,
                                          "speed": speed, "f0_range": voice.f0_range, "text": text,
                                          "normalized": normalized(text), "frames": int(durations.sum()),
                                          "durations": durations.tolist()}))
        print(f"{voice.id}: {len(texts)} sentences")
    # Record second takes after all first ones, which therefore do not depend on them.
    rows = [row for number, row in rows if record(row["again"], row["text"], number, row["speed"]) is not None]
    with open(os.path.join(REFERENCE_DIR, "index.jsonl"), "w", encoding="utf-8") as index:
        for row in rows:
            index.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
