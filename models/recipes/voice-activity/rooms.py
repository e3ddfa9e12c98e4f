"""Development rooms: utterances with known ends over backgrounds, and how a rule of silence ends them.

    rooms.py make --out FOLDER [--people FOLDER ...]        WAVE files and index.json
    rooms.py score --rooms FOLDER --checkpoint FILE         delays, missing finals and cuts

Near speakers are the development voice, recordings of the given folders, and unseen variants of espeak-ng; in
the background are voices that training does not know either. The room continues 0.75 s before and 2 s after
each utterance.
"""
import argparse
import json
import os

import numpy as np
import soundfile
import torch

import network
import shards as M
import sounds as S
import sources
from sources import A

BEFORE, AFTER = 0.75, 2.0
ROOMS = [("quiet", None, 60)] + [("voices-%d" % k, k, snr) for k in (1, 2, 6) for snr in (25, 20, 15, 10)] + \
    [(name, name, snr) for name in ("television", "music", "typing", "street", "fan", "gusts", "pink") for snr in (20, 15, 10)] + \
    [("pink", "pink", 5), ("pink", "pink", 0)]


def bed(rng, kind, others, tracks, n):
    if kind is None:
        return np.zeros(n, np.float32)
    if isinstance(kind, int):
        return S.voices_behind(rng, others, n, kind)
    if kind == "television":
        return S.television(rng, others, tracks, n)
    if kind == "pink":
        return A.coloured(np.random.default_rng(rng.integers(1 << 30)), n, 1.0)
    makers = dict((name, make) for name, _, make in S.NOISES)
    return makers[kind](rng, tracks, n)


def make(out, people, count, seed):
    os.makedirs(out, exist_ok=True)
    development = sources.prompts(sources.DEVELOPMENT_VOICE, "wav")
    unseen = sources.espeak(4, unseen=True, seed=5)[0]
    folders = {os.path.basename(f.rstrip("/")): sources.table(f) for f in people}
    speakers = {"menardi": development, "espeak-unseen": unseen, **folders}
    others = {"menardi": development, **{"espeak-%d" % i: [x] for i, x in enumerate(unseen)}}
    tracks = sources.music()[-1:]
    rows = []
    for who, utterances in sorted(speakers.items()):
        utterances = [x for x in utterances if 1 * A.RATE <= len(x) <= 6 * A.RATE]
        rng = np.random.default_rng([seed, len(utterances)])
        chosen = [utterances[i] for i in rng.permutation(len(utterances))[:count]]
        for room, kind, snr in ROOMS:
            for i, x in enumerate(chosen):
                dry = x.astype(np.float32) / 32768
                dry = dry / S.loud_rms(dry) * A.db(-26)
                on = np.flatnonzero(A.speech_frames(dry))
                before = int(BEFORE * A.RATE)
                n = before + len(dry) + int(AFTER * A.RATE) + A.FRAME
                behind = {k: v for k, v in others.items() if k != who}
                y = bed(np.random.default_rng([seed, i, ROOMS.index((room, kind, snr))]), kind, behind, tracks, n) * A.db(-26 - snr)
                y = y + A.coloured(np.random.default_rng([seed, i, 99]), n, 1.0) * A.db(-26 - 50)
                y[before:before + len(dry)] += dry
                name = "%s-%s-%d-%02d.wav" % (who, room, snr, i)
                soundfile.write(os.path.join(out, name), np.clip(y, -1, 1), A.RATE, subtype="PCM_16")
                rows.append(dict(file=name, who=who, room=room, snr=snr, start=BEFORE + on[0] / 100, end=BEFORE + (on[-1] + 1) / 100,
                                 speech="".join("1" if v else "0" for v in A.speech_frames(np.pad(dry, (before, n - before - len(dry)))))))
    with open(os.path.join(out, "index.json"), "w") as f:
        json.dump(rows, f)
    print(len(rows), "files")


def endpoints(p, on=0.5, off=0.35, opening=2, pause=5):
    """[(start frame, end frame, frame of the final)] as the service's endpointer finds them."""
    out, speech, run, is_open, end = [], False, 0, False, 0
    for i, v in enumerate(p):
        speech = v >= (off if speech else on)
        run = run + 1 if speech else 0
        if not is_open:
            if run >= opening:
                is_open, start, end = True, i + 1 - run, i + 1
        elif speech:
            end = i + 1
        elif i + 1 - end >= pause:
            out.append((start, end, i + 1))
            is_open = False
    return out


def judge(row, p):
    """(delay of the final after the end of speech in ms or None, cuts inside speech, utterances of the
    background alone)."""
    truth = np.array([c == "1" for c in row["speech"]])
    end, start = row["end"], row["start"]
    found = endpoints(p)
    delay, cuts, alone = None, 0, 0
    for s, e, f in found:
        if f * 0.04 < start or s * 0.04 > end + 0.05:
            alone += 1
        elif (e * 0.04) < end - 0.12:
            # A pause of 200 ms by the speaker is not a cut.
            inside = truth[e * 4:min(f * 4, len(truth))]
            cuts += int(inside.mean() > 0.25) if len(inside) else 0
        else:
            delay = (f * 0.04 - end) * 1000 if delay is None else delay
    return delay, cuts, alone


def probabilities(model, x):
    power = torch.exp(torch.from_numpy(M.log_power(x[:len(x) // A.FRAME * A.FRAME]).astype(np.float32)))
    with torch.no_grad():
        return torch.sigmoid(model(network.features(power[None]))[0])[0].numpy()


def table(rows, results):
    """results: [(delay, cuts, alone)] per row. One line per room and level."""
    out = {}
    for row, (delay, cuts, alone) in zip(rows, results):
        out.setdefault((row["room"], row["snr"]), []).append((delay, cuts, alone))
    print("%-16s %5s %5s %5s %6s %5s %5s   n" % ("room", "p50", "p90", "p99", "none%", "cut%", "alone%"))
    for (room, snr), got in out.items():
        delays = [d for d, _, _ in got if d is not None]
        p = np.percentile(delays, [50, 90, 99]) if delays else [np.nan] * 3
        n = len(got)
        late = sum(d is None or d > 2000 for d, _, _ in got)
        print("%-12s %3d %5.0f %5.0f %5.0f %6.1f %5.1f %5.1f  %d" % (room, snr, *p, 100 * late / n, 100 * sum(c > 0 for _, c, _ in got) / n,
                                                            100 * sum(a > 0 for _, _, a in got) / n, n))


def score(folder, checkpoint, who):
    model, _ = network.load(checkpoint)
    with open(os.path.join(folder, "index.json")) as f:
        rows = [r for r in json.load(f) if not who or r["who"] in who]
    results = [judge(r, probabilities(model, soundfile.read(os.path.join(folder, r["file"]), dtype="float32")[0])) for r in rows]
    table(rows, results)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    c = commands.add_parser("make")
    c.add_argument("--out", required=True)
    c.add_argument("--people", nargs="*", default=[])
    c.add_argument("--count", type=int, default=24)
    c.add_argument("--seed", type=int, default=3)
    c = commands.add_parser("score")
    c.add_argument("--rooms", required=True)
    c.add_argument("--checkpoint", required=True)
    c.add_argument("--who", nargs="*")
    a = p.parse_args()
    torch.set_num_threads(1)
    if a.command == "make":
        make(a.out, a.people, a.count, a.seed)
    else:
        score(a.rooms, a.checkpoint, a.who)
