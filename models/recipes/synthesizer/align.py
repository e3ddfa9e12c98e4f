"""Durations per character from espeak-ng events.

Kazakh spelling is almost one letter to one phoneme, so a monotone alignment with letter -> phoneme probabilities
learnt by EM over the distinct (word, phonemes) pairs is exact enough, and every boundary is an event of the synthesizer."""

import math
from collections import Counter, defaultdict

import numpy as np

from config import LETTERS

MAX_PHONEMES_PER_LETTER = 5
_LETTERS = set(LETTERS)


def segments(text, events):
    """Splits an utterance into words with their phonemes.

    Returns a list of dicts: start (0-based index of the first character), letters (indices), phonemes (names), starts
    (sample of each phoneme), pause (sample at which the pause after the last phoneme starts, or None); or None when the
    events cannot be matched with the text."""
    result, current, last = [], None, -1
    for kind, sample, value, _ in events:
        if kind == "word":
            position = value - 1
            # Bogus WORD events point at punctuation or go backwards: their phonemes belong to the previous
            # word.
            if 0 <= position < len(text) and position > last and text[position] in _LETTERS:
                last = position
                current = {"start": position, "event": sample, "phonemes": [], "starts": [], "pause": None}
                result.append(current)
        elif current is None:
            continue
        elif value.startswith("_"):
            if current["phonemes"] and current["pause"] is None:
                current["pause"] = sample
        elif current["pause"] is None:
            current["phonemes"].append(value)
            current["starts"].append(sample)
        # A phoneme after a pause inside one word (rare) would lengthen that pause's neighbour, so it is
        # assigned to the pause.
    for index, segment in enumerate(result):
        end = result[index + 1]["start"] if index + 1 < len(result) else len(text)
        segment["letters"] = [i for i in range(segment["start"], end) if text[i] in _LETTERS]
        count = len(segment["phonemes"])
        if count == 0 or count > MAX_PHONEMES_PER_LETTER * len(segment["letters"]):
            return None
    return result or None


def _split(word, phonemes, score):
    """Best monotone split: number of phonemes of each letter, by Viterbi. score(letter, tuple of phonemes) -> log p."""
    letters, count = len(word), len(phonemes)
    best = np.full((letters + 1, count + 1), -1e9)
    back = np.zeros((letters + 1, count + 1), np.int64)
    best[0, 0] = 0.0
    for i in range(letters):
        for j in range(count + 1):
            if best[i, j] <= -1e8:
                continue
            for used in range(min(MAX_PHONEMES_PER_LETTER, count - j) + 1):
                value = best[i, j] + score(word[i], phonemes[j:j + used], i, letters, j, count)
                if value > best[i + 1, j + used]:
                    best[i + 1, j + used] = value
                    back[i + 1, j + used] = used
    split, j = [], count
    for i in range(letters, 0, -1):
        split.append(int(back[i, j]))
        j -= split[-1]
    return split[::-1]


def learn(pairs, rounds=4):
    """EM (hard) over {(word, phonemes): count}. Returns {(word, phonemes): split}."""
    def uniform(letter, used, i, letters, j, count):
        centre = j + len(used) / 2.0
        return -abs(centre / count - (i + 0.5) / letters) - 0.3 * abs(len(used) - 1)

    splits = {pair: _split(pair[0], pair[1], uniform) for pair in pairs}
    for _ in range(rounds):
        counts, totals = defaultdict(Counter), Counter()
        for (word, phonemes), split in splits.items():
            weight, j = pairs[(word, phonemes)], 0
            for letter, used in zip(word, split):
                counts[letter][phonemes[j:j + used]] += weight
                totals[letter] += weight
                j += used
        table = {letter: {unit: math.log((n + 0.05) / (totals[letter] + 1.0)) for unit, n in counter.items()}
                 for letter, counter in counts.items()}

        def learnt(letter, used, i, letters, j, count):
            return table[letter].get(used, -12.0 - 2.0 * len(used))

        splits = {pair: _split(pair[0], pair[1], learnt) for pair in pairs}
    return splits


def boundaries(text, parts, splits, length):
    """Start sample of every character of "^" + text + "$", and the end of the audio.

    parts: segments(); length: samples of speech (the caller adds silence before and after, owned by "^" and "$").
    Gap between a WORD event and its first phoneme (the closure of a stop) goes to the space before the word, pauses go
    to the punctuation, letters without a phoneme share their neighbour's time. Returns f64 [len(text) + 1] boundaries."""
    start = np.full(len(text) + 1, -1.0)
    start[len(text)] = length
    for index, part in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else None
        end = part["pause"]
        if end is None:
            end = following["event"] if following else length
        edges = list(part["starts"]) + [end]
        word = "".join(text[i] for i in part["letters"])
        split = splits[(word, tuple(part["phonemes"]))]
        spans, j = [], 0
        for used in split:
            spans.append([edges[j], edges[j + used]])
            j += used
        # Letters without a phoneme: half of the time of the letter before (or after, at the start of the word).
        for i, used in enumerate(split):
            if used == 0:
                neighbour = i - 1 if i > 0 else next((k for k, n in enumerate(split) if n), 0)
                low, high = spans[neighbour]
                middle = (low + high) / 2.0
                if neighbour < i:
                    spans[neighbour], spans[i] = [low, middle], [middle, high]
                else:
                    spans[neighbour], spans[i] = [middle, high], [low, middle]
        for i, (low, _) in zip(part["letters"], spans):
            start[i] = low
        last = part["letters"][-1]
        stop = following["start"] if following else len(text)
        rest = list(range(last + 1, stop))
        if rest:
            # Everything up to the next word's first phoneme: the first mark takes the pause, the space the
            # gap.
            until = following["event"] if following else length
            start[rest[0]] = end
            for i in rest[1:]:
                start[i] = max(until, end)
    # Characters without their own time (marks inside a word) have duration 0: they start where the next one
    # does.
    for i in range(len(text) - 1, -1, -1):
        if start[i] < 0:
            start[i] = start[i + 1]
    start[0] = max(start[0], 0.0)
    return np.minimum(np.maximum.accumulate(start), length)
