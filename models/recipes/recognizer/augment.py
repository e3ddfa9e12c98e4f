"""Signals: log-mel, resampling, noises, rooms and channels. Mono float32 at 16 kHz unless said otherwise."""
import glob
import os
import subprocess

import numpy as np
import soundfile
from scipy import fft, signal

RATE = 16000
HOP, WINDOW, DFT, MELS = 160, 400, 512, 80
FRAME = 640  # samples of one encoder frame (40 ms)
MEL_FLOOR = 1e-4
HERE = os.path.dirname(os.path.abspath(__file__))
NOISE_DIR = os.path.join(HERE, "..", "data", "noise")


def hann():
    """Periodic Hann window; the ONNX graph uses the same one."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)


def mel_bank():
    """(257, 80) triangular HTK mel filters, 20-7600 Hz."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = 700 * (10 ** (np.linspace(to_mel(20), to_mel(7600), MELS + 2) / 2595) - 1)
    f = np.arange(DFT // 2 + 1) * RATE / DFT
    low, mid, high = edges[:-2], edges[1:-1], edges[2:]
    up = (f[:, None] - low) / (mid - low)
    down = (high - f[:, None]) / (high - mid)
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)


_HANN, _BANK = hann(), mel_bank()


def log_mel(x):
    """(samples,) -> (samples // 160, 80) ln(power + 1e-4); frame i covers samples [160 i - 240, 160 i + 160)."""
    x = np.concatenate([np.zeros(WINDOW - HOP, np.float32), x.astype(np.float32)])
    n = (len(x) - WINDOW) // HOP + 1
    frames = np.lib.stride_tricks.as_strided(x, (n, WINDOW), (4 * HOP, 4))
    spec = fft.rfft(frames * _HANN, DFT, axis=1)
    return np.log((spec.real ** 2 + spec.imag ** 2) @ _BANK + MEL_FLOOR)


def to_bytes(mel):
    """Log-mel -> uint8 (step 0.084), the storage format of the shards."""
    return np.clip(np.round((mel + 9.5) * (255 / 21.5)), 0, 255).astype(np.uint8)


def db(x):
    return 10 ** (x / 20)


# ---------------------------------------------------------------- resampling

_filters = {}


def resample(x, down, up=320):
    """Polyphase resampling by up/down. down = 441 turns 22.05 kHz into 16 kHz; other values also shift pitch,
    formants and speed together by 441/down."""
    if down not in _filters:
        m = max(up, down)
        _filters[down] = signal.firwin(16 * m + 1, 0.95 / m, window=("kaiser", 6.0)).astype(np.float32) * up
    h = _filters[down]
    y = signal.upfirdn(h, x.astype(np.float32), up, down)
    skip = (len(h) - 1) // 2 // down
    return y[skip:skip + int(len(x) * up / down)].astype(np.float32)


# ---------------------------------------------------------------- noises


def coloured(rng, n, exponent):
    """Noise with power spectrum 1/f^exponent, unit RMS."""
    m = fft.next_fast_len(n, True)
    spec = (rng.standard_normal(m // 2 + 1) + 1j * rng.standard_normal(m // 2 + 1)).astype(np.complex64)
    f = np.maximum(np.arange(m // 2 + 1) * RATE / m, 30)
    spec *= f.astype(np.float32) ** (-exponent / 2)
    if rng.random() < 0.4:  # a random band
        lo, hi = np.sort(rng.uniform(50, 7900, 2))
        spec *= 0.1 + 0.9 / (1 + ((f / hi) ** 6)) / (1 + ((lo / f) ** 6))
    x = fft.irfft(spec, m)[:n].astype(np.float32)
    return x / (np.sqrt(np.mean(x * x)) + 1e-9)


def hum(rng, n):
    t = np.arange(n, dtype=np.float32) / RATE
    base = rng.choice([50, 60, 100, 120]) * rng.uniform(0.99, 1.01)
    x = sum(rng.uniform(0, 1) / k * np.sin(2 * np.pi * (base * k * t + rng.random())) for k in range(1, 9))
    return x / (np.sqrt(np.mean(x * x)) + 1e-9)


def clicks(rng, n):
    """Impulses, key presses, taps: short decaying bursts at random times. Peak about 1."""
    x = np.zeros(n + 4000, np.float32)
    for _ in range(rng.integers(1, max(2, int(n / RATE * rng.uniform(0.5, 6))) + 1)):
        m = int(rng.integers(8, 2400))
        burst = rng.standard_normal(m).astype(np.float32) if rng.random() < 0.6 else np.sin(
            2 * np.pi * rng.uniform(100, 5000) / RATE * np.arange(m)).astype(np.float32)
        if rng.random() < 0.2:
            burst = np.ones(m, np.float32)
        burst *= np.exp(-np.arange(m) / (m * rng.uniform(0.05, 0.35)))
        at = rng.integers(0, n)
        x[at:at + m] += burst * rng.uniform(0.2, 1)
    x = x[:n]
    return x / (np.abs(x).max() + 1e-9)


def chords(rng, n):
    """Music-like: sequences of notes with harmonics and envelopes, single tones, sweeps, dial tones. Peak 1."""
    x = np.zeros(n, np.float32)
    if rng.random() < 0.25:  # sweep or steady tone(s)
        f = np.geomspace(rng.uniform(80, 4000), rng.uniform(80, 7000), n)
        x += np.sin(2 * np.pi * np.cumsum(f) / RATE).astype(np.float32)
        return x
    at = 0
    wave = rng.choice(["sine", "harmonic", "square"])
    while at < n:
        m = min(n - at, int(rng.uniform(0.08, 0.9) * RATE))
        t = np.arange(m, dtype=np.float32) / RATE
        env = np.minimum(1, t / rng.uniform(0.003, 0.05)) * np.exp(-t * rng.uniform(0, 6))
        for _ in range(rng.integers(1, 4)):
            f = 110 * 2 ** (rng.integers(0, 48) / 12)
            if wave == "sine":
                y = np.sin(2 * np.pi * f * t)
            elif wave == "square":
                y = np.sign(np.sin(2 * np.pi * f * t)) * 0.6
            else:
                y = sum(np.sin(2 * np.pi * f * k * t) / k for k in range(1, 6) if f * k < 7500)
            x[at:at + m] += y * env
        at += m if rng.random() < 0.8 else m + int(rng.uniform(0, 0.4) * RATE)
    return x / (np.abs(x).max() + 1e-9)


def gusts(rng, n):
    """Wind, rustle, surf, applause: noise of one or two bands whose level wanders, sometimes of single drops. Unit RMS."""
    x = np.zeros(n, np.float32)
    for _ in range(rng.integers(1, 3)):
        low = rng.uniform(40, 2000)
        sos = signal.butter(2, [low, min(7800, low * rng.uniform(1.5, 12))], "bandpass", fs=RATE, output="sos")
        source = rng.standard_normal(n + 2000)
        if rng.random() < 0.45:  # rain, crackle: from single drops to a hiss
            source = (rng.random(n + 2000) < 10 ** rng.uniform(-3.5, -1)) * rng.exponential(1, n + 2000)
        y = signal.sosfilt(sos, source)[2000:]
        if rng.random() < 0.7:
            knots = np.arange(0, n + RATE, int(RATE * rng.uniform(0.15, 1.5)))
            y = y * db(np.interp(np.arange(n), knots, rng.normal(0, rng.uniform(2, 9), len(knots))))
        x += (y / (np.sqrt(np.mean(y * y)) + 1e-9)).astype(np.float32) * rng.uniform(0.3, 1)
    return x / (np.sqrt(np.mean(x * x)) + 1e-9)


def grains(rng, n):
    """Birds, squeaks, beeps, whistles, plucked strings: many short tones that glide or ring. Peak 1."""
    x = np.zeros(n + 2 * RATE, np.float32)
    low, high = np.sort(np.exp(rng.uniform(np.log(90), np.log(6500), 2)))
    length, plucked = np.exp(rng.uniform(np.log(0.03), np.log(0.8))), rng.random() < 0.5
    harmonics = int(rng.integers(1, 9)) if plucked else int(rng.integers(1, 4))
    for _ in range(rng.integers(1, max(2, int(n / RATE * rng.uniform(1, 10))) + 1)):
        m = int(length * rng.uniform(0.5, 2) * RATE) + 16
        t = np.arange(m, dtype=np.float32) / RATE
        f = rng.uniform(low, high) + (0 if plucked else rng.normal(0, 1) * rng.uniform(0, 4000)) * t
        phase = 2 * np.pi * np.cumsum(np.clip(f, 60, 7500)) / RATE
        decay = np.exp(-t * rng.uniform(2, 12)) if plucked else np.hanning(m)
        y = sum(np.sin(k * phase) * rng.uniform(0.3, 1) / k * np.exp(-t * k * rng.uniform(0, 4))
                for k in range(1, harmonics + 1) if f.max() * k < 7600 or k == 1)
        at = rng.integers(0, n)
        x[at:at + m] += (y * decay * rng.uniform(0.2, 1))[:len(x) - at]
    x = x[:n]
    return x / (np.abs(x).max() + 1e-9)


_recorded = {}


def recorded(prefix):
    """Recordings of data/noise whose name starts with `prefix`, as 16 kHz mono."""
    if prefix not in _recorded:
        out = []
        for path in sorted(glob.glob(os.path.join(NOISE_DIR, prefix + "*.flac"))):
            x, rate = soundfile.read(path, dtype="float32", always_2d=True)
            g = np.gcd(rate, RATE)
            out.append(signal.resample_poly(x[:, 0], RATE // g, rate // g).astype(np.float32))
        _recorded[prefix] = out
    return _recorded[prefix]


def handling(rng, n):
    """Recorded rubbing, typing and tapping, repeated at random. Peak 1."""
    x = np.zeros(n, np.float32)
    pool = recorded("short_noises")
    for _ in range(rng.integers(1, 4)):
        y = pool[rng.integers(len(pool))]
        if rng.random() < 0.5:
            y = resample(y, int(320 * rng.uniform(0.7, 1.4)))
        at = int(rng.integers(0, n))
        y = y[:n - at]
        x[at:at + len(y)] += y / (np.abs(y).max() + 1e-9) * rng.uniform(0.3, 1)
    return x / (np.abs(x).max() + 1e-9)


def background(rng, n, babble=None):
    """Unit-RMS noise bed of n samples. `babble`: optional list of speech arrays for a babble bed."""
    kind = rng.random()
    if kind < 0.12 and babble:
        x = np.zeros(n, np.float32)
        for _ in range(rng.integers(3, 7)):
            y = np.resize(babble[rng.integers(len(babble))], n)
            x += np.roll(y, rng.integers(n)) * rng.uniform(0.4, 1)
    elif kind < 0.20:
        x = hum(rng, n) + 0.2 * coloured(rng, n, 1)
    elif kind < 0.28:
        x = handling(rng, n) + 0.02 * coloured(rng, n, 1)
    elif kind < 0.34:
        x = clicks(rng, n) + 0.02 * coloured(rng, n, 1)
    elif kind < 0.42:
        x = chords(rng, n)
    elif kind < 0.52:
        x = gusts(rng, n)
    elif kind < 0.58:
        x = grains(rng, n) + 0.02 * coloured(rng, n, 1)
    else:
        x = coloured(rng, n, rng.uniform(-0.5, 2.2))
    if rng.random() < 0.35:  # slow modulation
        t = np.arange(n, dtype=np.float32) / RATE
        x = x * (1 + rng.uniform(0.2, 0.9) * np.sin(2 * np.pi * (rng.uniform(0.1, 4) * t + rng.random())))
    return (x / (np.sqrt(np.mean(x * x)) + 1e-9)).astype(np.float32)


# ---------------------------------------------------------------- rooms and channels


def room(rng):
    """Impulse response: exponentially decaying noise (RT60 0.1-0.7 s) or a recorded one; starts at its peak."""
    if rng.random() < 0.12:
        pool = recorded("ir_")
        h = pool[rng.integers(len(pool))].copy()
        h = h[np.abs(h).argmax():][:RATE]
        return h / (np.sqrt(np.sum(h * h)) + 1e-9)
    rt = rng.uniform(0.1, 0.7)
    n = int(rt * RATE)
    t = np.arange(n, dtype=np.float32) / RATE
    h = rng.standard_normal(n).astype(np.float32) * np.exp(-6.9 * t / rt)
    h *= db(rng.uniform(-14, 3)) / np.sqrt(np.sum(h * h))  # reverberant against direct energy
    h[0] = 1
    return h


def spectral(rng, x, eq, reverb, lowpass):
    """Random equaliser, reverberation and low-pass in one FFT of the clip."""
    h = room(rng) if reverb else np.ones(1, np.float32)
    m = fft.next_fast_len(len(x) + len(h), True)
    spec = fft.rfft(x, m)
    if reverb:
        spec = spec * fft.rfft(h, m)
    f = np.arange(m // 2 + 1) * RATE / m
    gain = np.zeros(m // 2 + 1, np.float32)
    if eq:
        knots = np.array([0, 150, 400, 1000, 2200, 4000, 6000, 8000])
        gain += np.interp(f, knots, np.cumsum(rng.normal(0, 3.0, len(knots))) * 0.6 + rng.normal(0, 2, len(knots)))
        gain -= gain.mean()
    if lowpass:
        gain -= 8 * 6 * np.maximum(0, np.log2(np.maximum(f, 1) / rng.uniform(3200, 5500)))
    return fft.irfft(spec * db(np.maximum(gain, -90)), m)[:len(x)].astype(np.float32)


_telephone = signal.butter(4, [300, 3400], "bandpass", fs=RATE, output="sos")


def telephone(x):
    """300-3400 Hz band and 8-bit mu-law."""
    y = signal.sosfilt(_telephone, x)
    p = np.abs(y).max() + 1e-9
    y = y / p
    c = np.sign(y) * np.log1p(255 * np.abs(y)) / np.log(256)
    c = np.round(c * 127) / 127
    return (np.sign(c) * np.expm1(np.abs(c) * np.log(256)) / 255 * p).astype(np.float32)


CODECS = {"gsm": (["-ar", "8000", "-c:a", "libgsm", "-f", "gsm"], ["-f", "gsm", "-ar", "8000"]),
          "opus": (["-ar", "16000", "-c:a", "libopus", "-b:a", "%dk", "-f", "ogg"], ["-f", "ogg"]),
          "mp3": (["-ar", "16000", "-c:a", "libmp3lame", "-b:a", "%dk", "-f", "mp3"], ["-f", "mp3"]),
          "speex": (["-ar", "8000", "-c:a", "libspeex", "-b:a", "%dk", "-f", "ogg"], ["-f", "ogg"])}
BITRATES = {"gsm": [0], "opus": [6, 8, 12, 16, 24], "mp3": [16, 24, 32], "speex": [8, 11, 15]}


def codec(rng, x):
    """x after one of the codecs of telephony and the web, by ffmpeg; x itself if ffmpeg or the codec is
    missing."""
    name = str(rng.choice(sorted(CODECS)))
    kbps = int(rng.choice(BITRATES[name]))
    options, source = CODECS[name]
    options = [o % kbps if "%" in o else o for o in options]
    raw = ["-f", "f32le", "-ar", str(RATE), "-ac", "1"]
    run = lambda args, data: subprocess.run(["ffmpeg", "-v", "quiet", *args, "pipe:1"], input=data, capture_output=True,
                                            timeout=20).stdout
    try:
        coded = run([*raw, "-i", "pipe:0", "-ac", "1", *options], x.astype(np.float32).tobytes())
        y = np.frombuffer(run([*source, "-i", "pipe:0", *raw], coded), np.float32)
    except (OSError, subprocess.TimeoutExpired):
        return x
    if len(y) < 0.8 * len(x):
        return x
    # The delay that a codec leaves is found by correlation, so that label times stay correct.
    m = min(len(x), len(y), 8 * RATE)
    size = fft.next_fast_len(2 * m, True)
    match = fft.irfft(fft.rfft(y[:m], size) * np.conj(fft.rfft(x[:m], size)), size)
    lag = int(np.argmax(match[:2400]))
    y = y[lag:lag + len(x)]
    return np.pad(y, (0, len(x) - len(y))).astype(np.float32)


def speech_frames(x, hop=HOP, threshold=-35.0, close=12):
    """(samples // hop,) bool: clean frames above `threshold` dB of the utterance's level, gaps of up to `close`
    frames (120 ms) filled."""
    n = len(x) // hop
    p = np.mean(x[:n * hop].reshape(n, hop) ** 2, axis=1)
    on = p > 1e-10
    if not on.any():
        return np.zeros(n, bool)
    level = np.mean(p[p > np.percentile(p[on], 30)])
    on = p > level * 10 ** (threshold / 10)
    idx = np.flatnonzero(on)
    for a, b in zip(idx[:-1], idx[1:]):
        if 1 < b - a <= close:
            on[a:b] = True
    return on
