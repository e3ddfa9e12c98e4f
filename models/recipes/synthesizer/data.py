"""Access to the prepared features."""

import json
import os

import numpy as np
import torch

from config import BASE_RATE, CACHE, HOP


class Split:
    """One prepared split. Arrays are memory-mapped; items are dicts (see prepare.py)."""

    def __init__(self, name):
        with open(os.path.join(CACHE, f"{name}.json"), encoding="utf-8") as file:
            self.items = json.load(file)
        self.f0 = np.load(os.path.join(CACHE, f"{name}.f0.npy"), mmap_mode="r")
        self.mel = self.pcm = None
        if os.path.exists(os.path.join(CACHE, f"{name}.mel.npy")):  # prepare.py --pitch-only makes neither
            self.mel = np.load(os.path.join(CACHE, f"{name}.mel.npy"), mmap_mode="r")
            self.pcm = np.load(os.path.join(CACHE, f"{name}.pcm.npy"), mmap_mode="r")
        statistics = np.load(os.path.join(CACHE, "statistics.npz"))
        self.mean, self.std = statistics["mean"], statistics["std"]

    def normalised(self, start, end):
        """Normalised mel f32 [end - start, 80]."""
        return (self.mel[start:end].astype(np.float32) - self.mean) / self.std


def fixed_order(items, budget, rng):
    """Batches of item indices with similar lengths and at most `budget` padded frames, in random order."""
    order = sorted(range(len(items)), key=lambda i: items[i]["frames"] * (1.0 + 0.1 * rng.random()))
    batches, batch, longest = [], [], 0
    for index in order:
        longest = max(longest, items[index]["frames"])
        if batch and longest * (len(batch) + 1) > budget:
            batches.append(batch)
            batch, longest = [], items[index]["frames"]
        batch.append(index)
    batches.append(batch)
    rng.shuffle(batches)
    return batches


def position_features(durations, frames, total):
    """frame_to_token i64 [total] and position f32 [total, 3] of one utterance; zeros beyond `frames`.

    The last token is extended when `frames` is more than the sum of durations (T is made even)."""
    durations = np.asarray(durations).copy()
    durations[-1] += frames - durations.sum()
    token = np.repeat(np.arange(len(durations)), durations)
    starts = np.cumsum(durations) - durations
    inside = np.arange(frames) - starts[token]
    d = durations[token].astype(np.float32)
    fraction = (inside + 0.5) / d
    index, position = np.zeros(total, np.int64), np.zeros((total, 3), np.float32)
    index[:frames] = token
    position[:frames] = np.stack([fraction, 1.0 - fraction, np.log1p(d) / 2.0], 1)
    return index, position


def collate(split, indices, device="cpu"):
    """Pads utterances to a batch of tensors.

    tokens i64 [B,N], durations f32 [B,N], voice i64 [B], log_speed f32 [B], frame_to_token i64 [B,T],
    position f32 [B,T,3], mask f32 [B,T], mel f32 [B,T,80] normalised (zeros where there is none), f0 f32 [B,T,2]; T is even."""
    items = [split.items[i] for i in indices]
    even = [item["frames"] + item["frames"] % 2 for item in items]
    batch, longest, tokens = len(items), max(even), max(len(item["tokens"]) for item in items)
    result = {
        "tokens": np.zeros((batch, tokens), np.int64), "durations": np.zeros((batch, tokens), np.float32),
        "voice": np.array([item["voice"] for item in items], np.int64),
        "log_speed": np.array([np.log(item["rate"] / BASE_RATE) for item in items], np.float32),
        "frame_to_token": np.zeros((batch, longest), np.int64), "position": np.zeros((batch, longest, 3), np.float32),
        "mask": np.zeros((batch, longest), np.float32), "mel": np.zeros((batch, longest, 80), np.float32),
        "f0": np.zeros((batch, longest, 2), np.float32)}
    for row, (item, length) in enumerate(zip(items, even)):
        count, start, frames = len(item["tokens"]), item["offset"], item["frames"]
        result["tokens"][row, :count] = item["tokens"]
        result["durations"][row, :count] = item["durations"]
        index, position = position_features(item["durations"], length, longest)
        result["frame_to_token"][row], result["position"][row] = index, position
        result["mask"][row, :length] = 1.0
        if split.mel is not None:
            result["mel"][row, :frames] = split.normalised(start, start + frames)
        result["f0"][row, :frames] = split.f0[start:start + frames]
        if length > frames:  # the extra frame repeats the last one
            result["mel"][row, frames] = result["mel"][row, frames - 1]
            result["f0"][row, frames] = result["f0"][row, frames - 1]
    return {key: torch.from_numpy(value).to(device, non_blocking=True) for key, value in result.items()}


def crop(split, rng, count, frames):
    """Random voiced-or-not crops for the vocoder: mel [B,T,80] normalised, f0 [B,T,2], pcm f32 [B,T*256]."""
    long = [item for item in split.items if item["frames"] >= frames]
    mel, f0, pcm = [], [], []
    for _ in range(count):
        item = long[rng.randrange(len(long))]
        start = item["offset"] + rng.randrange(item["frames"] - frames + 1)
        mel.append(split.normalised(start, start + frames))
        f0.append(split.f0[start:start + frames].astype(np.float32))
        pcm.append(split.pcm[start * HOP:(start + frames) * HOP].astype(np.float32) / 32767.0)
    return tuple(torch.from_numpy(np.stack(part)) for part in (mel, f0, pcm))
