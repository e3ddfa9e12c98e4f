"""Trains F0 and voicing alone further: `train_pitch.py --init acoustic.pt --minutes 20`.

Only the predictor inside the condition learns; encoder, durations and flow stay bit-identical, so the speech
keeps its sound and its timing. Needs prepare.py --pitch-only at least. Every voice counts equally: an error
is measured in standard deviations of the voice's own intonation, because a voice that moves by half a
semitone would otherwise be neglected next to one that moves by four. Writes acoustic.pt to the cache, for
export.py."""

import argparse
import json
import math
import os
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

from acoustic import Acoustic
from config import CACHE, F0_SCALE, HOP, SAMPLE_RATE, VOICES
from data import Split, collate, fixed_order

SEMITONE = math.log(2.0) / 12.0 / F0_SCALE


def spreads(split):
    """Standard deviation of normalised log F0 inside an utterance, of every voice, f32 [voices]."""
    found = [[] for _ in VOICES]
    for item in split.items:
        rows = split.f0[item["offset"]:item["offset"] + item["frames"]].astype(np.float32)
        voiced = rows[rows[:, 1] > 0.5, 0]
        if len(voiced) > 20:
            found[item["voice"]].append(voiced.var())
    return torch.tensor([math.sqrt(np.mean(values)) for values in found], dtype=torch.float32)


def losses(condition, hidden, batch, spread):
    """(pitch loss in squared standard deviations of the voice, voicing loss, predicted pitch [B,T])."""
    mask = batch["mask"]
    patches, patch_mask = condition.spread(hidden, batch["frame_to_token"], batch["position"], mask)
    pitch, logit = condition.predict(patches, batch["voice"], patch_mask)
    true_pitch, true_voicing = batch["f0"][:, :, 0], batch["f0"][:, :, 1]
    weight = mask * (0.1 + 0.9 * true_voicing)
    error = (pitch - true_pitch) / spread[batch["voice"]].unsqueeze(1)
    pitch_loss = (F.smooth_l1_loss(error, torch.zeros_like(error), reduction="none", beta=1.0) * weight).sum() / weight.sum()
    voicing_loss = F.binary_cross_entropy_with_logits(logit, true_voicing, reduction="none")
    return pitch_loss, (voicing_loss * mask).sum() / mask.sum(), pitch


def validate(model, heldout, spread):
    """Mean correlation of an utterance's voiced frames, and root mean square error in semitones, per voice.
    """
    rows = {voice.id: [] for voice in VOICES}
    order = sorted(range(len(heldout.items)), key=lambda i: heldout.items[i]["frames"])
    with torch.no_grad():
        for first in range(0, len(order), 8):
            batch = collate(heldout, order[first:first + 8])
            hidden, _ = model.encoder(batch["tokens"], batch["voice"], batch["log_speed"])
            pitch = losses(model.condition, hidden, batch, spread)[2].numpy()
            true, voiced = batch["f0"][:, :, 0].numpy(), (batch["f0"][:, :, 1] * batch["mask"]).numpy() > 0.5
            for row, number in enumerate(batch["voice"].tolist()):
                a, b = true[row, voiced[row]], pitch[row, voiced[row]]
                rows[VOICES[number].id].append((np.corrcoef(a, b)[0, 1], math.sqrt(np.mean((a - b) ** 2)) / SEMITONE))
    return {voice: np.mean(values, 0).round(3).tolist() for voice, values in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--init", required=True, help="acoustic.pt whose averaged weights are trained further")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--twice", nargs="*", default=[], help="ids of voices that are heard twice as often")
    parser.add_argument("--budget", type=int, default=6000, help="frames of a batch")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    path = os.path.join(CACHE, "acoustic.pt")
    model, average = Acoustic(), Acoustic()
    saved = torch.load(options.init, map_location="cpu")
    for one in (model, average):
        one.load_state_dict(saved["average"])
        one.requires_grad_(False)
    learning = [(a, b) for (name, a), b in zip(model.condition.named_parameters(), average.condition.parameters())
                if not name.startswith("outputs.")]
    for a, _ in learning:
        a.requires_grad_(True)
    optimizer = torch.optim.AdamW([a for a, _ in learning], lr=options.rate, betas=(0.9, 0.99), weight_decay=0.01)
    train, heldout = Split("train"), Split("heldout")
    spread = spreads(train)
    train.items += [item for item in train.items if VOICES[item["voice"]].id in options.twice]
    print("spread in semitones", {v.id: round(float(s) / SEMITONE, 2) for v, s in zip(VOICES, spread)}, flush=True)
    print(json.dumps({"step": 0, "heldout": validate(average, heldout, spread)}), flush=True)
    rng, step, seen, curve, recent, batches = random.Random(options.seed), 0, 0.0, [], [], []
    started, last_save = time.time(), time.time()

    def save():
        curve.append({"step": step, "minutes": round((time.time() - started) / 60, 2), "hours_seen": round(seen, 2),
                      "heldout": validate(average, heldout, spread)})
        print(json.dumps(curve[-1]), flush=True)
        state = dict(saved, average=average.state_dict(),
                     pitch={"steps": step, "minutes": (time.time() - started) / 60, "hours_seen": seen, "curve": curve})
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)

    while (progress := (time.time() - started) / (options.minutes * 60.0)) < 1.0:
        if not batches:
            batches = fixed_order(train.items, options.budget, rng)
        rate = options.rate * min(1.0, (step + 1) / 100.0) * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = collate(train, batches.pop())
        with torch.no_grad():
            hidden, _ = model.encoder(batch["tokens"], batch["voice"], batch["log_speed"])
        pitch, voicing, _ = losses(model.condition, hidden, batch, spread)
        optimizer.zero_grad(set_to_none=True)
        (pitch + 0.3 * voicing).backward()
        torch.nn.utils.clip_grad_norm_([a for a, _ in learning], 1.0)
        optimizer.step()
        decay = min(0.998, (step + 1) / (step + 20))
        with torch.no_grad():
            for a, b in learning:
                b.lerp_(a, 1.0 - decay)
        step += 1
        seen += float(batch["mask"].sum()) * HOP / SAMPLE_RATE / 3600
        recent.append([float(pitch), float(voicing)])
        if step % 100 == 0:
            print(step, round((time.time() - started) / 60, 2), np.mean(recent, 0).round(4).tolist(), flush=True)
            recent = []
        if time.time() - last_save > 180:
            save()
            last_save = time.time()
    save()
    print(f"done: {step} steps, {seen:.1f} h seen", flush=True)


if __name__ == "__main__":
    main()
