"""Excitation of the vocoder: the reference formula that the engine ports.

Everything depends only on absolute sample positions, so audio may be computed in pieces.

Given f0 f32 [T] in Hz, one value per frame of 256 samples, frame i being centred on sample 256 i + 128:

 1. f0 of sample n: linear interpolation between frame centres, held before the first and after the last centre:
        u = (n - 127.5) / 256,  i = floor(u) clamped to 0..T-2,  w = clamp(u - i, 0, 1)
        f(n) = (1 - w) f0[i] + w f0[i + 1]
 2. phase in cycles, in double precision: phase(n) = sum_{m <= n} f(m) / 24000, carried on from piece to piece
    (only its fractional part matters); phase(-1) = 0.
 3. harmonics up to 0.48 of the sample rate: K(n) = floor(0.48 * 24000 / f(n)) = floor(11520 / f(n)).
 4. pulse train with all K harmonics at equal amplitude and zero phase, by the closed Dirichlet form:
        sum_{k=1..K} cos(2 pi k p) = 0.5 * (sin((2K + 1) pi p) / sin(pi p) - 1),  and K where |sin(pi p)| < 1e-6
 5. unit power: K cosines of amplitude 1 have power K / 2, so excitation(n) = sum * sqrt(2 / K).

There is no voicing gate: the f0 of unvoiced frames is a plain continuation, and the vocoder decides how
audible the pulse train and the noise are. The noise is white, Gaussian, unit variance, from a counter-based
generator (so that sample n always gets the same value); any such generator will do."""

import numpy as np
import torch

from config import HOP, SAMPLE_RATE

HARMONIC_LIMIT = 0.48


def pulse_train(f0):
    """f0 f64 [..., T] Hz (numpy) -> excitation f32 [..., T*256]; phase starts at 0."""
    f0 = np.asarray(f0, np.float64)
    frames = f0.shape[-1]
    position = (np.arange(frames * HOP) - (HOP - 1) / 2.0) / HOP
    left = np.clip(np.floor(position), 0, max(frames - 2, 0)).astype(np.int64)
    right = np.minimum(left + 1, frames - 1)
    weight = np.clip(position - left, 0.0, 1.0)
    frequency = (1.0 - weight) * f0[..., left] + weight * f0[..., right]
    phase = np.cumsum(frequency / SAMPLE_RATE, -1)
    phase -= np.floor(phase)
    count = np.floor(HARMONIC_LIMIT * SAMPLE_RATE / frequency)
    below = np.sin(np.pi * phase)
    close = np.abs(below) < 1e-6
    ratio = np.sin((2.0 * count + 1.0) * np.pi * phase) / np.where(close, 1.0, below)
    total = np.where(close, count, 0.5 * (ratio - 1.0))
    return (total * np.sqrt(2.0 / count)).astype(np.float32)


def noise(shape, seed):
    """Unit white Gaussian noise f32 of the given shape (numpy)."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def excitation_tensors(f0, seed):
    """f0 f32 [B, T] Hz (torch) -> (pulse train, noise), both f32 [B, T*256] on the device of f0."""
    pulses = torch.from_numpy(pulse_train(f0.detach().cpu().double().numpy()))
    white = torch.from_numpy(noise((f0.shape[0], f0.shape[1] * HOP), seed))
    return pulses.to(f0.device), white.to(f0.device)
