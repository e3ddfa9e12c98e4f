"""Russian speech of Festival's concatenative voices, which are cut from recordings of people.

`concatenative.py --minutes 180 --voice msu` speaks with the Russian unit-selection voice (festvox-ru);
`--voice dita`, `machac`, `krb` or `ph` with a Czech diphone voice (festvox-czech-*) that gets espeak-ng's
Russian phonemes and durations, mapped to Czech ones, and a separate intonation: foreign Russian, but the
spectrum of a person. Writes 16 kHz WAV files and `index.tsv` (file, voice, label) to
`.cache/recognizer/concatenative/VOICE/`; `generate.py` picks clips from there. Held-out sentences are
excluded as everywhere (`text.corpus`). Requires Debian's festival.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import soundfile
from scipy import signal

import generate
import speakers
import text

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "synthesizer"))
from espeak import ESPEAK_SAMPLE_RATE, Espeak  # noqa: E402

OUT = os.path.join(generate.CACHE, "concatenative")
RATE = 16000
BATCH = 25  # sentences of one festival process; it is killed with all of them if it hangs
SECONDS_EACH = 12
# Mean F0 in Hz around which a diphone voice speaks.
PITCH = {"dita": 190, "machac": 115, "krb": 125, "ph": 110}

# espeak-ng's Russian phonemes as Czech ones; `czech` handles the sign of palatalisation, ";".
PHONES = {
    "a": "a", "A": "a", "V": "a", "a#": "a", "I": "i", "i": "i", "I^": "i", "y": "i", "o": "o", "O": "o", "8": "o",
    "e": "e", "E": "e", "E#": "e", "@": "a", "u": "u", 'u"': "u", "u#": "u", "S": "s~", "Z": "z~", "ts": "c", "tS": "c~",
    "dZ": "dz~", "x": "ch", "n_": "n", "*": "r", "j": "j", "_": "#", "_:": "#", **{c: c for c in "bdfgklmnprstvz"}}
SOFT = {"n": "n~", "t": "t~", "d": "d~"}  # Czech has these palatals; after others a short j comes before a, o, u, e
FULL = {"A", "a", "o", "e", "i", "u", "y"}  # vowels of stressed syllables


def czech(events, length):
    """Phoneme events of espeak-ng -> [(Czech phone, seconds, is stressed vowel)]; None for an unknown
    phoneme.

    length: seconds in total."""
    starts = [(e[1] / ESPEAK_SAMPLE_RATE, e[2]) for e in events if e[0] == "phoneme"]
    out = []
    for (at, name), (after, _) in zip(starts, starts[1:] + [(length, "")]):
        seconds = max(after - at, 0.0)
        if name in (";", "@-", "") and out:  # a sign of the phone before
            phone, before, stressed = out[-1]
            out[-1] = (SOFT.get(phone, phone) if name == ";" else phone, before + seconds, stressed)
            if name == ";" and phone not in SOFT:
                out[-1] = (phone, before + 0.5 * seconds, stressed)
                out.append(("j", 0.5 * seconds, False))
            continue
        soft = name.endswith(";")
        base = name.rstrip(";")
        if base in ("ja", "ju"):
            out += [("j", 0.3 * seconds, False), (base[1], 0.7 * seconds, False)]
        elif base in PHONES:
            phone = PHONES[base]
            out.append((SOFT.get(phone, phone) if soft else phone, seconds, base in FULL))
            if soft and phone not in SOFT and phone not in ("c~", "s~", "dz~"):
                out.append(("j", 0.02, False))
        else:
            return None
    tidy = []
    for i, (phone, seconds, stressed) in enumerate(out):
        following = out[i + 1][0] if i + 1 < len(out) else "#"
        if phone == "j" and i and (following == "i" or following not in "aoue"):
            if tidy:
                tidy[-1] = (tidy[-1][0], tidy[-1][1] + seconds, tidy[-1][2])
            continue
        if tidy and phone == "#" and tidy[-1][0] == "#":
            tidy[-1] = ("#", tidy[-1][1] + seconds, False)
        else:
            tidy.append((phone, max(seconds, 0.02), stressed))
    return tidy


def segments(rng, phones, pitch):
    """Festival's list of segments: phone, seconds, and an F0 target in the middle of each; clauses fall,
    stress rises."""
    words = ["(# 0.15)"]
    base = pitch * rng.uniform(0.85, 1.2)
    span = rng.uniform(0.05, 0.25)
    at, clause = 0.0, max(sum(p[1] for p in phones), 0.5)
    for phone, seconds, stressed in phones:
        if phone == "#":
            at = 0.0
        f0 = base * (1 + span * (0.5 - min(at / clause, 1.0)) + (rng.uniform(0, 1.5) * span if stressed else 0))
        words.append("(%s %.3f (%.3f %.0f))" % (phone, seconds, seconds / 2, f0))
        at += seconds
    return "(" + " ".join(words + ["(# 0.1)"]) + ")"


def script(rng, voice, sentences, folder, espeak):
    """A Scheme program that speaks the sentences into folder/I.wav."""
    if voice == "msu":
        lines = ["(voice_msu_ru_nsh_clunits)"]
        jobs = [(i, '(Utterance Text "%s")' % generate.speakable(s).replace("\\", "")) for i, s in enumerate(sentences)]
    else:
        lines, jobs = ["(voice_czech_%s)" % voice], []
        for i, s in enumerate(sentences):
            audio, events = espeak.synthesize(generate.speakable(s), "ru", int(rng.uniform(115, 190)))
            phones = czech(events, len(audio) / ESPEAK_SAMPLE_RATE)
            if phones:
                jobs.append((i, "(Utterance Segments %s)" % segments(rng, phones, PITCH[voice])))
    return "\n".join(lines + ['(unwind-protect (utt.save.wave (utt.synth %s) "%s/%d.wav") nil)' % (u, folder, i)
                              for i, u in jobs])


def speak(rng, voice, sentences, espeak):
    """Yields (index, samples at 16 kHz) of the sentences that were spoken."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.scm")
        with open(path, "w", encoding="utf-8") as f:
            f.write(script(rng, voice, sentences, folder, espeak))
        try:
            subprocess.run(["festival", "-b", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=SECONDS_EACH * len(sentences))
        except subprocess.TimeoutExpired:
            pass
        for i in range(len(sentences)):
            name = os.path.join(folder, "%d.wav" % i)
            if not os.path.exists(name):
                continue
            try:
                x, rate = soundfile.read(name, dtype="float32")
            except RuntimeError:
                continue  # killed while writing
            g = np.gcd(rate, RATE)
            yield i, speakers.trim(signal.resample_poly(x, RATE // g, rate // g).astype(np.float32), -40.0, 480)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--voice", choices=["msu", *PITCH], required=True)
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default=OUT)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    folder = os.path.join(a.out, a.voice)
    os.makedirs(folder, exist_ok=True)
    espeak, lines, done, seconds = Espeak(), text.corpus("ru"), 0, 0.0
    with open(os.path.join(folder, "index.tsv"), "w", encoding="utf-8") as index:
        while seconds < a.minutes * 60:
            drawn = [lines[rng.integers(len(lines))] for _ in range(BATCH)]
            for i, x in speak(rng, a.voice, drawn, espeak):
                label = text.normalize(drawn[i])
                # Letters per second; outside these bounds, something was skipped or spelled out.
                if not label or not 4 < len(label) / (len(x) / RATE + 0.1) < 26 or len(x) > 18 * RATE:
                    continue
                name = "%05d.wav" % done
                soundfile.write(os.path.join(folder, name), x, RATE, subtype="PCM_16")
                index.write("%s\t%s\t%s\n" % (name, a.voice, label))
                done, seconds = done + 1, seconds + len(x) / RATE
            index.flush()
    print("%s: %d clips, %.1f minutes" % (a.voice, done, seconds / 60))


if __name__ == "__main__":
    main()
