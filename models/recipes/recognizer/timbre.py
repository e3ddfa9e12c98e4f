"""Other voices with the same words: changes of speaker and channel, applied to log-mel [frames, 80] during
training.

Six speakers are few, and a network soon recognises a language by its speakers. Here every clip is heard with
a vocal tract of another length, with the spectrum of another clip of any language, faster or slower, and with
its pitch blurred. All ranges are the same for both languages."""
import numpy as np

import augment as A

SILENCE = float(np.log(A.MEL_FLOOR))
LENGTHS = np.geomspace(0.82, 1.22, 41)  # factors of the formants
WIDTHS = (0.5, 0.8, 1.1, 1.5)  # of the blur, in mel bins
KNEE = 0.8  # share of the band that is warped evenly; the rest leads back to the end of the band
STRETCH = (0.87, 1.16)
SWING = 0.2  # standard deviation of the logarithm of the pace within a clip
KNOTS = 40  # frames between two changes of that pace, about two syllables
STYLED = (0.6, 1.6)  # limits of what deviations are multiplied by


def _bins(hertz):
    """Frequency -> position among the 80 mel bins, as a fraction."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    return (to_mel(hertz) - to_mel(20)) / (to_mel(7600) - to_mel(20)) * (A.MELS + 1) - 1


def _centres():
    edges = np.linspace(2595 * np.log10(1 + 20 / 700), 2595 * np.log10(1 + 7600 / 700), A.MELS + 2)
    return 700 * (10 ** (edges[1:-1] / 2595) - 1)


def warping(factor):
    """(80, 80): log-mel @ warping has all formants at `factor` times their frequency.
    @see Lee and Rose, "Speaker normalization using efficient frequency warping procedures", 1996"""
    top, f = 7600.0, _centres()
    knee = KNEE * top * min(1.0, factor)
    below = f / factor
    above = knee / factor + (f - knee) * (top - knee / factor) / (top - knee)
    place = np.clip(_bins(np.where(f < knee, below, above)), 0, A.MELS - 1)
    low = np.minimum(place.astype(int), A.MELS - 2)
    matrix = np.zeros((A.MELS, A.MELS), np.float32)
    matrix[low, np.arange(A.MELS)] = 1 - (place - low)
    matrix[low + 1, np.arange(A.MELS)] += place - low
    return matrix


def blurring(width):
    """(80, 80): a Gaussian over neighbouring bins, which hides the harmonics of high voices."""
    away = np.arange(A.MELS)[:, None] - np.arange(A.MELS)[None]
    matrix = np.exp(-0.5 * (away / width) ** 2).astype(np.float32)
    return matrix / matrix.sum(0)


_WARPS = [warping(factor) for factor in LENGTHS]
_BLURS = [blurring(width) for width in WIDTHS]


def style(mel, speech):
    """(mean [80], deviation [80]) over the frames of speech; None for hardly any."""
    if speech.sum() < 25:
        return None
    m = mel[speech]
    return m.mean(0), m.std(0) + 0.1


def exchange(mel, own, other, mean_share, deviation_share):
    """Gives speech part of the spectrum of another: its mean per band, except for the overall level, and its
    deviation.
    @see Zhou et al., "Domain generalization with MixStyle", 2021"""
    shift = other[0] - own[0]
    shift = mean_share * (shift - shift.mean())
    ratio = np.clip((other[1] / own[1]) ** deviation_share, *STYLED)
    return np.maximum((mel - own[0]) * ratio + own[0] + shift, SILENCE).astype(np.float32)


def pace(rng, n, frames):
    """Positions of `frames` new frames among n old ones, in order, from 0 to n - 1: a synthesiser's durations
    are all alike, but people hurry and linger within a sentence."""
    knots = np.exp(rng.normal(0, SWING, frames // KNOTS + 2))
    steps = np.interp(np.linspace(0, len(knots) - 1, frames - 1), np.arange(len(knots)), knots)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    return at * ((n - 1) / at[-1])


def stretch(x, at):
    """x [n, ...] -> [len(at), ...]: its values at the fractional positions `at`, linear between frames."""
    low = np.minimum(at.astype(int), len(x) - 2)
    rest = (at - low).astype(np.float32).reshape((-1,) + (1,) * (x.ndim - 1))
    return x[low] * (1 - rest) + x[low + 1] * rest


def change(rng, mel, speech, other):
    """One clip as another person might have spoken it elsewhere. mel (n, 80); speech (n) bool; other: a style
    or None. Digital silence stays unchanged."""
    silent = mel.max(1) <= SILENCE + 1e-3
    own = style(mel, speech)
    if own is not None and other is not None and rng.random() < 0.6:
        mel = exchange(mel, own, other, rng.random(), 0.7 * rng.random())
    matrix = None
    if rng.random() < 0.7:
        matrix = _WARPS[rng.integers(len(_WARPS))]
    if rng.random() < 0.3:
        blur = _BLURS[rng.integers(len(_BLURS))]
        matrix = blur if matrix is None else matrix @ blur
    if matrix is not None:
        mel = mel @ matrix
    if rng.random() < 0.5:
        knots = rng.normal(0, 0.5, 9)
        mel = mel + np.interp(np.arange(A.MELS), np.linspace(0, A.MELS - 1, 9), knots).astype(np.float32)
    mel = np.maximum(mel, SILENCE)
    mel[silent] = SILENCE
    return mel


def masks(rng, mel, fill):
    """Masks bands and stretches of `fill` [80], in place; wider and more often than for a new network.
    @see Park et al., "SpecAugment", 2019"""
    n = len(mel)
    for _ in range(2):
        w = int(rng.integers(0, 22))
        f = int(rng.integers(0, A.MELS - w))
        mel[:, f:f + w] = fill[f:f + w]
    for _ in range(max(1, n // 200)):
        w = int(rng.integers(0, 26))
        f = int(rng.integers(0, max(1, n - w)))
        mel[f:f + w] = fill
