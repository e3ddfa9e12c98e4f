"""Intonation of marks: `intonation.py [--count 8]` prints a Markdown table of the pitch at the end of
statements, questions, exclamations and items of lists, of the reference speech and of the trained model.

The same held-out sentences are spoken with each mark, so only the mark differs. A value is the pitch of the
last 60 ms of voiced speech before the mark relative to the mean of its clause, in semitones, mean over
sentences; the model is measured by its F0, which the vocoder's pulses follow, with its own durations. Needs
acoustic.pt (from_graphs.py makes it from the package)."""

import argparse

import numpy as np
import torch
from scipy.signal import resample_poly

import align
from config import BASE_RATE, FRAME_RATE, HOP, PUNCTUATION, VOICES
from espeak import Espeak
from export import load_models
from features import f0_batch
from prepare import gains, speak, to_frames
from synthesize import synthesize
from text import read_heldout

LISTS = ["нан, сүт, ет, май.", "алма, өрік, жүзім, қауын.", "қыс, көктем, жаз, күз.", "ит, мысық, жылқы, сиыр.",
         "кітап, дәптер, қалам, қарындаш.", "әке, шеше, аға, апа.", "дүйсенбі, сейсенбі, сәрсенбі, бейсенбі.",
         "темір, алтын, күміс, мыс."]
KINDS = [("statement", "."), ("question", "?"), ("exclamation", "!")]
LAST_FRAMES = round(0.06 * FRAME_RATE)


def rises(text, durations, log_f0, voiced, mark):
    """Semitones of the last voiced frames of each clause that ends with `mark`, relative to the mean of that
    clause."""
    ends = np.cumsum(durations)
    found, start = [], 0
    for i, letter in enumerate(text):
        if letter not in PUNCTUATION:
            continue
        frames = np.arange(start, ends[i])  # token 0 is "^": ends[i] is where the letter before the mark ends
        start = ends[i + 1]
        frames = frames[voiced[frames]]
        if letter == mark and len(frames) > 2 * LAST_FRAMES:
            found.append((log_f0[frames[-LAST_FRAMES:]].mean() - log_f0[frames].mean()) * 12.0 / np.log(2.0))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=8, help="held-out sentences")
    options = parser.parse_args()
    torch.set_num_threads(1)
    espeak, models = Espeak(), load_models()[:2]
    heldout, _ = read_heldout()
    gain = gains(espeak, heldout)
    plain = [text[:-1] for text in heldout if 15 <= len(text) <= 45 and not set(text[:-1]) & set(PUNCTUATION)]
    texts = [(kind, body + mark, mark) for kind, mark in KINDS for body in plain[:options.count]]
    texts += [("item of a list", text, ",") for text in LISTS]
    pairs = {}
    for text in heldout + [text for _, text, _ in texts]:
        for part in (speak(espeak, text, VOICES[0], BASE_RATE) or (None, []))[1]:
            key = ("".join(text[i] for i in part["letters"]), tuple(part["phonemes"]))
            pairs[key] = pairs.get(key, 0) + 1
    splits = align.learn(pairs)
    kinds = [kind for kind, _ in KINDS] + ["item of a list"]
    print("| voice | " + " | ".join(f"{kind}: reference, ours" for kind in kinds) + " |")
    print("| --- |" + " ---: |" * len(kinds))
    for number, voice in enumerate(VOICES):
        sums = {kind: [[], []] for kind in kinds}
        for kind, text, mark in texts:
            spoken = speak(espeak, text, voice, BASE_RATE)
            if spoken is None:
                continue
            pcm, durations = to_frames(spoken[0], align.boundaries(text, spoken[1], splits, len(spoken[0])), gain[number])
            track = f0_batch([resample_poly(pcm, 1, 2).astype(np.float32)], [len(pcm) // HOP], [voice.f0_range])[0]
            sums[kind][0] += rises(text, durations, *track, mark)
            ours = synthesize(models, [text], [number], steps=1)[0]
            sums[kind][1] += rises(text, ours["durations"], np.log(ours["f0"]), ours["voicing"] > 0.5, mark)
        cells = [", ".join(f"{np.mean(values):+.1f}" for values in sums[kind]) for kind in kinds]
        print(f"| {voice.id} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
