"""Scores of the trained models on held-out sentences: `evaluate.py [--count 24] [--write]`.

With --write they are saved, with the training curves, in models/svc-kk-v1/training.json.

 duration    mean absolute error in frames per character, and of the whole utterance in per cent (predicted durations)
 pitch       with true durations, frames voiced in both: correlation per utterance (mean) and over all frames of a voice,
             median absolute error in cents, frame-to-frame movement against the reference's; voicing error in per cent
 mel         with true durations: L1 of log-mel, ratio of variances (1 = as lively as the reference)
 copy        vocoder alone, from true features: L1 between log-mel of its output and of the reference
 speech      whole synthesis with true durations: the same distance
"""

import argparse
import json
import os
import platform
import time

import numpy as np
import torch

from acoustic import LOSS_WEIGHTS
from config import CACHE, F0_MEAN, F0_SCALE, HOP, OUTPUT, SAMPLE_RATE, VOICES
from data import Split
from excitation import excitation_tensors
from export import load_models
from features import LogMel
from synthesize import synthesize


def evaluate(models, heldout, count, steps, temperature):
    """Returns {voice id: scores}."""
    log_mel, result = LogMel(), {}
    for number, voice in enumerate(VOICES):
        items = [item for item in heldout.items if item["voice"] == number][:count]
        rows = {key: [] for key in ("duration", "length", "correlation", "cents", "voicing", "movement", "true_movement",
                                    "mel", "copy", "speech", "variance")}
        all_true, all_predicted = [], []
        for first in range(0, len(items), 4):
            group = items[first:first + 4]
            texts, voices = [item["text"] for item in group], [number] * len(group)
            free = synthesize(models, texts, voices, steps=1, seed=first)
            told = synthesize(models, texts, voices, durations=[item["durations"] for item in group], steps=steps,
                              temperature=temperature, seed=first)
            for item, guess, spoken in zip(group, free, told):
                start, frames = item["offset"], item["frames"]
                true = np.array(item["durations"])
                rows["duration"].append(np.abs(guess["durations"] - true).mean())
                rows["length"].append(abs(guess["durations"].sum() / true.sum() - 1.0) * 100.0)
                f0 = heldout.f0[start:start + frames].astype(np.float32)
                voiced = f0[:, 1] > 0.5
                both = voiced & (spoken["voicing"] > 0.5)
                a, b = f0[:, 0] * F0_SCALE + F0_MEAN, np.log(spoken["f0"])
                rows["correlation"].append(np.corrcoef(a[both], b[both])[0, 1])
                rows["cents"].append(np.median(np.abs(a - b)[both]) * 1200 / np.log(2))
                rows["voicing"].append((voiced != (spoken["voicing"] > 0.5)).mean() * 100.0)
                near = both[1:] & both[:-1]
                rows["movement"].append(np.abs(np.diff(b))[near].mean() * 1200 / np.log(2))
                rows["true_movement"].append(np.abs(np.diff(a))[near].mean() * 1200 / np.log(2))
                all_true.append(a[both])
                all_predicted.append(b[both])
                mel = heldout.mel[start:start + frames].astype(np.float32)
                made = spoken["mel"] * heldout.std + heldout.mean
                rows["mel"].append(np.abs(mel - made).mean())
                rows["variance"].append(made.var(0).mean() / mel.var(0).mean())
                with torch.no_grad():
                    hertz = torch.from_numpy(np.exp(a))[None]
                    copied = models[1](torch.from_numpy(heldout.normalised(start, start + frames))[None], hertz,
                                       torch.from_numpy(f0[None, :, 1]), *excitation_tensors(hertz, first))
                    rows["copy"].append(np.abs(log_mel(copied)[0].numpy() - mel).mean())
                    rows["speech"].append(np.abs(log_mel(torch.from_numpy(spoken["pcm"])[None])[0].numpy() - mel).mean())
        mean = {key: round(float(np.mean(values)), 3) for key, values in rows.items()}
        result[voice.id] = {
            "utterances": len(items), "duration_mae_frames": mean["duration"], "length_error_percent": mean["length"],
            "f0_correlation_per_utterance": mean["correlation"],
            "f0_correlation": round(float(np.corrcoef(np.concatenate(all_true), np.concatenate(all_predicted))[0, 1]), 3),
            "f0_error_cents": mean["cents"], "voicing_error_percent": mean["voicing"],
            "f0_movement_cents": mean["movement"], "f0_movement_reference_cents": mean["true_movement"],
            "mel_l1": mean["mel"], "mel_variance_ratio": mean["variance"], "vocoder_copy_mel_l1": mean["copy"],
            "speech_mel_l1": mean["speech"]}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=24, help="sentences of each voice")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--machine", default=f"{platform.machine()} CPU, one thread")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.time()
    acoustic, vocoder, progress = load_models()
    figures = evaluate((acoustic, vocoder), Split("heldout"), options.count, options.steps, options.temperature)
    print(json.dumps(figures, indent=2))
    print(f"{time.time() - started:.0f} s")
    if not options.write:
        return
    saved = {name: torch.load(os.path.join(CACHE, f"{name}.pt"), map_location="cpu") for name in ("acoustic", "vocoder")}
    with open(os.path.join(CACHE, "train.json"), encoding="utf-8") as file:
        items = json.load(file)
    with open(os.path.join(CACHE, "heldout.json"), encoding="utf-8") as file:
        heldout = json.load(file)
    hours = {voice.id: round(sum(item["frames"] for item in items if item["voice"] == number) * HOP / SAMPLE_RATE / 3600, 2)
             for number, voice in enumerate(VOICES)}
    value = {
        "data": {"source": "espeak-ng 1.51, " + ", ".join(f"{voice.id}: {voice.espeak}" for voice in VOICES),
                 "hours": hours, "utterances": len(items), "heldout_utterances": len(heldout)},
        "machine": options.machine,
        "acoustic": {"parameters": sum(p.numel() for p in acoustic.parameters()), "steps": saved["acoustic"]["step"],
                     "minutes": round(saved["acoustic"]["elapsed"] / 60, 1),
                     "hours_seen": round(saved["acoustic"]["hours_seen"], 1), "loss_weights": LOSS_WEIGHTS,
                     "curve": [row for i, row in enumerate(saved["acoustic"]["curve"]) if "heldout" in row or i % 5 == 4]},
        "vocoder": {"parameters": sum(p.numel() for p in vocoder.parameters()), "steps": saved["vocoder"]["step"],
                    "minutes": round(saved["vocoder"]["elapsed"] / 60, 1), "curve": saved["vocoder"]["curve"][1::2]},
        "evaluation": {"steps": options.steps, "noise_temperature": options.temperature, "voices": figures}}
    path = os.path.join(OUTPUT, "training.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
