"""Train the near-speaker voice activity on the shards that exist, picking up new ones as they appear.

    train_near.py --shards FOLDER --out FOLDER --minutes 30

Near speakers, background voices and noises are mixed differently in every batch, as sums of powers in each
band: another level, another equaliser, another telephone band each time. A quarter of a batch are whole
mixtures. If stopped (SIGTERM saves first) and started again, it resumes from its checkpoint.
"""
import argparse
import glob
import json
import os
import signal
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import network
import shards as M
from sources import A

HEARD = -4.0  # dB: a near speaker who is further below all else in every band is not to be heard
BAND_HERTZ = 700 * (10 ** (np.linspace(2595 * np.log10(1 + 20 / 700), 2595 * np.log10(1 + 7600 / 700), A.MELS + 2)[1:-1] / 2595) - 1)
BINS = np.maximum(1, (A._BANK > 0).sum(0) / 2)


class Shards:
    def __init__(self, folder):
        self.folder, self.names = folder, set()
        self.parts = {kind: [] for kind in ("near", "voices", "noise", "whole")}

    def refresh(self):
        for path in sorted(glob.glob(os.path.join(self.folder, "*_*.npz"))):
            name = os.path.basename(path)
            if name not in self.names:
                self.names.add(name)
                self.parts[name.split("_")[0]].append({k: v for k, v in np.load(path).items()})

    def draw(self, rng, kind):
        shard = self.parts[kind][rng.integers(len(self.parts[kind]))]
        return shard, int(rng.integers(len(shard["mel"])))

    def hours(self, kind):
        return sum(len(p["mel"]) for p in self.parts[kind]) * 10.24 / 3600


def decibels(value):
    return 10 ** (value / 10)


def equaliser(rng, deviation):
    knots = np.array([0, 150, 400, 1000, 2200, 4000, 6000, 8000])
    gain = np.interp(BAND_HERTZ, knots, np.cumsum(rng.normal(0, deviation, 8)) * 0.6 + rng.normal(0, deviation / 2, 8))
    return decibels(gain - gain.mean()).astype(np.float32)


def power(shard, i, shift=0):
    p = torch.from_numpy(shard["mel"][i]).float().exp_().sub_(M.FLOOR).clamp_(min=0)
    return torch.roll(p, shift, 0) if shift else p


def beside(rng, a, b):
    """Power of two sounds together: random phases, less so where a band has many bins."""
    cross = torch.randn(a.shape) * torch.from_numpy((1.4 / np.sqrt(BINS)).astype(np.float32))
    return (a + b + torch.sqrt(a * b) * cross).clamp_(min=0)


def mixture(rng, shards):
    """(power [1024, 80], speech [256], weight [256]) of a near speaker with a background."""
    shard, i = shards.draw(rng, "near")
    p, speech, count = power(shard, i), shard["speech"][i], 0
    if rng.random() < 0.12:
        p, speech = p * 0, speech * 0
    near = p * torch.from_numpy(equaliser(rng, 2.0)) if rng.random() < 0.5 else p
    rest = torch.zeros_like(near)
    if rng.random() < 0.55:
        bed, j = shards.draw(rng, "voices")
        count = int(bed["count"][j])
        low = 9 if count > 2 else 10
        q = power(bed, j, int(rng.integers(0, 256)) * 4) * decibels(-rng.uniform(low, 30))
        rest = rest + (q * torch.from_numpy(equaliser(rng, 2.0)) if rng.random() < 0.5 else q)
    if rng.random() < 0.72:
        bed, j = shards.draw(rng, "noise")
        # Keys and music are most often mistaken for speech.
        if M.S.NOISES[bed["name"][j]][0] not in ("typing", "music") and rng.random() < 0.4:
            bed, j = shards.draw(rng, "noise")
        q = power(bed, j, int(rng.integers(0, 1024))) * decibels(-rng.uniform(-4, 30))
        rest = beside(rng, rest, q * torch.from_numpy(equaliser(rng, 2.0)) if rng.random() < 0.5 else q)
    if rng.random() < 0.8:  # the microphone's own noise
        tilt = decibels(np.linspace(0, rng.uniform(-25, 10), A.MELS)).astype(np.float32) * (BINS / BINS.mean()).astype(np.float32)
        hiss = torch.from_numpy(tilt) * torch._standard_gamma(torch.from_numpy(np.broadcast_to(BINS.astype(np.float32), near.shape).copy())) \
            / torch.from_numpy(BINS.astype(np.float32))
        rest = rest + hiss * (60 * decibels(-rng.uniform(62, 95)))
    # Where the near speaker is inaudible, the label is unknown.
    audible = F.avg_pool2d((near / (rest + M.FLOOR)).clamp(max=100)[None, None], (4, 4), (4, 4))[0, 0].amax(1).numpy()
    weight = M.unsure(speech, count) * np.where((speech > 0) & (audible < decibels(HEARD)), 0.1, 1.0)
    return beside(rng, near, rest), speech, weight


def channel(rng, p):
    """Level, telephone band, and a step of 16 bits."""
    p = p * decibels(rng.uniform(-38, 16))
    r = rng.random()
    if r < 0.12:
        outside = (BAND_HERTZ < 280) | (BAND_HERTZ > 3450)
        p[:, torch.from_numpy(outside)] *= decibels(-rng.uniform(30, 70))
    elif r < 0.2:
        p = p * torch.from_numpy(decibels(-48 * np.maximum(0, np.log2(BAND_HERTZ / rng.uniform(3200, 6500)))).astype(np.float32))
    return p + torch.rand(1) * 3e-8


def batch(rng, shards, size, whole):
    """features [size, 256, F], speech [size, 256], weight [size, 256]; `whole` of them are whole mixtures."""
    powers, speeches, weights = [], [], []
    for _ in range(size - whole):
        p, speech, weight = mixture(rng, shards)
        powers.append(channel(rng, p))
        speeches.append(speech)
        weights.append(weight)
    for _ in range(whole):
        shard, i = shards.draw(rng, "whole")
        powers.append(power(shard, i))
        speeches.append(shard["speech"][i])
        weights.append(shard["weight"][i].astype(np.float64))
    features = network.features(torch.stack(powers))
    return features, torch.from_numpy(np.stack(speeches)).float(), torch.from_numpy(np.stack(weights)).float()


def masked(rng, features, mean):
    """Bands missing in some tracks."""
    for row in features:
        if rng.random() < 0.2:
            bands = network.FEATURES // 2
            w = int(rng.integers(1, 10))
            at = int(rng.integers(0, bands - w))
            for half in (0, bands):
                row[:, half + at:half + at + w] = mean[half + at:half + at + w]
    return features


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shards", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--minutes", type=float, default=30, help="of processor time")
    p.add_argument("--channels", type=int, default=network.VoiceActivity.DEFAULT["channels"])
    p.add_argument("--causal", type=int, nargs="+", default=network.VoiceActivity.DEFAULT["causal"], help="dilation of each block")
    p.add_argument("--size", type=int, default=40, help="tracks a batch")
    p.add_argument("--whole", type=int, default=10, help="whole mixtures of these")
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--keep", type=float, default=0.998)
    p.add_argument("--init", help="checkpoint whose averaged weights a new run starts from")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    rng = np.random.default_rng(a.seed)
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "checkpoint.pt")
    shards = Shards(a.shards)
    shards.refresh()
    model = network.VoiceActivity(dict(channels=a.channels, causal=a.causal))
    if os.path.exists(path):
        pass
    elif a.init:
        model.load_state_dict(torch.load(a.init, map_location="cpu")["ema"])
    else:
        some = batch(rng, shards, 60, 15)[0].reshape(-1, network.FEATURES)
        model.mean.copy_(some.mean(0))
        model.std.copy_(some.std(0))
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01, betas=(0.9, 0.98))
    ema = {k: v.detach().clone() for k, v in model.state_dict().items()}
    step, spent, curve = 0, 0.0, []
    if os.path.exists(path):
        ck = torch.load(path, map_location="cpu")
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        ema, step, spent, curve = ck["ema"], ck["step"], ck["spent"], ck["curve"]
        rng = np.random.default_rng([a.seed, step])
    print("%d parameters, reach %d frames" % (network.parameters(model), model.reach()), flush=True)
    began, stop = time.process_time(), []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    now = lambda: spent + time.process_time() - began

    def save():
        torch.save(dict(config=model.config, model=model.state_dict(), ema=ema, optimizer=opt.state_dict(), step=step,
                        spent=now(), curve=curve), path + ".part")
        os.rename(path + ".part", path)

    recent, saved = None, now()
    while now() < a.minutes * 60 and not stop:
        progress = now() / 60 / a.minutes
        for g in opt.param_groups:
            g["lr"] = a.lr * min(1, (step + 1) / 100) * (0.005 + 0.995 * 0.5 * (1 + np.cos(np.pi * max(0, (progress - 0.15) / 0.85))))
        if step % 200 == 0:
            shards.refresh()
        features, speech, weight = batch(rng, shards, a.size, min(a.whole, a.size) if shards.parts["whole"] else 0)
        model.train()
        logits, _ = model(masked(rng, features, model.mean))
        # An output that is a frame late at a border is a minor mistake.
        loss = F.binary_cross_entropy_with_logits(logits, speech, weight, reduction="sum") / weight.sum()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 3.0)
        opt.step()
        keep = min(a.keep, (step + 1) / (step + 10))
        with torch.no_grad():
            for k, v in model.state_dict().items():
                ema[k].lerp_(v, 1 - keep) if v.dtype.is_floating_point else ema[k].copy_(v)
        recent = float(loss) if recent is None else 0.98 * recent + 0.02 * float(loss)
        step += 1
        if step % 100 == 0:
            entry = dict(minutes=round(now() / 60, 2), step=step, loss=round(recent, 4),
                         hours={k: round(shards.hours(k), 1) for k in shards.parts})
            curve.append(entry)
            print(json.dumps(entry), flush=True)
        if now() - saved > 60:
            saved = now()
            save()
    save()


if __name__ == "__main__":
    main()
