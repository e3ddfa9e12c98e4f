"""Shards for `train_near.py`: near speakers, background voices, noises, and whole mixtures that passed a
channel.

    shards.py --rhvoice FOLDER --out FOLDER --near 20 --voices 9 --noise 9 --whole 8       (hours of each)

Every track has 10.24 s (256 frames of 40 ms). A shard (`.npz`) has `mel` float16 [tracks, 1024, 80]: ln(power
+ 1e-8) of 10 ms frames. `near` has `speech` uint8 [tracks, 256], 1 where the near speaker speaks; `voices`
has `count` uint8 [tracks], the number of people talking at the same time; `whole` has `speech` and `weight`
float16 [tracks, 256]. Near speakers, voices and noises have an RMS of -26 dBFS where they are loud, and
`train_near.py` mixes them differently each time; whole mixtures contain what a sum of powers cannot
represent: codecs, lost packets, clipping, 16 bits at low levels.
"""
import argparse
import os
import pickle
import time
import multiprocessing

import numpy as np
from scipy import fft, signal

import sounds as S
import sources
from sources import A

TRACK = 256 * A.FRAME
FLOOR = 1e-8
LEVEL = A.db(-26)
FORGOTTEN = 30  # frames without the near speaker after which one or two voices behind could be near ones


def log_power(x):
    """(samples,) -> (samples // 160, 80) ln(power + 1e-8), float16; frames as in `augment.log_mel`."""
    x = np.concatenate([np.zeros(A.WINDOW - A.HOP, np.float32), x.astype(np.float32)])
    n = (len(x) - A.WINDOW) // A.HOP + 1
    frames = np.lib.stride_tricks.as_strided(x, (n, A.WINDOW), (4 * A.HOP, 4))
    spec = fft.rfft(frames * A._HANN, A.DFT, axis=1)
    return np.log((spec.real ** 2 + spec.imag ** 2) @ A._BANK + FLOOR).astype(np.float16)


def near(rng, voices):
    """(samples, speech [256]) of a track of near speakers: mostly one, with pauses of 0.1 to 3 s and a
    varying level."""
    names = sorted(voices)
    # Voices with few recordings are drawn as often as those with many.
    weights = np.array([np.sqrt(len(voices[name])) for name in names])
    name = names[rng.choice(len(names), p=weights / weights.sum())]
    down = int(320 * rng.uniform(0.84, 1.22))
    dry, at = np.zeros(TRACK, np.float32), int(rng.exponential(0.8) * A.RATE)
    loud = rng.normal(0, 1)
    while at < TRACK:
        x = A.resample(voices[name][rng.integers(len(voices[name]))].astype(np.float32) / 32768, down)
        if len(x) < 800:
            continue
        if rng.random() < 0.15:  # words that stop in the middle
            x = x[:int(len(x) * rng.uniform(0.2, 0.9))] * 1.0
            x[-160:] *= np.linspace(1, 0, 160)
        x = x / (S.loud_rms(x) + 1e-6)
        if rng.random() < 0.3:  # nearer, further away
            x = x * A.db(np.interp(np.arange(len(x)), [0, len(x) / 2, len(x)], rng.normal(0, 4, 3))).astype(np.float32)
        x = x * A.db(loud)
        dry[at:at + len(x)] += x[:TRACK - at]
        at += len(x) + int((rng.uniform(0.1, 0.8) if rng.random() < 0.55 else rng.uniform(0.8, 3.2)) * A.RATE)
        loud = np.clip(loud + rng.normal(0, 2), -5, 5)
        if rng.random() < 0.12:  # somebody else comes to the microphone
            name = names[rng.choice(len(names), p=weights / weights.sum())]
            down = int(320 * rng.uniform(0.84, 1.22))
    speech = A.speech_frames(dry).reshape(-1, 4).mean(1) >= 0.5
    x = S.equalised(rng, dry) if rng.random() < 0.6 else dry
    r = rng.random()
    if r < 0.25:
        x = S.reverberant(rng, x, 0.1, 0.5, (-16, -2))
    elif r < 0.37:
        x = S.reverberant(rng, x, 0.3, 0.9, (-6, 6))
    return x * (LEVEL / (S.loud_rms(x) + 1e-9)), speech


def behind(rng, voices, tracks):
    """(samples, count) of other people talking, or of a television (count 1)."""
    if rng.random() < 0.2:
        return S.television(rng, voices, tracks, TRACK) * LEVEL, 1
    count = int(rng.choice([1, 2, 3, 4, 5, 6, 8], p=[0.24, 0.17, 0.13, 0.12, 0.12, 0.16, 0.06]))
    return S.voices_behind(rng, voices, TRACK, count) * LEVEL, count


def lost_packets(rng, x):
    """Drops packets of 20 or 60 ms, one by one or several at a time; silence or the previous packet replaces
    them."""
    size = int(rng.choice([320, 960]))
    lost, share, goes_on, repeats = False, rng.uniform(0.01, 0.12), rng.uniform(0, 0.7), rng.random() < 0.5
    for at in range(size, len(x) - size, size):
        lost = rng.random() < (goes_on if lost else share)
        if lost:
            x[at:at + size] = x[at - size:at] * 0.7 if repeats else 0
    return x


def whole(rng, voices, tracks):
    """(samples, speech, weight) of a mixture after a microphone, a codec and a network."""
    x, speech = near(rng, voices)
    weight = np.ones(len(speech))
    kind = rng.random()
    if kind < 0.10:
        x, speech = np.zeros(TRACK, np.float32), np.zeros_like(speech)
    count, loud = 0, x.copy()
    if rng.random() < 0.55:
        bed, count = behind(rng, voices, tracks)
        x = x + bed * A.db(-rng.uniform(10, 30))
    if rng.random() < 0.6 or kind < 0.10:
        name, bed = S.noise(rng, tracks, TRACK)
        x = x + bed * LEVEL * A.db(-rng.uniform(-2, 30))
    weight *= unsure(speech, count)
    x = x + (A.coloured(rng, TRACK, rng.uniform(0, 1.5)) * LEVEL * A.db(-rng.uniform(35, 70)) if rng.random() < 0.8 else 0)
    peak = A.db(rng.uniform(-40, -1)) if rng.random() < 0.85 else A.db(rng.uniform(-60, -40))
    x = x * (peak / (np.abs(x).max() + 1e-9))
    if rng.random() < 0.06:
        x = np.clip(x * A.db(rng.uniform(1, 9)), -1, 1) * A.db(rng.uniform(-12, 0))
    x = np.round(x * 32767) / 32767
    r = rng.random()
    if r < 0.30:
        x = A.telephone(x.astype(np.float32))
    elif r < 0.60:
        x = A.codec(rng, x.astype(np.float32))
    x = x.astype(np.float32)
    if rng.random() < 0.25:
        x = lost_packets(rng, x.copy())
    return np.round(x * 32767) / 32767, speech, weight


def unsure(speech, count):
    """Weights of frames: with one or two voices in the background and nobody near for some time, they could
    be near ones."""
    if count == 0:
        return np.ones(len(speech))
    since, out = FORGOTTEN, np.ones(len(speech))
    for i, said in enumerate(speech):
        since = 0 if said else since + 1
        if since >= FORGOTTEN:
            out[i] = 0.0 if count <= 2 else 0.3
    return out


def make(kind, path, seed, tracks_wanted, voices, tracks):
    rng = np.random.default_rng([seed, ["near", "voices", "noise", "whole"].index(kind)])
    mels, speech, weight, counts, names = [], [], [], [], []
    for _ in range(tracks_wanted):
        if kind == "near":
            x, s = near(rng, voices)
            speech.append(s)
        elif kind == "voices":
            x, c = behind(rng, voices, tracks)
            counts.append(c)
        elif kind == "noise":
            name, x = S.noise(rng, tracks, TRACK)
            x = x * LEVEL
            names.append([n for n, _, _ in S.NOISES].index(name))
        else:
            x, s, w = whole(rng, voices, tracks)
            speech.append(s)
            weight.append(w)
        mels.append(log_power(x))
    out = dict(mel=np.stack(mels))
    if speech:
        out["speech"] = np.stack(speech).astype(np.uint8)
    if weight:
        out["weight"] = np.stack(weight).astype(np.float16)
    if counts:
        out["count"] = np.array(counts, np.uint8)
    if names:
        out["name"] = np.array(names, np.uint8)
    with open(path + ".part", "wb") as f:
        np.savez(f, **out)
    os.rename(path + ".part", path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--rhvoice", help="folder that `rhvoice.py prepare` has packed; without it the voices are fewer")
    p.add_argument("--espeak-minutes", type=float, default=60)
    for kind, hours in (("near", 20), ("voices", 9), ("noise", 9), ("whole", 8)):
        p.add_argument("--" + kind, type=float, default=hours, help="hours")
    p.add_argument("--tracks", type=int, default=180, help="tracks a shard")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    kept = os.path.join(a.out, "sources.pickle")
    if not os.path.exists(kept):
        gathered = sources.training_voices(a.rhvoice, a.espeak_minutes), sources.music()
        with open(kept, "wb") as f:
            pickle.dump(gathered, f, protocol=4)
    with open(kept, "rb") as f:
        voices, tracks = pickle.load(f)
    # Make a little of everything first, so that training may start.
    jobs = []
    for kind in ("near", "voices", "noise", "whole"):
        count = int(np.ceil(getattr(a, kind) * 3600 / 10.24 / a.tracks))
        jobs += [(i / count, kind, i) for i in range(count)]
    jobs = [(kind, os.path.join(a.out, "%s_%03d.npz" % (kind, i)), a.seed * 10007 + i, a.tracks) for _, kind, i in sorted(jobs)]
    jobs = [j for j in jobs if not os.path.exists(j[1])]
    running, began = [], time.time()
    while jobs or running:
        while jobs and len(running) < a.workers:
            job = jobs.pop(0)
            process = multiprocessing.get_context("fork").Process(target=make, args=(*job, voices, tracks))
            process.start()
            running.append((process, job))
        time.sleep(0.2)
        for item in list(running):
            if not item[0].is_alive():
                item[0].join()
                running.remove(item)
                print("%s %s after %.0f s" % (os.path.basename(item[1][1]), "done" if item[0].exitcode == 0 else "FAILED", time.time() - began), flush=True)


if __name__ == "__main__":
    main()
