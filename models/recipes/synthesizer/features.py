"""Acoustic features: 80 log-mel bins and F0, both at 93.75 frames per second."""

import numpy as np
import torch

from config import HOP, MEL_FLOOR, MEL_MAX_HZ, N_BINS, N_FFT, N_MELS, SAMPLE_RATE


def _hz_to_mel(hz):
    hz = np.asarray(hz, np.float64)
    return np.where(hz < 1000.0, hz * 3.0 / 200.0, 15.0 + np.log(np.maximum(hz, 1e-9) / 1000.0) / (np.log(6.4) / 27.0))


def _mel_to_hz(mel):
    mel = np.asarray(mel, np.float64)
    return np.where(mel < 15.0, mel * 200.0 / 3.0, 1000.0 * np.exp((mel - 15.0) * np.log(6.4) / 27.0))


def mel_matrix():
    """Slaney-scale triangular filters of unit area, f32 [513, 80]."""
    edges = _mel_to_hz(np.linspace(0.0, _hz_to_mel(MEL_MAX_HZ), N_MELS + 2))
    bins = np.linspace(0.0, SAMPLE_RATE / 2.0, N_BINS)
    rise = (bins[:, None] - edges[None, :-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[None, 2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    filters = np.maximum(0.0, np.minimum(rise, fall)) * (2.0 / (edges[2:] - edges[:-2]))
    return filters.astype(np.float32)


class LogMel(torch.nn.Module):
    """pcm f32 [B, T*256] -> log-mel f32 [B, T, 80] (natural logarithm of magnitude, not normalised)."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT), persistent=False)
        self.register_buffer("filters", torch.from_numpy(mel_matrix()), persistent=False)

    def forward(self, pcm):
        # 384 zeros each side: frame i is centred on sample 256 i + 128, and N samples give N / 256 frames.
        padded = torch.nn.functional.pad(pcm, ((N_FFT - HOP) // 2,) * 2)
        spectrum = torch.stft(padded, N_FFT, HOP, window=self.window, center=False, return_complex=True)
        return torch.log(torch.clamp(spectrum.abs().transpose(1, 2) @ self.filters, min=MEL_FLOOR))


# ---------------------------------------------------------------- F0
F0_RATE = 12_000
_PERIODS = 2.75  # window length in periods of the lowest pitch: short, because pitch falls an octave in 100 ms here
_FFT = 1024
_CANDIDATES = 6


def _candidates(pcm12, frames, low, high):
    """Normalised autocorrelation peaks of every frame (Boersma 1993), between low and high Hz.

    pcm12: f32 [n] at 12 kHz. Returns (f0 [frames, 6], strength [frames, 6], unvoiced strength [frames]); empty places
    have strength -1."""
    hop, size = HOP // 2, 2 * int(_PERIODS * F0_RATE / low / 2)
    padded = np.pad(pcm12, (size // 2, size // 2 + hop))
    view = np.lib.stride_tricks.as_strided(padded[hop // 2:], (frames, size), (padded.strides[0] * hop, padded.strides[0]))
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    x = torch.from_numpy((view - view.mean(1, keepdims=True)) * window)
    power = torch.fft.rfft(x, _FFT).abs().square()
    shortest, longest = int(F0_RATE / high), int(F0_RATE / low)
    auto = torch.fft.irfft(power, _FFT)[:, :longest + 2]
    own = torch.fft.irfft(torch.fft.rfft(torch.from_numpy(window), _FFT).abs().square(), _FFT)[:longest + 2]
    r = (auto / (auto[:, :1] + 1e-9) / (own / own[0])).numpy()
    middle, left, right = r[:, shortest:-1], r[:, shortest - 1:-2], r[:, shortest + 1:]
    peak = (middle > left) & (middle >= right) & (middle > 0.2)
    curve = left - 2.0 * middle + right
    shift = np.where(peak, 0.5 * (left - right) / np.where(np.abs(curve) < 1e-9, -1e-9, curve), 0.0)
    lag = np.arange(shortest, longest + 1)[None] + shift
    value = middle - 0.25 * (left - right) * shift
    # Prefer short lags, because a steady voice also repeats exactly after two periods.
    score = np.where(peak, value - 0.07 * np.log2(lag / shortest), -1.0)
    order = np.argpartition(-score, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    strength = np.take_along_axis(score, order, 1)
    strength[np.sqrt(np.square(view).mean(1)) < 0.004] = -1.0  # silence
    # Noise has chance peaks, but little of its energy is below 1 kHz.
    lows = (power[:, 1:86].sum(1) / (power[:, 1:].sum(1) + 1e-9)).numpy()
    return F0_RATE / np.take_along_axis(lag, order, 1), strength, 0.33 + 0.6 * np.maximum(0.0, 0.45 - lows)


def _drop_short_runs(voiced, shortest=3):
    """Fills unvoiced gaps of one frame, then removes voiced runs of fewer than `shortest` frames."""
    voiced = voiced.copy()
    voiced[1:-1] |= voiced[:-2] & voiced[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], voiced.astype(np.int8), [0]])))
    for start, end in zip(edges[::2], edges[1::2]):
        if end - start < shortest:
            voiced[start:end] = False
    return voiced


def f0_batch(audios, frame_counts, ranges):
    """F0 of several utterances by one Viterbi over all of them.

    audios: list of f32 [n] at 12 kHz; frame_counts: frames of each; ranges: (lowest, highest) Hz of each.
    Returns a list of (log f0 f32 [T], interpolated
    through unvoiced stretches; voiced bool [T])."""
    batch, longest = len(audios), max(frame_counts)
    log_f0 = np.zeros((batch, longest, _CANDIDATES + 1), np.float32)
    score = np.full((batch, longest, _CANDIDATES + 1), -9.0, np.float32)
    score[:, :, -1] = 0.33  # the unvoiced candidate
    for i, (audio, frames) in enumerate(zip(audios, frame_counts)):
        f0, strength, unvoiced = _candidates(audio, frames, *ranges[i])
        log_f0[i, :frames, :-1] = np.log2(f0)
        score[i, :frames, :-1] = np.where(strength > 0, strength, -9.0)
        score[i, :frames, -1] = unvoiced
    voiced_to_unvoiced, octave_jump = 0.10, 0.6
    total = score[:, 0].copy()
    back = np.zeros((batch, longest, _CANDIDATES + 1), np.int8)
    cost = np.zeros((batch, _CANDIDATES + 1, _CANDIDATES + 1), np.float32)
    cost[:, :-1, -1] = voiced_to_unvoiced
    cost[:, -1, :-1] = voiced_to_unvoiced
    for t in range(1, longest):
        cost[:, :-1, :-1] = octave_jump * np.abs(log_f0[:, t, None, :-1] - log_f0[:, t - 1, :-1, None])
        reach = total[:, :, None] - cost
        back[:, t] = reach.argmax(1)
        total = reach.max(1) + score[:, t]
    result = []
    for i, frames in enumerate(frame_counts):
        # All frames after the end are unvoiced candidates, so starting from the common end is harmless.
        state = int(total[i].argmax())
        path = np.zeros(longest, np.int64)
        for t in range(longest - 1, -1, -1):
            path[t] = state
            state = int(back[i, t, state])
        path = path[:frames]
        voiced = _drop_short_runs(path < _CANDIDATES)
        values = np.take_along_axis(log_f0[i, :frames], path[:, None], 1)[:, 0] * np.log(2.0)
        known = np.nonzero(voiced)[0]
        if len(known) == 0:
            values = np.full(frames, np.log(160.0))
        else:
            values = np.interp(np.arange(frames), known, values[known])
            values = np.median(np.stack([np.roll(values, -1), values, np.roll(values, 1)]), 0)
        result.append((values.astype(np.float32), voiced))
    return result
