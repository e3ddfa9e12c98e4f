"""Trains the vocoder: `train_vocoder.py --minutes 10 [--device cuda] [--resume]`.

With --design, trains one of vocoder_designs.py in its place, into a separate file (--checkpoint). --clock
processor counts only the time that this process had on the processor, so that trainings on a shared machine
get equal amounts."""

import argparse
import json
import math
import os
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

from config import CACHE, F0_MEAN, F0_SCALE, HOP
from data import Split, crop
from excitation import excitation_tensors
from vocoder_designs import DESIGNS


def spectral_loss(output, target):
    """Multi-resolution STFT loss: spectral convergence + L1 of log magnitude over four window lengths."""
    total = 0.0
    for size in (256, 512, 1024, 2048):
        window = torch.hann_window(size, device=output.device)
        a, b = (torch.stft(x, size, size // 4, window=window, return_complex=True).abs() for x in (output, target))
        total = total + torch.linalg.norm(b - a) / torch.linalg.norm(b).clamp(min=1e-3)
        total = total + F.l1_loss(torch.log(a + 1e-4), torch.log(b + 1e-4))
    return total / 4.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--design", choices=DESIGNS, default="harmonic")
    parser.add_argument("--checkpoint", default="vocoder.pt", help="file in the cache")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16",
                        help="fp32 is faster on a processor without AMX")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--frames", type=int, default=96)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--init", help="vocoder.pt whose averaged weights a new run starts from")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    device, path = torch.device(options.device), os.path.join(CACHE, options.checkpoint)
    now = time.time if options.clock == "wall" else time.process_time
    model, average = (DESIGNS[options.design]().to(device) for _ in range(2))
    if options.init:
        model.load_state_dict(torch.load(options.init, map_location=device)["average"])
    average.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.99), weight_decay=0.01)
    step, elapsed, curve = 0, 0.0, []
    if options.resume and os.path.exists(path):
        saved = torch.load(path, map_location=device)
        model.load_state_dict(saved["model"])
        average.load_state_dict(saved["average"])
        optimizer.load_state_dict(saved["optimizer"])
        step, elapsed, curve = saved["step"], saved["elapsed"], saved["curve"]
    train = Split("train")
    rng = random.Random(options.seed + step)
    started, total, recent, last_save = now() - elapsed, options.minutes * 60.0, [], time.time()

    def save():
        state = {"model": model.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict(),
                 "step": step, "elapsed": now() - started, "curve": curve}
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)

    while True:
        progress = (now() - started) / total
        if progress >= 1.0:
            break
        # The schedule follows the clock, so the run ends annealed regardless of the machine's speed.
        rate = options.rate * min(1.0, (step + 1) / 50.0) * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        mel, f0, pcm = (x.to(device) for x in crop(train, rng, options.batch, options.frames))
        # The acoustic model's output is not exact: add a little noise to the features, less than is audible.
        mel = mel + 0.05 * torch.randn_like(mel)
        hertz = torch.exp(f0[:, :, 0] * F0_SCALE + F0_MEAN)
        pulses, white = excitation_tensors(hertz, options.seed * 1_000_003 + step)
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            predicted = model.predict(mel, hertz, f0[:, :, 1])
        output = model.render(*predicted, pulses, white)
        edge = 4 * HOP  # frames without their context do not count
        loss = spectral_loss(output[:, edge:-edge], pcm[:, edge:-edge])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        decay = min(0.998, (step + 1) / (step + 20))
        with torch.no_grad():
            for a, b in zip(average.parameters(), model.parameters()):
                a.lerp_(b, 1.0 - decay)
        step += 1
        recent.append(loss.item())
        if step % 50 == 0:
            curve.append({"step": step, "minutes": round((now() - started) / 60, 2),
                          "loss": round(float(np.mean(recent)), 4)})
            print(json.dumps(curve[-1]), flush=True)
            recent = []
        if time.time() - last_save > 120:
            save()
            last_save = time.time()
    save()
    print(f"done: {step} steps", flush=True)


if __name__ == "__main__":
    main()
