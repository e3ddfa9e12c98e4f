"""Punctuation, case and sentence ends from hashed pieces of words."""

import torch
from torch import nn

MARKS = ["", ",", ".", "?", "-", "—", ":"]
CASES = ["l", "C", "U"]
BUCKETS = 40_000
FEATURES = 10
WIDTH = 88
HIDDEN = 160
CAUSAL = 128
LONGEST = 12


def fnv(text):
    """FNV-1a over UTF-16 code units; every letter here is one unit."""
    value = 0x811C9DC5
    for letter in text:
        value = ((value ^ ord(letter)) * 0x01000193) & 0xFFFFFFFF
    return value


def features(word):
    """Ids of the word, its first and last one to four letters, and its length."""
    pieces = ["w" + word]
    pieces += ["p" + word[:n] for n in range(1, 5)]
    pieces += ["s" + word[-n:] for n in range(1, 5)]
    pieces.append("n" + str(min(len(word), LONGEST)))
    return [fnv(piece) % BUCKETS for piece in pieces]


class Punctuator(nn.Module):
    """ids: (batch, words, FEATURES); pauses: (batch, words), the pause after each word in seconds, -1 where
    unknown.
    Returns logits of the mark after each word, of its case, and, from the left alone, of a sentence end after
    it."""

    def __init__(self, dropout=0.25):
        super().__init__()
        self.table = nn.Embedding(BUCKETS, WIDTH)
        nn.init.normal_(self.table.weight, std=0.1)
        self.pause = nn.Linear(2, WIDTH, bias=False)
        self.drop = nn.Dropout(dropout)
        self.both = nn.GRU(WIDTH, HIDDEN, 2, batch_first=True, bidirectional=True, dropout=dropout)
        self.mark = nn.Linear(2 * HIDDEN, len(MARKS))
        self.case = nn.Linear(2 * HIDDEN + len(MARKS), len(CASES))
        self.left = nn.GRU(WIDTH, CAUSAL, batch_first=True)
        self.end = nn.Linear(CAUSAL, 1)

    def forward(self, ids, pauses):
        # Whole words are dropped in training, so that affixes learn to represent unseen words.
        embedded = self.table(ids)
        if self.training:
            keep = (torch.rand(ids.shape[:2] + (1, 1)) > 0.15).float()
            embedded = torch.cat([embedded[:, :, :1] * keep, embedded[:, :, 1:]], 2)
        embedded = self.drop(embedded.sum(2))
        marks, cases = self.marks_and_cases(embedded, pauses)
        lefts, _ = self.left(embedded)
        return marks, cases, self.end(self.drop(lefts)).squeeze(2)

    def marks_and_cases(self, embedded, pauses):
        known = (pauses >= 0).float()
        timed = embedded + self.pause(torch.stack([torch.log1p(10 * pauses.clamp(min=0)) * known, known], 2))
        states, _ = self.both(timed)
        states = self.drop(states)
        marks = self.mark(states)
        # Case depends on the mark before the word: a capital follows a full stop.
        before = torch.cat([torch.zeros_like(marks[:, :1]), marks.softmax(2)[:, :-1]], 1)
        return marks, self.case(torch.cat([states, before], 2))
