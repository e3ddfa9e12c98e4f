"""Near-speaker voice activity: a small causal convolutional network over log-mel, one probability a frame of
40 ms.

Shapes: B rows, n frames of 40 ms (25 Hz), C channels, F = 96 features a frame: ln(power + 1e-7) of 48 bands
in each half of the frame; the 32 lowest are the recogniser's, and 16 join three of its bands each. Each
output depends on 1.5 s: 36 frames before its own, and the front end's samples before those.
"""
import os
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recognizer"))
from model import Causal, Spliced, affine  # noqa: E402

MELS, STACK = 80, 4
FLOOR = 1e-7
LOW, JOINED = 32, 3


def pooling():
    """[320, F] f32: power of four 10 ms frames of 80 bands -> mean power of the features."""
    groups = [[i] for i in range(LOW)] + [list(range(i, i + JOINED)) for i in range(LOW, MELS, JOINED)]
    pool = np.zeros((STACK, MELS, 2, len(groups)), np.float32)
    for frame in range(STACK):
        for g, bands in enumerate(groups):
            pool[frame, bands, frame // 2, g] = 1 / (2 * len(bands))
    return pool.reshape(STACK * MELS, -1)


FEATURES = pooling().shape[1]


def features(power):
    """Power [B, 4 n, 80] -> [B, n, F]."""
    frames = power.reshape(power.shape[0], -1, STACK * MELS)
    return torch.log(frames @ torch.from_numpy(pooling()) + FLOOR)


class VoiceActivity(nn.Module):
    DEFAULT = dict(channels=128, causal=[1, 2, 5, 10])

    def __init__(self, config=None):
        super().__init__()
        self.config = c = dict(self.DEFAULT, **(config or {}))
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("std", torch.ones(FEATURES))
        self.stem = Spliced(1, FEATURES, c["channels"])
        self.causal = nn.ModuleList(Causal(c["channels"], d) for d in c["causal"])
        self.head = nn.Linear(c["channels"], 1)

    def reach(self):
        """Number of frames before its own on which an output depends."""
        return 2 * sum(self.config["causal"])

    def zero_state(self, batch):
        return [torch.zeros(batch, b.history, self.config["channels"]) for b in self.causal]

    def forward(self, features, state=None):
        """-> logits [B, n], next state."""
        state = state if state is not None else self.zero_state(features.shape[0])
        x = torch.relu(self.stem([(features - self.mean) / self.std]))
        after = []
        for block, before in zip(self.causal, state):
            x, kept = block(x, before)
            after.append(kept)
        return self.head(x)[..., 0], after


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def load(path):
    """Checkpoint -> (model with averaged weights, checkpoint)."""
    ck = torch.load(path, map_location="cpu")
    model = VoiceActivity(ck["config"])
    model.load_state_dict(ck["ema"])
    return model.eval(), ck
