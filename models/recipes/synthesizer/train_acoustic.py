"""Trains the acoustic model: `train_acoustic.py --minutes 55 [--device cuda] [--resume]`.

Saves acoustic.pt (model, running average, optimizer, progress) every few minutes; with --resume a run
continues where it was, including its clock. With --export the graphs are written again after each
checkpoint."""

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import torch

from acoustic import LOSS_WEIGHTS, Acoustic
from config import CACHE, HERE, HOP, SAMPLE_RATE
from data import Split, collate, fixed_order


def validate(model, heldout, device, seed=7):
    """Held-out losses of a model, with fixed noise and times."""
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    sums, count = {}, 0
    order = sorted(range(len(heldout.items)), key=lambda i: heldout.items[i]["frames"])
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        for first in range(0, len(order), 8):
            batch = collate(heldout, order[first:first + 8], device)
            rows, frames = batch["mask"].shape
            t = ((torch.arange(rows) + 0.5) / rows).to(device)
            noise = torch.randn(rows, frames // 2, 160, generator=generator).to(device)
            for key, value in model.losses(batch, t, noise, predicted_share=1.0).items():
                sums[key] = sums.get(key, 0.0) + float(value) * rows
            count += rows
    model.train()
    return {key: round(value / count, 4) for key, value in sums.items()}


def widen(model, trained):
    """Loads weights trained on fewer voices; a new voice starts as the mean of the known ones."""
    own = model.state_dict()
    for name, value in trained.items():
        missing = own[name].shape[0] - value.shape[0] if value.dim() else 0
        if missing > 0:
            value = torch.cat([value, value.mean(0, keepdim=True).expand(missing, *value.shape[1:])])
        own[name] = value
    model.load_state_dict(own)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=55.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--budget", type=int, default=3000, help="frames of a batch")
    parser.add_argument("--rate", type=float, default=1.2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-minutes", type=float, default=5.0)
    parser.add_argument("--init", help="acoustic.pt of fewer voices that a new run starts from")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    device, path = torch.device(options.device), os.path.join(CACHE, "acoustic.pt")
    model, average = Acoustic().to(device), Acoustic().to(device)
    if options.init:
        widen(model, torch.load(options.init, map_location=device)["average"])
    average.load_state_dict(model.state_dict())
    # Decay only matrices, not gains and biases, for which it has no meaning.
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=options.rate, betas=(0.9, 0.99), foreach=True)
    step, elapsed, curve, seen = 0, 0.0, [], 0.0
    if options.resume and os.path.exists(path):
        saved = torch.load(path, map_location=device)
        model.load_state_dict(saved["model"])
        average.load_state_dict(saved["average"])
        optimizer.load_state_dict(saved["optimizer"])
        step, elapsed, curve, seen = saved["step"], saved["elapsed"], saved["curve"], saved["hours_seen"]
    train, heldout = Split("train"), Split("heldout")
    hours = sum(item["frames"] for item in train.items) * HOP / SAMPLE_RATE / 3600
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {hours:.2f} h of speech", flush=True)
    rng = random.Random(options.seed + step)
    started, total = time.time() - elapsed, options.minutes * 60.0
    last_save, recent, parameters = time.time(), [], list(model.parameters())
    average_parameters = list(average.parameters())

    def save(validation=True):
        if validation:
            curve.append({"step": step, "minutes": round((time.time() - started) / 60, 2), "hours_seen": round(seen, 2),
                          "heldout": validate(average, heldout, device)})
            print(json.dumps(curve[-1]), flush=True)
        state = {"model": model.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict(),
                 "step": step, "elapsed": time.time() - started, "curve": curve, "hours_seen": seen, "hours": hours}
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
        if options.export:
            subprocess.Popen([sys.executable, os.path.join(HERE, "export.py")])

    batches, stop = [], []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))  # a polite end keeps everything so far
    while True:
        progress = (time.time() - started) / total
        if progress >= 1.0 or stop:
            break
        if not batches:
            batches = fixed_order(train.items, options.budget, rng)
        # The schedule follows the clock, so the run ends annealed regardless of the machine's speed.
        rate = options.rate * min(1.0, (step + 1) / 150.0) * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = collate(train, batches.pop(), device)
        rows, frames = batch["mask"].shape
        # Stratified times: each batch covers 0..1 evenly.
        t = (torch.randperm(rows, device=device) + torch.rand(rows, device=device)) / rows
        noise = torch.randn(rows, frames // 2, 160, device=device)
        with torch.autocast(device.type, torch.bfloat16):
            losses = model.losses(batch, t, noise)
        loss = sum(LOSS_WEIGHTS[key] * value for key, value in losses.items())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        decay = min(0.998, (step + 1) / (step + 20))
        with torch.no_grad():
            torch._foreach_mul_(average_parameters, decay)
            torch._foreach_add_(average_parameters, parameters, alpha=1.0 - decay)
        step += 1
        seen += float(batch["mask"].sum()) * HOP / SAMPLE_RATE / 3600
        recent.append([float(losses[key]) for key in ("flow", "duration", "pitch", "voicing")])
        if step % 50 == 0:
            flow, duration, pitch, voicing = np.mean(recent, 0).round(4).tolist()
            curve.append({"step": step, "minutes": round((time.time() - started) / 60, 2), "hours_seen": round(seen, 2),
                          "train": {"flow": flow, "duration": duration, "pitch": pitch, "voicing": voicing}})
            print(json.dumps(curve[-1]), flush=True)
            recent = []
        if time.time() - last_save > options.save_minutes * 60:
            save()
            last_save = time.time()
    save()
    print(f"done: {step} steps, {seen:.1f} h seen", flush=True)


if __name__ == "__main__":
    main()
