"""Backgrounds of a near speaker: other people talking, television, music, keyboards, streets, wind, fans.

Every function returns float32 samples at 16 kHz with unit RMS (of its loud part, for sounds that come and go).
"""
import numpy as np
from scipy import fft, signal

from sources import A


def unit(x):
    return (x / (np.sqrt(np.mean(x * x)) + 1e-9)).astype(np.float32)


def loud_rms(x):
    """RMS of the 40 ms frames that are within 25 dB of the loudest."""
    n = len(x) // A.FRAME
    p = np.mean(x[:n * A.FRAME].reshape(n, A.FRAME) ** 2, axis=1)
    return float(np.sqrt(np.mean(p[p >= p.max() * 10 ** -2.5]) + 1e-12))


def reverberant(rng, x, low, high, far):
    """x in a room. low, high: RT60 in seconds. far: lowest and highest level of the reverberation, in dB of the direct sound."""
    if rng.random() < 0.15:
        pool = A.recorded("ir_")
        h = pool[rng.integers(len(pool))]
        h = h[np.abs(h).argmax():][:A.RATE].copy()
    else:
        rt = rng.uniform(low, high)
        n = int(rt * A.RATE)
        h = rng.standard_normal(n).astype(np.float32) * np.exp(-6.9 * np.arange(n) / (rt * A.RATE))
        # High bands decay faster in rooms.
        h = signal.lfilter([1 - (a := rng.uniform(0, 0.6))], [1, -a], h)
        h *= A.db(rng.uniform(*far)) / np.sqrt(np.sum(h * h) + 1e-12)
        gap = int(rng.uniform(0, 0.012) * A.RATE)
        h = np.concatenate([np.zeros(gap, np.float32), h])
        h[0] = 1
    return signal.fftconvolve(x, h)[:len(x)].astype(np.float32)


def equalised(rng, x, deviation=3.0):
    m = fft.next_fast_len(len(x), True)
    f = np.arange(m // 2 + 1) * A.RATE / m
    knots = np.array([0, 150, 400, 1000, 2200, 4000, 6000, 8000])
    gain = np.interp(f, knots, np.cumsum(rng.normal(0, deviation, 8)) * 0.6 + rng.normal(0, 2, 8))
    return fft.irfft(fft.rfft(x, m) * A.db(gain - gain.mean()), m)[:len(x)].astype(np.float32)


def talk(rng, voices, n, pause=(0.1, 1.2), lead=0.0):
    """n samples of one voice that keeps talking, with its own pauses; the level varies a little."""
    names = sorted(voices)
    xs = voices[names[rng.integers(len(names))]]
    out, at = np.zeros(n, np.float32), int(lead * A.RATE)
    down = int(320 * rng.uniform(0.84, 1.2))
    while at < n:
        x = A.resample(xs[rng.integers(len(xs))].astype(np.float32) / 32768, down)
        if len(x) < 800:
            continue
        x = x / (loud_rms(x) + 1e-6) * A.db(rng.normal(0, 2.5))
        out[at:at + len(x)] += x[:n - at]
        at += len(x) + int(rng.uniform(*pause) * A.RATE)
    return out


def voices_behind(rng, voices, n, count):
    """`count` people who talk at the same time, each farther away or nearer than the others, in one room."""
    out = np.zeros(n, np.float32)
    for _ in range(count):
        x = np.roll(talk(rng, voices, n, pause=(0.05, 1.5)), rng.integers(n))
        if rng.random() < 0.8:
            x = reverberant(rng, x, 0.15, 1.1, (-8, 10))
        out += equalised(rng, x) * A.db(rng.normal(0, 3))
    return out / (loud_rms(out) + 1e-9)


def television(rng, voices, tracks, n):
    """A voice over music or effects, through a small loudspeaker."""
    x = talk(rng, voices, n, pause=(0.05, 0.8))
    bed = melody(rng, tracks, n) if rng.random() < 0.7 else A.background(rng, n)
    x = x / (loud_rms(x) + 1e-9) + unit(bed) * A.db(rng.uniform(-18, 2))
    low, high = rng.uniform(100, 300), rng.uniform(4000, 7500)
    x = signal.sosfilt(signal.butter(2, [low, high], "bandpass", fs=A.RATE, output="sos"), x).astype(np.float32)
    x = reverberant(rng, x, 0.2, 0.8, (-8, 8))
    return x / (loud_rms(x) + 1e-9)


def melody(rng, tracks, n):
    """A piece of a track at a random speed, or generated music with voices of instruments and drums."""
    if tracks and rng.random() < 0.6:
        x = tracks[rng.integers(len(tracks))]
        need = int(n * 1.3)
        at = rng.integers(0, max(1, len(x) - need))
        y = A.resample(x[at:at + need].astype(np.float32) / 32768, int(320 * rng.uniform(0.8, 1.25)))
        return unit(np.resize(y, n)) if np.abs(y).max() > 1e-3 else melody(rng, [], n)
    out, beat = np.zeros(n, np.float32), rng.uniform(0.14, 0.5)
    root = 55 * 2 ** (rng.integers(0, 24) / 12)
    scale = np.array([0, 2, 4, 7, 9, 12, 14, 16, 19, 21, 24]) if rng.random() < 0.5 else np.array([0, 2, 3, 5, 7, 8, 10, 12, 14, 15, 19])
    for _ in range(rng.integers(1, 4)):  # instruments
        tilt, attack, decay, vibrato = rng.uniform(0.5, 2.2), rng.uniform(0.002, 0.15), rng.uniform(0.3, 8), rng.uniform(0, 0.012)
        formant = rng.uniform(300, 2500) if rng.random() < 0.3 else None
        step, octave, level = beat * rng.choice([1, 2, 4, 8]), 2.0 ** rng.integers(0, 3), rng.uniform(0.3, 1)
        for at in np.arange(0, n / A.RATE, step):
            if rng.random() < 0.15:
                continue
            m = min(n - int(at * A.RATE), int(step * rng.uniform(0.7, 1.6) * A.RATE))
            if m < 200:
                continue
            t = np.arange(m) / A.RATE
            f = root * octave * 2 ** (scale[rng.integers(len(scale))] / 12)
            phase = 2 * np.pi * f * (t + vibrato * np.sin(2 * np.pi * 5.5 * t) / 5.5)
            y = np.zeros(m)
            for k in range(1, 12):
                if f * k > 7500:
                    break
                gain = k ** -tilt * (1 if formant is None else np.exp(-((f * k - formant) / 500) ** 2) + 0.05)
                y += gain * np.sin(k * phase)
            y *= np.minimum(1, t / attack) * np.exp(-decay * t) * np.minimum(1, (m / A.RATE - t) / 0.02)
            out[int(at * A.RATE):int(at * A.RATE) + m] += (level * y).astype(np.float32)
    if rng.random() < 0.6:
        for i, at in enumerate(np.arange(0, n / A.RATE, beat)):
            m = min(n - int(at * A.RATE), A.RATE // 5)
            t = np.arange(m) / A.RATE
            y = np.sin(2 * np.pi * (55 * t + 6 * (1 - np.exp(-30 * t)))) * np.exp(-14 * t) if i % 4 == 0 else \
                rng.standard_normal(m) * np.exp(-t * rng.choice([30, 80])) * 0.4
            out[int(at * A.RATE):int(at * A.RATE) + m] += (y * rng.uniform(0.4, 1.2)).astype(np.float32)
    return unit(out + 1e-5 * rng.standard_normal(n))


def typing(rng, n):
    """A keyboard: two clicks per key (down and up) with the resonances of its case, in bursts of keys."""
    out, at = np.zeros(n + A.RATE, np.float32), rng.uniform(0, 1.0)
    resonances = rng.uniform(250, 6500, rng.integers(2, 6))
    rate = rng.uniform(3, 12)

    def click(level, length):
        m = int(length * A.RATE)
        t = np.arange(m) / A.RATE
        y = rng.standard_normal(m) * np.exp(-t / (length * rng.uniform(0.05, 0.2)))
        for f in resonances:
            y += rng.uniform(0, 1.2) * np.sin(2 * np.pi * f * rng.uniform(0.97, 1.03) * t + rng.uniform(0, 6)) * np.exp(-t / (length * rng.uniform(0.1, 0.4)))
        return (level * y).astype(np.float32)

    while at < n / A.RATE:
        for _ in range(rng.integers(1, 14)):
            if at >= n / A.RATE:
                break
            loud = A.db(rng.normal(0, 3))
            down, up = click(loud, rng.uniform(0.01, 0.05)), click(loud * rng.uniform(0.2, 0.7), rng.uniform(0.01, 0.04))
            s = int(at * A.RATE)
            out[s:s + len(down)] += down
            s += int(rng.uniform(0.05, 0.13) * A.RATE)
            out[s:s + len(up)] += up[:max(0, len(out) - s)]
            at += rng.exponential(1 / rate) + 0.03
        at += rng.exponential(0.6)
    return unit(out[:n] + 1e-5 * rng.standard_normal(n))


def street(rng, n):
    """Traffic: passing engines, tyres, and occasionally a horn."""
    t = np.arange(n) / A.RATE
    out = A.coloured(rng, n, rng.uniform(0.8, 2)) * A.db(rng.uniform(-12, 0))
    for _ in range(rng.integers(1, 5)):
        middle, width = rng.uniform(0, n / A.RATE), rng.uniform(0.8, 5)
        f = rng.uniform(25, 110) * (1 + 0.08 * np.tanh((middle - t) / width))
        phase = 2 * np.pi * np.cumsum(f) / A.RATE
        y = sum(np.sin(k * phase + rng.uniform(0, 6)) / k ** rng.uniform(0.5, 1.2) for k in range(1, 14))
        y = y * 0.3 + A.coloured(rng, n, rng.uniform(0, 1.5))
        out += (y * np.exp(-((t - middle) / width) ** 2) * A.db(rng.uniform(-3, 9))).astype(np.float32)
    if rng.random() < 0.15:
        at, m = rng.integers(0, n), int(rng.uniform(0.2, 1.2) * A.RATE)
        s = np.arange(m) / A.RATE
        horn = sum(np.sign(np.sin(2 * np.pi * f * s)) for f in rng.uniform(300, 600, 2))
        out[at:at + m] += (horn * np.hanning(m) ** 0.1 * A.db(rng.uniform(-6, 6)))[:n - at].astype(np.float32)
    return unit(out)


def fan(rng, n):
    """Air and a motor: steady noise with lines at the blades' rate, slowly beating."""
    t = np.arange(n) / A.RATE
    out = A.coloured(rng, n, rng.uniform(0.3, 2))
    base = rng.uniform(20, 250)
    for k in range(1, rng.integers(2, 10)):
        out += (rng.uniform(0, 0.8) / k * np.sin(2 * np.pi * base * k * t + rng.uniform(0, 6)) * (1 + 0.3 * np.sin(2 * np.pi * rng.uniform(0.2, 4) * t))).astype(np.float32)
    return unit(out)


NOISES = [("coloured", 0.20, lambda rng, tracks, n: A.coloured(rng, n, rng.uniform(-0.5, 2.2))),
          ("music", 0.20, melody),
          ("typing", 0.13, lambda rng, tracks, n: typing(rng, n)),
          ("street", 0.09, lambda rng, tracks, n: street(rng, n)),
          ("fan", 0.09, lambda rng, tracks, n: fan(rng, n)),
          ("gusts", 0.09, lambda rng, tracks, n: A.gusts(rng, n)),
          ("grains", 0.06, lambda rng, tracks, n: A.grains(rng, n)),
          ("chords", 0.05, lambda rng, tracks, n: A.chords(rng, n)),
          ("clicks", 0.04, lambda rng, tracks, n: A.clicks(rng, n)),
          ("handling", 0.03, lambda rng, tracks, n: A.handling(rng, n)),
          ("hum", 0.02, lambda rng, tracks, n: A.hum(rng, n))]


def noise(rng, tracks, n):
    """(name, n samples of one noise with unit RMS)."""
    names, shares, makers = zip(*NOISES)
    i = int(rng.choice(len(names), p=np.array(shares) / sum(shares)))
    x = makers[i](rng, tracks, n)
    if rng.random() < 0.25:
        x = reverberant(rng, x, 0.1, 0.7, (-14, 3))
    if rng.random() < 0.2:  # it begins, stops, comes nearer
        knots = np.arange(0, n + 2 * A.RATE, int(A.RATE * rng.uniform(0.5, 3)))
        x = x * A.db(np.interp(np.arange(n), knots, rng.uniform(-25, 3, len(knots))))
    return names[i], unit(x + 1e-7 * rng.standard_normal(n))
