"""Russian sentences from Debian packages, for the language model alone; the repository contains none of them.

    python3 models/recipes/language-model/debian_text.py     prints the number of lines of each source, and some examples

Packages are fetched with `apt-get download` (260 MB) into `.cache/debian` and unpacked there; nothing is
installed. Licences and lines kept: `../data/SOURCES.md`. Sentences are cleaned as the corpora are: Russian
letters only, no mark-up, 2 to 30 words. Held-out sentences are removed by `corpus.py`, as everywhere.
"""
import glob
import html
import os
import random
import re
import struct
import subprocess

import corpus

CACHE = os.path.join(corpus.HERE, "..", ".cache", "debian")
APHORISMS = "fortunes-ru"
CAMPAIGNS = "did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs".split()
TALES = ["wesnoth-1.16-data"] + ["wesnoth-1.16-" + campaign for campaign in CAMPAIGNS]
LETTERS_AT_LEAST = 0.72  # of all characters, as in the corpora

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"»”)]*\s+(?=[-–—«\"(]*\s*[А-ЯЁ])")
_ABBREVIATION_END = re.compile(r"(?:^|\s)(?:[А-ЯЁ]|т|п|г|гг|им|ул|см|др|пр|св|руб|коп|тыс|стр)\.$")
_ALLOWED = re.compile(r"[А-Яа-яЁё0-9 .,!?;:()\"'«»„“”…–—-]{6,300}")
_TYPING_ERROR = re.compile(r"[а-яё][А-ЯЁ]|(.)\1\1")


def unpacked(package):
    """Folder with the files of a package; fetched on first use."""
    folder = os.path.join(CACHE, package)
    if not os.path.isdir(folder):
        os.makedirs(CACHE, exist_ok=True)
        if not glob.glob(os.path.join(CACHE, package + "_*.deb")):
            subprocess.run(["apt-get", "download", "-q", package], cwd=CACHE, check=True)
        archive, = glob.glob(os.path.join(CACHE, package + "_*.deb"))
        # Rename at the end, so that an interrupted run leaves no half package behind.
        subprocess.run(["dpkg-deb", "-x", archive, folder + ".part"], check=True)
        os.rename(folder + ".part", folder)
        os.remove(archive)
    return folder


def files(package, pattern):
    found = sorted(glob.glob(os.path.join(unpacked(package), pattern)))
    if not found:
        raise SystemExit("Cannot read %s: it has no %s" % (package, pattern))
    return found


def translations(path):
    """Messages of a GNU catalogue (.mo) in its language, plural forms one by one; without the header."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translated = struct.unpack_from(order + "3I", data, 8)
    for i in range(count):
        source_length, = struct.unpack_from(order + "I", data, originals + 8 * i)
        length, at = struct.unpack_from(order + "2I", data, translated + 8 * i)
        if source_length:
            yield from data[at:at + length].decode("utf-8", "replace").split("\0")


def aphorisms():
    """Aphorisms, jokes and verses of fortunes-ru, without their authors."""
    for path in files(APHORISMS, "usr/share/games/fortunes/ru/*.u8"):
        with open(path, encoding="utf-8") as f:
            for cookie in re.split(r"^%\s*$", f.read(), flags=re.M):
                yield re.sub(r"^\s*--.*", "", cookie, flags=re.M | re.S)


def tales():
    """Stories, dialogues and descriptions of the game Battle for Wesnoth, in Russian."""
    for package in TALES:
        # Campaign packages contain the catalogue of their campaign alone.
        for path in files(package, "usr/share/games/wesnoth/1.16/locale/ru/LC_MESSAGES/*.mo"):
            yield from translations(path)


SOURCES = {"aphorisms": aphorisms, "tales": tales}


def paragraphs(raw):
    """Text without mark-up; hard-wrapped lines joined, lines of a dialogue apart."""
    text = re.sub(r"</?(?:i|b|small|big|span|ref|dst|italic|bold)\b[^>]*>", "", raw)
    text = html.unescape(re.sub(r"<[^>]*>", "\n\n", text)).replace("\u00ad", "").replace("\u00a0", " ")
    text = re.sub(r"\n\s*(?=[-–—•*]\s)", "\n\n", text)
    for paragraph in re.split(r"\n\s*\n", text):
        yield re.sub(r"\s+", " ", paragraph).strip()


def sentences(raw):
    """Sentences of Russian letters alone, with case and punctuation."""
    for paragraph in paragraphs(raw):
        pieces = []
        for piece in _SENTENCE_END.split(paragraph):
            if pieces and _ABBREVIATION_END.search(pieces[-1]):
                pieces[-1] += " " + piece
            else:
                pieces.append(piece)
        for piece in pieces:
            piece = re.sub(r"^[-–—•* ]+", "", piece)
            letters = len(re.findall(r"[А-Яа-яЁё]", piece))
            if (_ALLOWED.fullmatch(piece) and letters >= LETTERS_AT_LEAST * len(piece)
                    and 2 <= len(piece.split()) <= 30 and not _TYPING_ERROR.search(piece)):
                yield piece


def lines(name):
    """Distinct sentences of one source, in the order found."""
    return list(dict.fromkeys(s for raw in SOURCES[name]() for s in sentences(raw)))


if __name__ == "__main__":
    for source in SOURCES:
        kept = lines(source)
        print("%s: %d lines, %d words" % (source, len(kept), sum(len(s.split()) for s in kept)))
        for sentence in random.Random(1).sample(kept, 12):
            print("   ", sentence)
