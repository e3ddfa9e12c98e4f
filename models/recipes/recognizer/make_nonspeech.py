"""Ten minutes without speech, for the evaluation: `make_nonspeech.py [--out FOLDER]`.

Twenty sounds of 30 s at 16 kHz in `.cache/nonspeech`, and `index.jsonl` (file, kind). None is made by the functions that
make the speechless clips of the training (`augment.py`); only white and pink noise are necessarily the same. Deterministic.
"""
import argparse
import json
import os

import numpy as np
import soundfile
from scipy import signal

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", ".cache", "nonspeech")
RATE, SECONDS = 16000, 30
N = RATE * SECONDS
T = np.arange(N) / RATE


def band(rng, low, high, order=2):
    return signal.sosfilt(signal.butter(order, [low, high], "bandpass", fs=RATE, output="sos"), rng.standard_normal(N))


def place(out, at, sound):
    """Adds `sound` at sample `at`, cut at the end."""
    part = sound[:max(0, len(out) - at)]
    out[at:at + len(part)] += part


def string(rng, hertz, seconds, damping=0.996):
    """A plucked string (Karplus and Strong, 1983)."""
    period = int(RATE / hertz)
    b = np.zeros(period + 2)
    b[0], b[period], b[period + 1] = 1, -damping / 2, -damping / 2
    burst = np.zeros(int(seconds * RATE))
    burst[:period] = rng.uniform(-1, 1, min(period, len(burst)))
    return signal.lfilter([1.0], b, burst)


def plucked(rng, chord):
    out = np.zeros(N)
    for at in np.arange(0, SECONDS, rng.choice([0.25, 0.4])):
        for _ in range(3 if chord else 1):
            place(out, int(at * RATE), string(rng, 110 * 2 ** (rng.integers(0, 30) / 12), 1.5))
    return out


def organ(rng):
    out = np.zeros(N)
    for at in range(0, SECONDS, 2):
        t = np.arange(2 * RATE) / RATE
        for note in (0, 4, 7):
            f = 130 * 2 ** ((note + rng.integers(0, 12)) / 12)
            phase = 2 * np.pi * f * t + 0.4 * np.sin(2 * np.pi * 5.5 * t)
            place(out, at * RATE, sum(np.sin(k * phase) / k for k in (1, 2, 4, 8)) * np.hanning(len(t)) ** 0.2)
    return out


def drums(rng):
    out, beat = np.zeros(N), 60 / rng.uniform(90, 140) / 2
    t = np.arange(RATE // 4) / RATE
    kick = np.sin(2 * np.pi * (50 * t + 8 * (1 - np.exp(-30 * t)))) * np.exp(-12 * t)
    for i, at in enumerate(np.arange(0, SECONDS, beat)):
        place(out, int(at * RATE), kick if i % 4 == 0 else rng.standard_normal(len(t)) * np.exp(-t * (25 if i % 4 == 2 else 90)) * 0.4)
    return out


def dial(rng):
    out = np.zeros(N)
    for at in np.arange(0, SECONDS, 0.35):
        t = np.arange(int(0.2 * RATE)) / RATE
        pair = rng.choice([697, 770, 852, 941]), rng.choice([1209, 1336, 1477])
        place(out, int(at * RATE), sum(np.sin(2 * np.pi * f * t) for f in pair))
    return out


def ringing(rng):
    return np.sin(2 * np.pi * 425 * T) * ((T % 5) < 1)


def alarm(rng):
    return signal.square(2 * np.pi * 2000 * T) * ((T % 0.5) < 0.12)


def siren(rng):
    return np.sin(2 * np.pi * np.cumsum(700 + 400 * np.sin(2 * np.pi * 0.3 * T)) / RATE)


def chirps(rng):
    out = np.zeros(N)
    for at in np.sort(rng.uniform(0, SECONDS, 60)):
        t = np.arange(int(rng.uniform(0.05, 0.25) * RATE)) / RATE
        f = rng.uniform(2200, 4500) + rng.uniform(-6000, 6000) * t
        place(out, int(at * RATE), np.sin(2 * np.pi * np.cumsum(f) / RATE) * np.hanning(len(t)))
    return out + 0.02 * rng.standard_normal(N)


def engine(rng):
    f = 38 + 12 * np.sin(2 * np.pi * 0.07 * T)
    phase = 2 * np.pi * np.cumsum(f) / RATE
    return sum(np.sin(k * phase + rng.uniform(0, 6)) / k ** 0.7 for k in range(1, 25)) + 0.3 * band(rng, 60, 900)


def rain(rng):
    drops = (rng.random(N) < 0.01) * rng.exponential(1, N)
    return signal.sosfilt(signal.butter(2, [800, 6000], "bandpass", fs=RATE, output="sos"), drops) + 0.02 * rng.standard_normal(N)


def wind(rng):
    gust = signal.sosfilt(signal.butter(1, 0.5, fs=RATE, output="sos"), rng.standard_normal(N))
    return band(rng, 80, 700) * (0.3 + np.abs(gust) / np.abs(gust).max())


def pink(rng):
    spectrum = np.fft.rfft(rng.standard_normal(N))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), N)


def steps(rng):
    out = 0.01 * rng.standard_normal(N)
    for at in np.arange(0.3, SECONDS, 0.62):
        t = np.arange(RATE // 8) / RATE
        place(out, int((at + rng.normal(0, 0.02)) * RATE), signal.lfilter([1], [1, -0.9], rng.standard_normal(len(t))) * np.exp(-35 * t))
    return out


def glass(rng):
    out = np.zeros(N)
    for at in rng.uniform(0, SECONDS, 40):
        t = np.arange(RATE // 2) / RATE
        place(out, int(at * RATE), sum(rng.uniform(0.2, 1) * np.sin(2 * np.pi * rng.uniform(1500, 7000) * t) * np.exp(-t * rng.uniform(8, 40)) for _ in range(5)))
    return out


KINDS = [
    ("silence", lambda rng: np.zeros(N), 0.0), ("white noise", lambda rng: rng.standard_normal(N), 0.02),
    ("white noise, loud", lambda rng: rng.standard_normal(N), 0.2), ("pink noise", pink, 0.1), ("wind", wind, 0.1),
    ("rain", rain, 0.1), ("engine", engine, 0.1), ("mains hum", lambda rng: sum(np.sin(2 * np.pi * 50 * k * T) / k for k in (1, 2, 3, 5)), 0.05),
    ("tone of 440 Hz", lambda rng: np.sin(2 * np.pi * 440 * T), 0.2), ("sweep", lambda rng: signal.chirp(T, 60, SECONDS, 7000, "log"), 0.2),
    ("dialling", dial, 0.15), ("ringing", ringing, 0.15), ("alarm", alarm, 0.15), ("siren", siren, 0.15),
    ("birds", chirps, 0.1), ("plucked melody", lambda rng: plucked(rng, False), 0.1), ("plucked chords", lambda rng: plucked(rng, True), 0.15),
    ("organ", organ, 0.15), ("drums", drums, 0.15), ("steps and glass", lambda rng: steps(rng) + 0.5 * glass(rng), 0.1),
]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", default=OUT)
    out = options.parse_args().out
    os.makedirs(out, exist_ok=True)
    rows = []
    for number, (kind, make, level) in enumerate(KINDS):
        x = make(np.random.default_rng([23, number]))
        x = x * (level / (np.sqrt(np.mean(x * x)) + 1e-12))
        name = "%02d.wav" % number
        soundfile.write(os.path.join(out, name), np.clip(x, -1, 1), RATE, subtype="PCM_16")
        rows.append(dict(file=name, kind=kind))
    with open(os.path.join(out, "index.jsonl"), "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")
    print("%d files in %s" % (len(rows), os.path.normpath(out)))


if __name__ == "__main__":
    main()
