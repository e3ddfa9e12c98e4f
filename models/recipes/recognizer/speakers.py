"""espeak-ng as a library: text in, float32 samples out, no process per sentence.

One library instance per process (it is not re-entrant). Some variants can crash or hang the library, so callers run
it in processes that may be killed and restarted (see generate.py).
"""
import ctypes
import ctypes.util
import glob
import os
import shutil

import numpy as np

RATE = 22050  # samples per second of the synthesiser
AUDIO_OUTPUT_SYNCHRONOUS = 2  # samples go to the callback, in the calling thread
CHARS_UTF8 = 1
P_RATE, P_VOLUME, P_PITCH, P_RANGE = 1, 2, 3, 4

UNSEEN = ["f4", "m7", "klatt4", "Andrea", "iven3", "robosoft5", "Hugo", "linda", "Michael", "quincy"]
# `rob` crashes or hangs libespeak-ng 1.51; the others are effects rather than voices.
EXCLUDED = ["rob", "Demonic", "announcer", "UniRobot", "anikaRobot", "fast", "croak", "AnxiousAndy", "Tweaky",
            "Storm", "Mr serious"]

VOICE = {"kk": "kk", "ru": "ru", "en": "en-us"}

_lib = None
_chunks = []
_callback = None


def _load():
    global _lib, _callback
    if _lib is not None:
        return
    name = ctypes.util.find_library("espeak-ng") or "libespeak-ng.so.1"
    lib = ctypes.CDLL(name)
    proto = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)

    def on_samples(wav, n, _events):
        if n > 0 and wav:
            _chunks.append(np.ctypeslib.as_array(wav, shape=(n,)).copy())
        return 0

    path = os.environ.get("ESPEAK_DATA_PATH")
    rate = lib.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, path.encode() if path else None, 0)
    if rate != RATE:
        raise RuntimeError("espeak-ng gives %d samples per second, expected %d" % (rate, RATE))
    _callback = proto(on_samples)  # a reference must live as long as the library
    lib.espeak_SetSynthCallback(_callback)
    lib.espeak_Synth.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint,
                                 ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
    lib.espeak_Info.restype = ctypes.c_char_p
    _lib = lib


def data_path():
    """Folder of the espeak-ng data files."""
    _load()
    path = ctypes.c_char_p()
    _lib.espeak_Info(ctypes.byref(path))
    return path.value.decode()


def variants():
    """(seen, unseen) lists of voice variants; "" is the plain voice."""
    names = sorted(os.path.basename(p) for p in glob.glob(os.path.join(data_path(), "voices", "!v", "*")))
    seen = [n for n in names if n not in UNSEEN and n not in EXCLUDED and " " not in n]
    return [""] + seen, [n for n in UNSEEN if n in names]


def invent(folder, count, seed):
    """Copies the espeak-ng data to `folder` with `count` more variants, `drawn000` ...: formants, voicing,
    breath and intonation are random. Used when ESPEAK_DATA_PATH is that folder before the library is loaded.
    """
    target = os.path.join(folder, "espeak-ng-data")
    if os.path.exists(target):
        return folder
    shutil.copytree(data_path(), target + ".part")
    # The library lists at most 349 voices and variants, so languages that are not spoken here are removed.
    shutil.rmtree(os.path.join(target + ".part", "voices", "mb"), ignore_errors=True)
    for path in glob.glob(os.path.join(target + ".part", "lang", "**"), recursive=True):
        if os.path.isfile(path) and not os.path.basename(path).startswith(("kk", "ru", "en")):
            os.remove(path)
    rng = np.random.default_rng(seed)
    for i in range(count):
        base = rng.uniform(75, 240)
        length = (base / 140) ** 0.22 * rng.uniform(0.92, 1.08)  # a higher voice mostly has a shorter tract
        lines = ["language variant", "name Drawn%03d" % i,
                 "pitch %d %d" % (base * rng.uniform(0.8, 0.95), base * rng.uniform(1.1, 1.6)),
                 "flutter %d" % rng.integers(0, 9), "roughness %d" % rng.integers(0, 4),
                 "voicing %d" % rng.integers(60, 150), "consonants %d %d" % tuple(rng.integers(60, 130, 2))]
        tilt = rng.uniform(-12, 6)
        for f in range(9):
            lines.append("formant %d %d %d %d" % (f, 100 * length * rng.uniform(0.94, 1.06),
                                                  np.clip(100 + tilt * f + rng.normal(0, 15), 20, 160),
                                                  rng.uniform(75, 170)))
        if rng.random() < 0.3:
            lines.append("breath " + " ".join("%d" % v for v in rng.integers(0, 12, 8)))
        with open(os.path.join(target + ".part", "voices", "!v", "drawn%03d" % i), "w") as f:
            f.write("\n".join(lines) + "\n")
    os.rename(target + ".part", target)
    return folder


def speak(text, language, variant="", rate=165, pitch=50, pitch_range=50):
    """Samples (float32, [-1, 1], 22.05 kHz) of `text` spoken in `language` (`kk`, `ru`, `en`).

    rate: words per minute as espeak counts them; pitch and pitch_range: 0-99.
    """
    _load()
    voice = VOICE[language] + ("+" + variant if variant else "")
    if _lib.espeak_SetVoiceByName(voice.encode()) != 0:
        raise RuntimeError("no espeak voice " + voice)
    _lib.espeak_SetParameter(P_RATE, int(rate), 0)
    _lib.espeak_SetParameter(P_VOLUME, 90, 0)
    _lib.espeak_SetParameter(P_PITCH, int(pitch), 0)
    _lib.espeak_SetParameter(P_RANGE, int(pitch_range), 0)
    _chunks.clear()
    raw = text.encode() + b"\0"
    _lib.espeak_Synth(raw, len(raw), 0, 1, 0, CHARS_UTF8, None, None)
    if not _chunks:
        return np.zeros(0, np.float32)
    return trim(np.concatenate(_chunks).astype(np.float32) / 32768)


def trim(x, db=-45.0, margin=110):
    """Cut leading and trailing silence below `db` of the peak, keeping `margin` samples (5 ms)."""
    if not len(x):
        return x
    loud = np.flatnonzero(np.abs(x) > np.abs(x).max() * 10 ** (db / 20))
    if not len(loud):
        return x[:0]
    return x[max(0, loud[0] - margin):loud[-1] + margin]
