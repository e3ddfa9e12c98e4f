"""Speech of RHVoice's voices: statistical models of people, which have their timbre without their recordings.

    rhvoice.py speak --out FOLDER --minutes 90  makes each installed voice speak corpus sentences that long
    rhvoice.py prepare --from FOLDER            packs FOLDER's speech for generate.py
    rhvoice.py dev --out FOLDER [--also FOLDER/eval-seen]      writes the utterances that training never uses, with tables

FOLDER has parts (train-ru, train-kk, ...), each with a `transcripts.tsv` (file, start, end in samples at 16
kHz, text, voice, ...) next to audio that ffmpeg reads, see README.md. Every twentieth sentence, by its
letters, is never trained on; nor are held-out sentences (`text.heldout_keys`). The packed speech is in
`.cache/recognizer/rhvoice`: `samples.i16` and `index.tsv` (first sample, samples, language, voice, part,
label, text).
"""
import argparse
import csv
import glob
import json
import os
import re
import subprocess
import zlib

import numpy as np
import soundfile

import augment as A
import speakers
import text

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("RECOGNIZER_CACHE", os.path.join(HERE, "..", ".cache", "recognizer")), "rhvoice")
HELD_OUT_OF = 20
# The Kyrgyz voices speak Kazakh.
VOICES = {"ru": ["aleksandr", "anna", "irina"], "kk": ["azamat", "nazgul"]}
PERCENT = {"rate": (80, 135), "pitch": (85, 115)}
# Kazakh letters that Kyrgyz lacks, in its spelling; back and front consonants follow the vowels there, too.
KYRGYZ = str.maketrans(dict(zip("қғұіәһ", "кгуиэх")))
VOWELS = "аәеёиоөуұүыіэюя"
FRONT = set("әеөүіэ")


def is_held_out(sentence):
    """Whether this sentence, by its letters, belongs to the twentieth that training never uses, in any voice.
    """
    return zlib.crc32(text.key(sentence).encode()) % HELD_OUT_OF == 0


def kyrgyz(sentence):
    """A Kazakh sentence as a Kyrgyz voice should read it: и is a vowel and a glide there, у after a consonant
    is long."""
    def word(w):
        lower, out = w.lower(), []
        front = bool(FRONT & set(lower))
        for i, c in enumerate(lower):
            after_consonant = i > 0 and lower[i - 1] not in VOWELS and lower[i - 1].isalpha()
            if c == "и":
                out.append("ий" if front else "ый")
            elif c == "у" and after_consonant:
                out.append("үү" if front else "уу")
            else:
                out.append(c.translate(KYRGYZ))
        return "".join(out)

    return re.sub(r"\w+", lambda m: word(m.group(0)), sentence)


def speak(out, minutes, seed):
    """Makes a folder for `prepare` with the program RHVoice-test; one file per utterance."""
    for language, voices in VOICES.items():
        folder, lines = os.path.join(out, "train-" + language), text.corpus(language)
        os.makedirs(folder, exist_ok=True)
        rng = np.random.default_rng([seed, ord(language[0])])
        order = iter(rng.permutation(len(lines)))
        with open(os.path.join(folder, "transcripts.tsv"), "w", encoding="utf-8") as table:
            table.write("file\tstart\tend\ttext\tvoice\trate\tpitch\n")
            for voice in voices:
                seconds, number = 0.0, 0
                while seconds < 60 * minutes:
                    sentence = lines[next(order)]
                    rate, pitch = (int(rng.integers(*PERCENT[name])) for name in ("rate", "pitch"))
                    name = "%s-%05d.wav" % (voice, number)
                    path = os.path.join(folder, name)
                    subprocess.run(["RHVoice-test", "-p", voice, "-r", str(rate), "-t", str(pitch), "-o", path], check=True,
                                   input=(kyrgyz(sentence) if language == "kk" else sentence).encode())
                    count = len(sound(path))
                    table.write("%s\t0\t%d\t%s\t%s\t%.2f\t%.2f\n" % (name, count, sentence, voice, rate / 100, pitch / 100))
                    seconds, number = seconds + count / A.RATE, number + 1


def sound(path):
    """int16 samples of a file at 16 kHz."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-ar", str(A.RATE), "-ac", "1", "-f", "s16le", "-"],
                         check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.int16)


def prepare(folder, out):
    os.makedirs(out, exist_ok=True)
    held, rows, at = text.heldout_keys(), [], 0
    with open(os.path.join(out, "samples.i16.part"), "wb") as samples:
        for table in sorted(glob.glob(os.path.join(folder, "train-*", "transcripts.tsv"))):
            language = os.path.basename(os.path.dirname(table)).rsplit("-", 1)[-1]
            whole = (None, None)
            with open(table, encoding="utf-8") as f:
                for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                    path = os.path.join(os.path.dirname(table), row["file"])
                    if whole[0] != path:
                        whole = (path, sound(path))
                    x = whole[1][int(row["start"]):int(row["end"])]
                    label = text.normalize(row["text"])
                    if not label or text.key(row["text"]) in held:
                        continue
                    part = "dev" if is_held_out(row["text"]) else "train"
                    samples.write(x.tobytes())
                    rows.append((at, len(x), language, row["voice"], part, label, row["text"]))
                    at += len(x)
    with open(os.path.join(out, "index.tsv"), "w", encoding="utf-8") as f:
        f.writelines("\t".join(map(str, r)) + "\n" for r in rows)
    os.rename(os.path.join(out, "samples.i16.part"), os.path.join(out, "samples.i16"))
    return rows


class Voices:
    """Reads the speech that `prepare` packed: utterances by language and voice."""

    def __init__(self, folder=CACHE, part="train", without=()):
        self.samples = np.memmap(os.path.join(folder, "samples.i16"), np.int16, "r")
        self.rows = {}
        with open(os.path.join(folder, "index.tsv"), encoding="utf-8") as f:
            for line in f:
                start, count, language, voice, in_part, label, sentence = line.rstrip("\n").split("\t")
                if in_part == part and voice not in without:
                    self.rows.setdefault(language, {}).setdefault(voice, []).append((int(start), int(count), label, sentence))

    def speech(self, row):
        """Samples in [-1, 1] of an utterance; its silence stays at both ends."""
        return self.samples[row[0]:row[0] + row[1]].astype(np.float32) / 32768

    def say(self, rng, language, voice=None):
        """(samples, label, voice) of a random utterance, of that voice if one is given, otherwise of any with
        equal probability."""
        voice = voice or str(rng.choice(sorted(self.rows[language])))
        rows = self.rows[language][voice]
        row = rows[rng.integers(len(rows))]
        return speakers.trim(self.speech(row), -42.0, 320), row[2], voice


def write_dev(voices, out, each, also):
    """Writes FLAC files surrounded by silence, `index.jsonl` as `make_eval.py` does, and a table per set
    (VOICE/test.tsv) for `npm run evaluate -- people`. also: a folder of recordings with its own table, which
    are added to the index."""
    rows = []
    for language, by_voice in sorted(voices.rows.items()):
        for voice, utterances in sorted(by_voice.items()):
            folder = os.path.join(out, "%s-%s" % (language, voice))
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "test.tsv"), "w", encoding="utf-8") as table:
                table.write("path\tsentence\tlocale\n")
                for i, row in enumerate(utterances[:each]):
                    x = np.concatenate([np.zeros(4800, np.float32), voices.speech(row), np.zeros(3200, np.float32)])
                    soundfile.write(os.path.join(folder, "%03d.flac" % i), x, A.RATE, subtype="PCM_16")
                    table.write("%03d.flac\t%s\t%s\n" % (i, row[2], language))
                    rows.append(dict(file="%s-%s/%03d.flac" % (language, voice, i), language=language, speakers=voice,
                                     condition="rhvoice", variant=voice, text=row[3], normalized=row[2]))
    for path in [os.path.join(also, "transcripts.tsv")] if also else []:
        with open(path, encoding="utf-8") as f:
            for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                voice = row["file"].split("-")[1]
                rows.append(dict(file=os.path.abspath(os.path.join(also, row["file"])), language=row["language"],
                                 speakers=voice, condition="heldout", variant=voice, text=row["text"],
                                 normalized=text.normalize(text.spell_digits(row["text"], row["language"]))))
    with open(os.path.join(out, "index.jsonl"), "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    return rows


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    c = commands.add_parser("speak")
    c.add_argument("--out", required=True)
    c.add_argument("--minutes", type=float, default=90, help="of each voice")
    c.add_argument("--seed", type=int, default=1)
    c = commands.add_parser("prepare")
    c.add_argument("--from", dest="folder", required=True)
    c.add_argument("--out", default=CACHE)
    c = commands.add_parser("dev")
    c.add_argument("--voices", default=CACHE)
    c.add_argument("--out", required=True)
    c.add_argument("--each", type=int, default=60, help="utterances a voice")
    c.add_argument("--also", help="folder with a transcripts.tsv (file, language, text) whose files are named LANGUAGE-VOICE-...")
    a = p.parse_args()
    if a.command == "speak":
        speak(a.out, a.minutes, a.seed)
    elif a.command == "prepare":
        packed = prepare(a.folder, a.out)
        print("%d utterances, %d of them held out" % (len(packed), sum(r[4] == "dev" for r in packed)))
    else:
        print(len(write_dev(Voices(a.voices, "dev"), a.out, a.each, a.also)), "files in", a.out)
