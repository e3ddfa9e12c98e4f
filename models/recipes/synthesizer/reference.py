"""Reference speech of held-out sentences, for the evaluation: `reference.py [--count 40] [--seed 1]`.

For every voice, writes 24 kHz WAV files of the espeak-ng variant that the voice was trained on, at normal speed and the
voice's level, to models/recipes/.cache/reference/, and index.jsonl with a line per file: file, voice, text (as given to
the synthesizer), normalized (letters only), frames, durations (frames of every token of "^" + text + "$", 256 samples
each). Deterministic."""

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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    espeak = Espeak()
    heldout, _ = read_heldout()
    gain = gains(espeak, heldout)
    chosen = list(heldout)
    random.Random(options.seed).shuffle(chosen)
    # The letter-to-phoneme alignment is learnt on all held-out sentences, so it does not depend on --count.
    pairs = {}
    for text in heldout:
        for voice in VOICES:
            spoken = speak(espeak, text, voice, BASE_RATE)
            for part in spoken[1] if spoken else []:
                key = ("".join(text[i] for i in part["letters"]), tuple(part["phonemes"]))
                pairs[key] = pairs.get(key, 0) + 1
    splits = align.learn(pairs)
    os.makedirs(REFERENCE_DIR, exist_ok=True)
    with open(os.path.join(REFERENCE_DIR, "index.jsonl"), "w", encoding="utf-8") as index:
        for number, voice in enumerate(VOICES):
            written = 0
            for text in chosen:
                spoken = speak(espeak, text, voice, BASE_RATE)
                if spoken is None:
                    continue
                pcm, durations = to_frames(spoken[0], align.boundaries(text, spoken[1], splits, len(spoken[0])), gain[number])
                file = f"{voice.id}-{written:03d}.wav"
                soundfile.write(os.path.join(REFERENCE_DIR, file), np.round(pcm * 32767.0).astype(np.int16), SAMPLE_RATE)
                index.write(json.dumps({"file": file, "voice": voice.id, "text": text, "normalized": normalized(text),
                                        "frames": int(durations.sum()), "durations": durations.tolist()},
                                       ensure_ascii=False) + "\n")
                written += 1
                if written == options.count:
                    break
            print(f"{voice.id}: {written} files")


if __name__ == "__main__":
    main()
