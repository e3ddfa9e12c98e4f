"""Synthesizes the training speech and writes features: `prepare.py [--hours 3] [--seed 1] [--pitch-only]`.

Writes to the cache folder, for each split (train, heldout), one row per frame or sample of all utterances in a line:
  SPLIT.mel.npy      f16 [frames, 80]  log-mel, not normalised
  SPLIT.f0.npy       f16 [frames, 2]   (log F0 - mean) / scale, interpolated; voicing 0/1
  SPLIT.pcm.npy      i16 [frames * 256]
  SPLIT.json         utterances: text, voice (index), rate, frame offset, frames, durations in frames of "^" + text + "$"
  statistics.npz     mean and standard deviation of each mel bin over the training split
--pitch-only writes neither mel nor pcm, which train_pitch.py does not need.
"""

import argparse
import json
import os
import random
import time

import numpy as np
import torch
from scipy.signal import resample_poly

import align
from config import (BASE_RATE, CACHE, F0_MEAN, F0_SCALE, HOP, MAX_RATE, MIN_RATE, SAMPLE_RATE, VOICES)
from espeak import ESPEAK_SAMPLE_RATE, Espeak
from features import LogMel, f0_batch
from text import encode, read_heldout, training_mix

EDGE = 0.05  # seconds of silence before and after the speech, owned by "^" and "$"
MAX_SECONDS = 13.0
TARGET_RMS = 0.1
FAST = 0.8, 1.06  # times the fastest rate: beyond it, so that the fastest is no edge


def draw_rate(rng, usual_share=0.5, fast_share=0.0):
    """Words per minute: a share at the usual rate, a share around the fastest, else anything from 80 to 320 (log-uniform)."""
    drawn = rng.random()
    if drawn < usual_share:
        return round(BASE_RATE * float(np.exp(rng.gauss(0.0, 0.05))))
    if drawn < usual_share + fast_share:
        return round(MAX_RATE * rng.uniform(*FAST))
    return round(float(np.exp(rng.uniform(np.log(MIN_RATE), np.log(MAX_RATE)))))


def speak(espeak, text, voice, rate):
    """Returns (audio f32 at 22 050 Hz, segments), or None if events and text disagree."""
    # A spaced long dash makes bogus events; a comma in its place gives the same pause at the same positions.
    audio, events = espeak.synthesize(text.replace("—", ","), voice.espeak, rate)
    if not 0.1 <= len(audio) / ESPEAK_SAMPLE_RATE <= MAX_SECONDS:
        return None
    parts = align.segments(text, events)
    return None if parts is None else (audio, parts)


def gains(espeak, heldout):
    """Per-voice factor that brings the speech to a root mean square of 0.1."""
    result = []
    for voice in VOICES:
        audio = np.concatenate([espeak.synthesize(text, voice.espeak, BASE_RATE)[0] for text in heldout[:30]])
        loud = audio[np.abs(audio) > 0.003]
        result.append(TARGET_RMS / float(np.sqrt(np.mean(np.square(loud)))))
    return result


def to_frames(audio, boundaries, gain):
    """Resamples, adds the silent edges and rounds the boundaries to frames.

    Returns (pcm f32 [T*256], durations of all len(text) + 2 tokens; they sum to T)."""
    pcm = resample_poly(audio, 160, 147).astype(np.float32) * gain
    edge = round(EDGE * SAMPLE_RATE)
    marks = np.concatenate([[0.0], boundaries * (SAMPLE_RATE / ESPEAK_SAMPLE_RATE) + edge])
    total = len(pcm) + 2 * edge
    frames = int(np.ceil(total / HOP))
    starts = np.minimum(np.round(marks / HOP).astype(int), frames)
    durations = np.diff(np.concatenate([starts, [frames]]))
    padded = np.zeros(frames * HOP, np.float32)
    padded[edge:edge + len(pcm)] = pcm
    return np.clip(padded, -1.0, 1.0), durations


def features_of(pcms, voices, log_mel):
    """Mel and F0 of a list of utterances. Returns a list of (mel f16 [T,80], f0 f16 [T,2]); no mel without `log_mel`."""
    halves = [resample_poly(pcm, 1, 2).astype(np.float32) for pcm in pcms]
    pitch = f0_batch(halves, [len(p) // HOP for p in pcms], [VOICES[voice].f0_range for voice in voices])
    rows = []
    for pcm, (log_f0, voiced) in zip(pcms, pitch):
        mel = log_mel(torch.from_numpy(pcm)[None])[0].numpy().astype(np.float16) if log_mel else None
        f0 = np.stack([(log_f0 - F0_MEAN) / F0_SCALE, voiced], 1).astype(np.float16)
        rows.append((mel, f0))
    return rows


def write(name, items, splits, gain, log_mel):
    """Aligns, computes features and writes one split. items: dicts text, voice, rate, audio, parts. Without `log_mel`
    F0 only."""
    mels, f0s, pcms, index, offset = [], [], [], [], 0
    for first in range(0, len(items), 48):
        group, waves = items[first:first + 48], []
        for item in group:
            # The final "_:" may end after the audio: boundaries are clamped to it.
            edges = align.boundaries(item["text"], item["parts"], splits, len(item["audio"]))
            wave, durations = to_frames(item["audio"], edges, gain[item["voice"]])
            assert len(durations) == len(item["text"]) + 2 and durations.sum() * HOP == len(wave)
            waves.append(wave)
            item["durations"] = durations
        for item, wave, (mel, f0) in zip(group, waves, features_of(waves, [item["voice"] for item in group], log_mel)):
            f0s.append(f0)
            if log_mel:
                mels.append(mel)
                pcms.append(np.round(wave * 32767.0).astype(np.int16))
            index.append({"text": item["text"], "voice": item["voice"], "rate": item["rate"], "offset": offset,
                          "frames": len(f0), "durations": item["durations"].tolist(), "tokens": encode(item["text"])})
            offset += len(f0)
    np.save(os.path.join(CACHE, f"{name}.f0.npy"), np.concatenate(f0s))
    if log_mel:
        np.save(os.path.join(CACHE, f"{name}.mel.npy"), np.concatenate(mels))
        np.save(os.path.join(CACHE, f"{name}.pcm.npy"), np.concatenate(pcms))
    with open(os.path.join(CACHE, f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump(index, file, ensure_ascii=False)
    print(f"{name}: {len(index)} utterances, {offset * HOP / SAMPLE_RATE / 3600:.2f} h", flush=True)
    return mels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hours", type=float, nargs="+", default=[3.0],
                        help="hours of training speech of each voice: one number, or one for each")
    parser.add_argument("--usual-share", type=float, default=0.5, help="share of speech at 160 words a minute")
    parser.add_argument("--fast-share", type=float, default=0.0, help="share of speech at 0.8 to 1.06 times the fastest rate")
    parser.add_argument("--pitch-only", action="store_true", help="no mel and no samples")
    parser.add_argument("--heldout", type=int, default=48, help="held-out sentences of each voice")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    os.makedirs(CACHE, exist_ok=True)
    rng = random.Random(options.seed)
    started, espeak, log_mel = time.time(), Espeak(), None if options.pitch_only else LogMel()
    hours = options.hours * (len(VOICES) if len(options.hours) == 1 else 1)
    if len(hours) != len(VOICES):
        parser.error(f"--hours takes 1 or {len(VOICES)} numbers")
    heldout, _ = read_heldout()
    gain = gains(espeak, heldout)
    print("gains", dict(zip([voice.id for voice in VOICES], gain)), flush=True)

    train, failed = [], 0
    for index, voice in enumerate(VOICES):
        mix, seconds = training_mix(options.seed * 100 + index), 0.0
        while seconds < hours[index] * 3600:
            text, rate = next(mix), draw_rate(rng, options.usual_share, options.fast_share)
            spoken = speak(espeak, text, voice, rate)
            if spoken is None:
                failed += 1
                continue
            train.append({"text": text, "voice": index, "rate": rate, "audio": spoken[0], "parts": spoken[1]})
            seconds += len(spoken[0]) / ESPEAK_SAMPLE_RATE
    rng.shuffle(train)
    test = []
    for text in heldout[:options.heldout]:
        for index, voice in enumerate(VOICES):
            spoken = speak(espeak, text, voice, BASE_RATE)
            if spoken is not None:
                test.append({"text": text, "voice": index, "rate": BASE_RATE, "audio": spoken[0], "parts": spoken[1]})
    print(f"synthesized {len(train)} + {len(test)} utterances, {failed} left out, {time.time() - started:.0f} s", flush=True)

    pairs = {}
    for item in train + test:
        for part in item["parts"]:
            key = ("".join(item["text"][i] for i in part["letters"]), tuple(part["phonemes"]))
            pairs[key] = pairs.get(key, 0) + 1
    splits = align.learn(pairs)
    print(f"aligned {len(pairs)} distinct words, {time.time() - started:.0f} s", flush=True)

    write("heldout", test, splits, gain, log_mel)
    mels = write("train", train, splits, gain, log_mel)
    statistics = os.path.join(CACHE, "statistics.npz")
    if mels and not os.path.exists(statistics):  # weights that are trained further keep the normalisation they know
        frames = np.concatenate(mels[:2000]).astype(np.float32)
        np.savez(statistics, mean=frames.mean(0), std=frames.std(0))
    with open(os.path.join(CACHE, "prepare.json"), "w") as file:
        json.dump({"hours_of_voices": hours, "seed": options.seed, "failed": failed, "gains": gain,
                   "splits": {}, "utterances": len(train)}, file)
    print(f"done in {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
