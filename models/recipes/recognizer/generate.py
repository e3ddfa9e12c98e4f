"""Synthetic training shards: text -> espeak-ng -> augmentation -> log-mel bytes, with labels.

`generate.py --hours 60` starts worker processes, one per shard, with a timeout: the synthesiser may crash or
hang, and then only that shard is retried with another seed. Shards are written under a temporary name and
renamed when complete, so that a training run may pick them up as they appear. The first hours
(`--clean-hours`) are nearly clean. Running it again with more hours and another mix adds shards to those that
exist.

A shard (`.npz`, uncompressed): mel uint8 (frames, 80) at 100 Hz; clip_start int64 (clips + 1) frame offsets,
each a multiple of 4 frames; token uint8 and token_start (clips + 1); speech uint8 (frames); seg_clip,
seg_frame, seg_token: first frame and first token of every sentence inside its clip; kind uint8 (clips): 0 kk,
1 ru, 2 mixed, 3 speechless, 4 human, 5 Russian of `concatenative.py`, 6 Kazakh and 7 Russian of `rhvoice.py`.

With `--encoded` it has `encoded` int16 (frames, 384) at 25 Hz in place of `mel`, see `encoded.py`, and
clip_start counts those frames; every clip has 8 more frames, of digital silence.
"""
import argparse
import csv
import glob
import multiprocessing
import os
import re
import time

import numpy as np
import soundfile
from scipy import signal

import augment as A
import encoded as E
import rhvoice
import speakers
import text

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("RECOGNIZER_CACHE", os.path.join(HERE, "..", ".cache", "recognizer"))
HUMAN = os.path.join(HERE, "..", "..", "..", "test", "fixtures", "speech", "asterisk-ru-core")
MAX_SECONDS = 22.0
NOISE = (0.48, 3.0, 35.0)  # share of the noisy clips that get a background, lowest and highest signal-to-noise ratio in dB
KINDS = {"kk": 0, "ru": 1, "mixed": 2, "none": 3, "human": 4, "concatenative": 5, "rhvoice-kk": 6, "rhvoice-ru": 7}


def speakable(s):
    """Punctuation as the synthesiser should see it."""
    s = re.sub(r"[()\[\]«»„“”\"]", " ", s)
    s = re.sub(r"\s+[-–—]+\s+", ", ", s).replace("…", ". ")
    s = re.sub(r"([.,!?;:])(?=[^\W\d])", r"\1 ", s)
    return re.sub(r"([.,!?;:])[.,!?;:\s]+(?=[.,!?;:])", r"\1", re.sub(r"\s+", " ", s)).strip()


class Speaker:
    """One random voice: variant, rate, pitch and a resampling factor, constant over a clip."""

    def __init__(self, rng, variants):
        self.variant = str(rng.choice(variants))
        self.rate = int(rng.uniform(105, 230) if rng.random() < 0.85 else rng.uniform(90, 270))
        self.pitch = int(rng.uniform(15, 85))
        self.range = int(rng.uniform(20, 90))
        self.down = int(441 * rng.uniform(0.88, 1.14)) if rng.random() < 0.75 else 441

    def say(self, rng, spans):
        """[(language, text)] -> (samples at 16 kHz, label). The spans are joined with 0-80 ms between them."""
        parts, labels = [], []
        for i, (lang, t) in enumerate(spans):
            label = text.normalize(t)
            if not label:
                continue
            x = speakers.speak(speakable(t), lang, self.variant, self.rate, self.pitch, self.range)
            if parts:
                parts.append(np.zeros(int(rng.uniform(0, 0.08) * speakers.RATE), np.float32))
            parts.append(x)
            labels.append(label)
        if not parts:
            return np.zeros(0, np.float32), ""
        return A.resample(np.concatenate(parts), self.down), " ".join(labels)


def fragment(rng, language, low, high):
    """Some consecutive words of a random sentence."""
    lines = text.corpus(language)
    while True:
        tokens = lines[rng.integers(len(lines))].split()
        n = int(rng.integers(low, high + 1))
        at = int(rng.integers(0, max(1, len(tokens) - n + 1)))
        part = " ".join(tokens[at:at + n]).strip(" ,.;:-–—!?")
        if text.normalize(part):
            return part


def pick(rng, name):
    lines = text.corpus(name)
    return lines[rng.integers(len(lines))]


def sentence(rng, kind):
    """[(language, text)] of one random sentence of `kk`, `ru` or `mixed`."""
    if kind == "kk":
        # Proverbs, dialogue and reviews are short; a few random fragments add unseen word combinations.
        return [("kk", pick(rng, "kk") if rng.random() < 0.9 else fragment(rng, "kk", 1, 6))]
    if kind == "ru":
        return [("ru", pick(rng, "ru") if rng.random() < 0.9 else fragment(rng, "ru", 1, 6))]
    r = rng.random()
    if r < 0.42:
        return text.language_spans(pick(rng, "mixed"))
    if r < 0.57:
        return text.language_spans(pick(rng, "latin"))
    langs = ["kk", "ru"] if rng.random() < 0.5 else ["ru", "kk"]
    spans = [(langs[i % 2], fragment(rng, langs[i % 2], 1, 6)) for i in range(int(rng.integers(2, 4)))]
    if rng.random() < 0.2:
        words = [w for lang, t in text.language_spans(pick(rng, "latin")) if lang == "en" for w in text.words(t)]
        if words:
            spans.insert(int(rng.integers(0, len(spans) + 1)), ("en", str(rng.choice(words))))
    return spans


_human = None


def human(rng):
    """One recording of the training set of human speech, resampled by a random factor: (samples, label)."""
    global _human
    if _human is None:
        _human = []
        with open(os.path.join(HUMAN, "transcripts.tsv"), encoding="utf-8") as f:
            for row in csv.DictReader(f, delimiter="\t"):
                label = text.normalize(text.spell_digits(row["text"], "ru"))
                path = os.path.join(HUMAN, row["file"])
                if label and os.path.exists(path):
                    x, rate = soundfile.read(path, dtype="float32", always_2d=True)
                    g = np.gcd(rate, speakers.RATE)
                    x = signal.resample_poly(x[:, 0], speakers.RATE // g, rate // g).astype(np.float32)
                    _human.append((speakers.trim(x, -40.0, 600), label))
    x, label = _human[rng.integers(len(_human))]
    return A.resample(x, int(441 * rng.uniform(0.82, 1.2))), label


_concatenative = None


def concatenative(rng, voice=None):
    """(samples, label, voice) of one clip of `concatenative.py`, of that voice if one is given, otherwise of
    any with equal probability. Resampled by a random factor."""
    global _concatenative
    if _concatenative is None:
        _concatenative = {}
        for path in sorted(glob.glob(os.path.join(CACHE, "concatenative", "*", "index.tsv"))):
            with open(path, encoding="utf-8") as f:
                rows = [line.rstrip("\n").split("\t") for line in f]
            _concatenative[rows[0][1]] = [(os.path.join(os.path.dirname(path), name), label) for name, _, label in rows]
    voice = voice or str(rng.choice(sorted(_concatenative)))
    path, label = _concatenative[voice][rng.integers(len(_concatenative[voice]))]
    x = soundfile.read(path, dtype="float32")[0]
    return A.resample(x, int(320 * rng.uniform(0.84, 1.18))), label, voice


class RhVoice:
    """Speech of RHVoice's voices in one clip: by one voice, or by several of both languages in turn."""

    voices, kazakh = None, 0.5  # of every clip of a process

    def __init__(self, rng):
        self.rng, self.voice = rng, None
        self.is_mixed = rng.random() < 0.12
        self.language = "kk" if rng.random() < self.kazakh else "ru"
        # Changes pitch, formants and speed together; the range is the same for both languages.
        self.down = int(320 * rng.uniform(0.82, 1.24))

    def say(self):
        """(samples at 16 kHz, label) of the next utterance."""
        if self.is_mixed:
            self.language, self.voice = str(self.rng.choice(["kk", "ru"])), None
        x, label, self.voice = self.voices.say(self.rng, self.language, self.voice)
        return A.resample(x, self.down), label


def speechless(rng, n):
    """n samples of anything but speech."""
    x = np.zeros(n, np.float32)
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(0, 13)
        level = A.db(rng.uniform(-50, -3))
        if kind == 0:
            x += A.clicks(rng, n) * level
        elif kind == 1:
            x += A.chords(rng, n) * level
        elif kind == 2:
            x += A.handling(rng, n) * level
        elif kind == 3:
            x += A.hum(rng, n) * level * 0.3
        elif kind == 4:
            pass  # digital silence
        elif kind < 8:
            x += A.gusts(rng, n) * level * 0.25
        elif kind < 11:
            x += A.grains(rng, n) * level
        else:
            x += A.background(rng, n) * level * 0.25
    if rng.random() < 0.3:  # on and off
        a, b = np.sort(rng.integers(0, n, 2))
        x[a:b] = 0
    return np.clip(x, -1, 1)


def clip(rng, variants, noisy, pool, mix, recorded, silent=0.037, coded=0.1, noise=NOISE):
    """One clip: (samples, label, speech frames at 100 Hz, [(first frame, first token)], kind).

    noisy: 0 nearly clean, 1 full augmentation. pool: recent speech for babble. mix: shares of kk, ru, mixed clips.
    recorded: shares of human, concatenative and RHVoice clips. silent: share of speechless ones. coded: share of noisy
    clips that go through a codec, which takes as long as making ten.
    """
    r = rng.random()
    if r < silent:
        n = int(rng.uniform(1, 9) * 25) * A.FRAME
        x = speechless(rng, n)
        return x, "", np.zeros(n // A.HOP, bool), [(0, 0)], "none"
    spoken = None
    if r < silent + sum(recorded):
        kind = "human" if r < silent + recorded[0] else "concatenative"
        if r >= silent + recorded[0] + recorded[1]:
            spoken = RhVoice(rng)
            kind = "rhvoice-" + spoken.language
    else:
        kind = str(rng.choice(["kk", "ru", "mixed"], p=mix))
    count = 1 + int(rng.random() < 0.32) + int(rng.random() < 0.10)
    if kind == "human":
        count += int(rng.integers(0, 3))
    voice, taken = Speaker(rng, variants), None
    lead = rng.uniform(0.1, 1.0) if rng.random() < 0.85 else rng.uniform(0, 0.1)
    parts = [np.zeros(int(lead * A.RATE), np.float32)]
    total, label, segments = len(parts[0]), "", []
    for i in range(count):
        if kind == "human":
            x, t = human(rng)
        elif kind == "concatenative":
            x, t, taken = concatenative(rng, taken)
        elif spoken is not None:
            x, t = spoken.say()
        else:
            if i and rng.random() < 0.25:
                voice = Speaker(rng, variants)
            x, t = voice.say(rng, sentence(rng, kind if rng.random() < 0.9 else str(rng.choice(["kk", "ru"]))))
        if not t or len(x) < 1600 or total + len(x) > MAX_SECONDS * A.RATE:
            continue
        if segments:
            gap = np.zeros(int(rng.uniform(0.15, 1.2) * A.RATE), np.float32)
            parts.append(gap)
            total += len(gap)
            label += " "
        segments.append((total // A.HOP, len(label)))
        label += t
        parts.append(x)
        total += len(x)
    if not segments:
        return None
    dry = np.concatenate(parts)
    # The tail as the engine produces it: up to 240 ms of further room sound, then digital silence, 240-400 ms
    # in total.
    natural = int(rng.uniform(0, 0.24) * A.RATE)
    dry = np.concatenate([dry, np.zeros(natural, np.float32)])
    end = len(dry)
    length = int(np.ceil((end - natural + rng.uniform(0.24, 0.40) * A.RATE) / A.FRAME)) * A.FRAME
    length = max(length, int(np.ceil(end / A.FRAME)) * A.FRAME)
    if (len(label) + sum(a == b for a, b in zip(label, label[1:]))) * A.FRAME > 0.9 * length:
        return None  # too fast for one symbol per 40 ms
    speech = A.speech_frames(np.pad(dry, (0, length - end)))
    x = dry
    strong = noisy or kind in ("human", "concatenative")
    if rng.random() < (0.75 if strong else 0.6):
        x = A.spectral(rng, x, eq=rng.random() < 0.7, reverb=rng.random() < (0.4 if strong else 0.15),
                       lowpass=rng.random() < (0.12 if strong else 0.04))
    power = np.mean(dry[np.abs(dry) > 1e-3] ** 2) if (np.abs(dry) > 1e-3).any() else 1e-4
    power *= np.mean(x * x) / (np.mean(dry * dry) + 1e-12)
    share, low, high = noise
    if rng.random() < (share if strong else 0.15):
        snr = rng.uniform(low, high) if strong else rng.uniform(15, 40)
        x = x + A.background(rng, len(x), pool) * np.sqrt(power) * A.db(-snr)
    elif rng.random() < 0.6:
        x = x + A.coloured(rng, len(x), rng.uniform(0, 1.5)) * np.sqrt(power) * A.db(-rng.uniform(38, 60))
    if rng.random() < (0.14 if strong else 0.05):
        x = A.telephone(x)
    elif strong and rng.random() < coded:
        x = A.codec(rng, x)
    x = x * (A.db(rng.uniform(-26, -0.5)) / (np.abs(x).max() + 1e-9))
    if rng.random() < 0.04:
        x = np.clip(x * A.db(rng.uniform(1, 9)), -1, 1)
    if len(pool) < 12 or rng.random() < 0.05:
        y = dry[int(lead * A.RATE):]
        y = y / (np.sqrt(np.mean(y * y)) + 1e-9)
        if len(pool) < 12:
            pool.append(y)
        else:
            pool[rng.integers(12)] = y
    return np.pad(x, (0, length - end)).astype(np.float32), label, speech, segments, kind


def make_shard(path, seed, hours, noisy, mix, recorded, silent, coded, encoded, noise):
    rng = np.random.default_rng(seed)
    variants, _unseen = speakers.variants()
    encoder = E.Encoder() if encoded else None
    features, tokens, speech, seg, kinds = [], [], [], [], []
    clip_start, token_start, pool, total = [0], [0], [], 0
    while total < hours * (90000 if encoded else 360000):
        c = clip(rng, variants, noisy, pool, mix, recorded, silent, coded, noise)
        if c is None:
            continue
        x, label, sp, segments, kind = c
        m = encoder(x) if encoded else A.to_bytes(A.log_mel(x))
        features.append(m)
        speech.append(sp.astype(np.uint8))
        tokens += text.encode(label)
        seg += [(len(kinds), f, t) for f, t in segments]
        kinds.append(KINDS[kind])
        total += len(m)
        clip_start.append(total)
        token_start.append(len(tokens))
    seg = np.array(seg, np.int32)
    with open(path + ".part", "wb") as f:
        np.savez(f, **{"encoded" if encoded else "mel": np.concatenate(features)}, clip_start=np.array(clip_start),
                 token=np.array(tokens, np.uint8), token_start=np.array(token_start), speech=np.concatenate(speech),
                 seg_clip=seg[:, 0], seg_frame=seg[:, 1], seg_token=seg[:, 2], kind=np.array(kinds, np.uint8))
    os.rename(path + ".part", path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default=os.path.join(CACHE, "shards"))
    p.add_argument("--hours", type=float, default=54, help="distinct audio in all")
    p.add_argument("--clean-hours", type=float, default=20)
    p.add_argument("--mix", type=float, nargs=3, default=[0.45, 0.40, 0.15], help="shares of kk, ru, mixed clips")
    p.add_argument("--recorded", type=float, nargs=2, default=[0.033, 0.0], help="shares of human and concatenative clips")
    p.add_argument("--rhvoice", type=float, default=0.0, help="share of clips that `rhvoice.py` has packed")
    p.add_argument("--kazakh", type=float, default=0.5, help="share of those that are Kazakh: what else comes from people is Russian")
    p.add_argument("--without", nargs="*", default=[], help="RHVoice voices that are left out, to be tested with")
    p.add_argument("--silent", type=float, default=0.037, help="share of speechless clips")
    p.add_argument("--coded", type=float, default=0.1, help="share of noisy clips that go through a codec")
    p.add_argument("--noise", type=float, nargs=3, default=NOISE, metavar=("SHARE", "LOW", "HIGH"),
                   help="share of noisy clips with a background, and its signal-to-noise ratios in dB")
    p.add_argument("--encoded", action="store_true", help="keep the streaming graph's output instead of the log-mel")
    p.add_argument("--drawn", type=int, default=0, help="voice variants with random formants, beside espeak-ng's own")
    p.add_argument("--shard-hours", type=float, default=0.5)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--timeout", type=float, default=600, help="seconds for one shard before it is killed")
    a = p.parse_args()
    # Load it once here; the forked workers inherit it. Only the workers load the synthesiser.
    for name in ("kk", "ru", "mixed", "latin"):
        text.corpus(name)
    for name in ("kk", "ru"):
        text.word_counts(name)
    if a.drawn:
        folder = os.path.join(CACHE, "espeak-%d" % a.drawn)
        # Run in a separate process, since it loads the library with the system's data.
        maker = multiprocessing.get_context("fork").Process(target=speakers.invent, args=(folder, a.drawn, a.seed))
        maker.start()
        maker.join()
        os.environ["ESPEAK_DATA_PATH"] = folder
    if a.rhvoice:
        RhVoice.voices, RhVoice.kazakh = rhvoice.Voices(without=a.without), a.kazakh
    os.makedirs(a.out, exist_ok=True)
    count, clean = int(np.ceil(a.hours / a.shard_hours)), int(np.ceil(a.clean_hours / a.shard_hours))
    todo = [(i, 0) for i in range(count)]
    running = []
    while todo or running:
        while todo and len(running) < a.workers:
            i, tries = todo.pop(0)
            noisy = int(i >= clean)
            path = os.path.join(a.out, "%s_%03d.npz" % ("noisy" if noisy else "clean", i))
            if os.path.exists(path):
                continue
            seed = a.seed * 1000003 + i * 101 + tries
            proc = multiprocessing.get_context("fork").Process(target=make_shard,
                                                               args=(path, seed, a.shard_hours, noisy, a.mix,
                                                                     [*a.recorded, a.rhvoice], a.silent, a.coded, a.encoded, a.noise))
            proc.start()
            running.append((proc, time.time(), i, tries))
        time.sleep(0.2)
        for item in list(running):
            proc, began, i, tries = item
            if proc.is_alive() and time.time() - began < a.timeout:
                continue
            if proc.is_alive():
                proc.kill()
            proc.join()
            running.remove(item)
            ok = proc.exitcode == 0 and os.path.exists(os.path.join(a.out, "%s_%03d.npz" % (
                "noisy" if i >= clean else "clean", i)))
            print("shard %d %s after %.0f s" % (i, "done" if ok else "failed", time.time() - began), flush=True)
            if not ok and tries < 5:
                todo.insert(0, (i, tries + 1))
    for part in glob.glob(os.path.join(a.out, "*.part")):
        os.remove(part)


if __name__ == "__main__":
    main()
