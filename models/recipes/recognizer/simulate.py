"""Measurements for the service around the graphs, on the evaluation set, with the graphs used as the service
does.

1. Speech head: precision and recall of 40 ms frames per threshold (labels from the energy, clean cells only) and
   the rule "five frames (200 ms) below the threshold end the utterance": early ends, misses, delay.
2. Zeros: the sound is cut 120 ms after speech, then k frames of digital silence; CER of both heads for every k.
3. Carry-over: the encoder has just heard another utterance and the refiner starts about 300 ms before the speech.
4. Speechless sounds: characters written per minute by the full head.
"""
import argparse
import json
import os

import numpy as np
import soundfile
import torch

import augment as A
import evaluate
import export
import text


def run(model, sounds, mask_from=None):
    """Samples -> per sound (causal text, full text, speech probability per frame)."""
    out = []
    for i, x in enumerate(sounds):
        x = x[:len(x) // A.FRAME * A.FRAME]
        with torch.no_grad():
            encoded, causal, speech, _ = model.encode(torch.from_numpy(A.log_mel(x))[None])
            first = mask_from[i] if mask_from else 0
            encoded = encoded[:, first:]
            full = model.refine(encoded, torch.ones(1, encoded.shape[1]))
        out.append((text.decode(causal[0].argmax(-1).tolist()), text.decode(full[0].argmax(-1).tolist()),
                    torch.sigmoid(speech)[0].numpy()))
    return out


def cer(guesses, refs):
    d = sum(evaluate.distance(text.fold(g), r) for g, r in zip(guesses, refs))
    return round(100 * d / sum(map(len, refs)), 2)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--checkpoint", default=os.path.join(export.CACHE, "checkpoint.pt"))
    p.add_argument("--count", type=int, default=25, help="sentences per cell")
    p.add_argument("--out", default=os.path.join(export.CACHE, "simulation.json"))
    p.add_argument("--into", help="JSON file (training.json) that gets the figures as `simulation`")
    a = p.parse_args()
    torch.set_num_threads(1)
    model, _ = export.load(a.checkpoint)
    result, rows, used = {}, [], {}
    with open(os.path.join(evaluate.EVAL, "index.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            cell = (row["language"], row["speakers"], row["condition"])
            used[cell] = used.get(cell, 0) + 1
            if used[cell] <= a.count:
                row["x"] = soundfile.read(os.path.join(evaluate.EVAL, row["file"]), dtype="float32")[0]
                rows.append(row)
    refs = lambda rs: [text.fold(r["normalized"]) for r in rs]

    # 1. speech head, on sounds that continue for 1 s after the speech with their own background
    for condition in ("clean", "noise10"):
        rs = [r for r in rows if r["condition"] == condition]
        sounds = [np.concatenate([r["x"], np.tile(r["x"][-3000:], 6)[:16000 - 3200]]) for r in rs]
        outs = run(model, sounds)
        for threshold in (0.2, 0.3, 0.4, 0.5, 0.6):
            tp = fp = fn = early = missed = 0
            delays = []
            for r, x, (_, _, s) in zip(rs, sounds, outs):
                # The evaluation files have exactly 300 ms before and 200 ms after the speech.
                end = (len(r["x"]) - 3200) / A.FRAME
                on = s >= threshold
                if condition == "clean":
                    truth = A.speech_frames(x, A.FRAME, close=3)[:len(s)]
                    tp, fp, fn = tp + (on & truth).sum(), fp + (on & ~truth).sum(), fn + (~on & truth).sum()
                quiet, started, fired = 0, False, False
                for i, v in enumerate(on):
                    quiet = 0 if v else quiet + 1
                    started |= bool(v)
                    if started and quiet == 5:
                        if i + 1 < end - 1:
                            # A pause that the speaker actually makes (punctuation) is not a mistake.
                            early += int(condition != "clean" or truth[i - 4:i + 1].any())
                        else:
                            delays.append((i + 1 - end) * 40)
                            fired = True
                            break
                missed += not fired
            entry = dict(early=early, missed=missed, of=len(rs))
            if delays:
                entry["delay_ms_p50_p90_p99"] = [int(v) for v in np.percentile(delays, [50, 90, 99])]
            if tp:
                entry.update(precision=round(float(tp / (tp + fp)), 4), recall=round(float(tp / (tp + fn)), 4))
            result["speech %s, threshold %.1f" % (condition, threshold)] = entry

    # 2. amount of digital silence
    for condition in ("clean", "noise10"):
        rs = [r for r in rows if r["condition"] == condition]
        for k in (2, 4, 5, 6, 7, 8, 10, 15):
            sounds = []
            for r in rs:
                n = -(-(len(r["x"]) - 3200 + 1920) // A.FRAME) * A.FRAME
                sounds.append(np.pad(r["x"][:n], (0, k * A.FRAME)))
            outs = run(model, sounds)
            result["zeros %s, %d ms" % (condition, k * 40)] = dict(
                causal=cer([o[0] for o in outs], refs(rs)), full=cer([o[1] for o in outs], refs(rs)))

    # 3. carry-over
    rs = [r for r in rows if r["condition"] == "clean"]
    previous = [rs[(i * 7 + 3) % len(rs)]["x"] for i in range(len(rs))]
    sounds, starts = [], []
    for r, q in zip(rs, previous):
        q = q[:len(q) // A.FRAME * A.FRAME]
        n = -(-len(r["x"]) // A.FRAME) * A.FRAME + evaluate.FLUSH
        sounds.append(np.concatenate([q, np.pad(r["x"], (0, n - len(r["x"])))]))
        starts.append(len(q) // A.FRAME)
    alone = run(model, [x[s * A.FRAME:] for x, s in zip(sounds, starts)])
    after = run(model, sounds, starts)
    result["carry-over, clean"] = dict(alone=cer([o[1] for o in alone], refs(rs)),
                                       after_another=cer([o[1] for o in after], refs(rs)))

    # 4. speechless
    rng = np.random.default_rng(5)
    for name, make in (("silence", lambda n: np.zeros(n)), ("clicks", lambda n: A.clicks(rng, n) * 0.5),
                       ("music", lambda n: A.chords(rng, n) * 0.4), ("hum", lambda n: A.hum(rng, n) * 0.1),
                       ("handling", lambda n: A.handling(rng, n) * 0.5),
                       ("noise", lambda n: A.background(rng, n) * 0.1)):
        outs = run(model, [make(96000).astype(np.float32) for _ in range(10)])
        result["speechless " + name] = dict(
            characters_per_minute=sum(len(o[1]) for o in outs),
            speech_share=round(float(np.mean([(o[2] >= 0.5).mean() for o in outs])), 3))
    with open(a.out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    for k, v in result.items():
        print("%-36s %s" % (k, v))
    if a.into:
        export.merge(a.into, simulation=result)


if __name__ == "__main__":
    main()
