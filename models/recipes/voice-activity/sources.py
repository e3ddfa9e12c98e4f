"""Voices and sounds for the mixtures, as lists of 16 kHz mono arrays.

Voices are read once and kept as int16: RHVoice's (a folder, see ../recognizer/rhvoice.py), telephone prompts of people
(Debian's asterisk-core-sounds-*-g722 and the 300 recordings of asterisk-ru-core), and espeak-ng's variants. The Italian
prompts of Menardi (asterisk-prompt-it-menardi-wav) are never trained on; they are the development voice.
"""
import csv
import glob
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import soundfile
from scipy import signal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "recognizer"))
import augment as A  # noqa: E402
import generate  # noqa: E402
import rhvoice  # noqa: E402
import speakers  # noqa: E402
import text  # noqa: E402

PROMPTS = "/usr/share/asterisk/sounds"
PROMPT_VOICES = ["en_US_f_Allison", "es_MX_f_Allison", "fr_CA_f_June", "it_IT_m_Carlo"]
DEVELOPMENT_VOICE = "it_IT_f_Menardi"
MUSIC = "/usr/share/asterisk/moh"


def decoded(args):
    """int16 samples at 16 kHz of any file that ffmpeg reads."""
    raw = subprocess.run(["ffmpeg", "-v", "error", *args, "-ar", str(A.RATE), "-ac", "1", "-f", "s16le", "-"],
                         capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.int16)


def to_int16(x):
    return np.clip(np.round(x * 32767), -32768, 32767).astype(np.int16)


def prompts(voice, suffix="g722"):
    """Recordings of one prompt voice, at least 0.4 s each."""
    found = sorted(glob.glob(os.path.join(PROMPTS, voice, "**", "*." + suffix), recursive=True))
    options = ["-f", "g722"] if suffix == "g722" else []
    out = [decoded([*options, "-i", path]) for path in found if "silence" not in path]
    return [trimmed(x) for x in out if len(x) > 0.4 * A.RATE and np.abs(x).max() > 300]


def trimmed(x):
    y = speakers.trim(x.astype(np.float32) / 32768, -42.0, 320)
    return to_int16(y)


def table(folder, column="file"):
    """Recordings listed in a transcripts.tsv."""
    with open(os.path.join(folder, "transcripts.tsv"), encoding="utf-8") as f:
        names = [row[column] for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)]
    out = []
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            x, rate = soundfile.read(path, dtype="float32", always_2d=True)
            g = np.gcd(rate, A.RATE)
            out.append(trimmed(to_int16(signal.resample_poly(x[:, 0], A.RATE // g, rate // g))))
    return out


def _espeak(args):
    seed, minutes, unseen = args
    rng = np.random.default_rng([77, seed])
    seen, held = speakers.variants()
    out, total = [], 0
    while total < minutes * 60 * A.RATE:
        speaker = generate.Speaker(rng, held if unseen else seen)
        x, label = speaker.say(rng, generate.sentence(rng, str(rng.choice(["kk", "ru"]))))
        if len(x) > 0.3 * A.RATE:
            out.append(to_int16(0.7 * x / (np.abs(x).max() + 1e-9)))
            total += len(x)
    return out


def espeak(minutes, unseen=False, seed=1):
    """Utterances of random variants; made in a separate process, since the library may crash."""
    for attempt in range(5):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            try:
                return pool.map_async(_espeak, [(seed + attempt, minutes, unseen)]).get(timeout=40 * minutes + 60)
            except multiprocessing.TimeoutError:
                continue
    raise RuntimeError("espeak-ng hung five times")


def rhvoices(packed):
    """{voice: utterances} packed by `rhvoice.py prepare`."""
    voices = rhvoice.Voices(packed)
    out = {}
    for by_voice in voices.rows.values():
        for voice, rows in by_voice.items():
            out["rhvoice-" + voice] = [trimmed(voices.samples[r[0]:r[0] + r[1]]) for r in rows]
    return out


def training_voices(packed, espeak_minutes):
    """{voice: utterances}; espeak-ng's utterances count as voices of one utterance each."""
    voices = rhvoices(packed) if packed else {}
    for name in PROMPT_VOICES:
        voices[name] = prompts(name)
    voices["asterisk-ru-core"] = table(generate.HUMAN)
    seconds = lambda xs: sum(map(len, xs)) / A.RATE
    voices["espeak"] = espeak(espeak_minutes)[0]
    for name, xs in voices.items():
        print("%-20s %5d utterances, %5.1f minutes" % (name, len(xs), seconds(xs) / 60), flush=True)
    return voices


def music():
    """Music on hold (asterisk-moh-opsound-wav, CC BY-SA 3.0), whole tracks."""
    return [decoded(["-i", path]) for path in sorted(glob.glob(os.path.join(MUSIC, "*.wav")))]
