"""Intelligibility by the repository's own recogniser: `roundtrip.py [--count 40] [--steps 16]`, after `npm run build`.

Speaks the sentences of reference.py with predicted durations and reports the character error rate of their transcripts
next to that of the reference speech itself (the recogniser errs, too: only the difference is meaningful)."""

import argparse
import json
import os
import re
import subprocess

import numpy as np
import soundfile
import torch
from scipy.signal import resample_poly

from config import CACHE, HERE, MODELS, REFERENCE_DIR, VOICES
from export import load_models
from synthesize import synthesize


def comparable(text):
    """Lower-case words without punctuation; ё as е."""
    return " ".join(re.sub(r"[^\w ]|_", " ", text.lower()).replace("ё", "е").split())


def edits(a, b):
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--recognizer", default=os.path.join(MODELS, "svc-kk-ru-v2"))
    parser.add_argument("--count", type=int, default=40, help="sentences of each voice")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--oracle", default="", help="'durations' takes the reference's durations")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with open(os.path.join(REFERENCE_DIR, "index.jsonl"), encoding="utf-8") as file:
        index = [json.loads(line) for line in file]
    ids = [voice.id for voice in VOICES]
    index = [row for voice in ids for row in [r for r in index if r["voice"] == voice][:options.count]]
    acoustic, vocoder, _ = load_models()
    folder = os.path.join(CACHE, "roundtrip")
    os.makedirs(folder, exist_ok=True)
    files = []

    def write(name, pcm):
        path = os.path.join(folder, name)
        resample_poly(pcm, 2, 3).astype(np.float32).tofile(path)
        files.append(path)

    for number, row in enumerate(index):
        write(f"reference-{number}.f32", soundfile.read(os.path.join(REFERENCE_DIR, row["file"]), dtype="float32")[0])
    for number, row in enumerate(index):
        told = [row["durations"]] if options.oracle == "durations" else None
        spoken = synthesize((acoustic, vocoder), [row["text"]], [ids.index(row["voice"])], [options.speed], durations=told,
                            steps=options.steps, temperature=options.temperature, seed=number)[0]
        write(f"speech-{number}.f32", np.clip(spoken["pcm"], -1.0, 1.0))
    listing = os.path.join(folder, "files.json")
    with open(listing, "w") as file:
        json.dump(files, file)
    output = subprocess.run(["node", os.path.join(HERE, "roundtrip.mjs"), listing, options.recognizer],
                            check=True, stdout=subprocess.PIPE).stdout
    heard = json.loads(output)
    result = {}
    for voice in ids:
        rows = [number for number, row in enumerate(index) if row["voice"] == voice]
        total = sum(len(comparable(index[number]["text"])) for number in rows)
        result[voice] = {
            kind: round(100.0 * sum(edits(comparable(index[number]["text"]), comparable(heard[offset + number]))
                                    for number in rows) / total, 2)
            for kind, offset in (("reference_cer", 0), ("speech_cer", len(index)))}
    for number in (0, 1, len(index) // 2):
        print(index[number]["text"], "|", heard[number], "|", heard[len(index) + number])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
