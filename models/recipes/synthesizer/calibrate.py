"""Scales of the integer products' inputs: `calibrate.py [--sentences 24]` writes activations.json for quantize.py.

Speaks training sentences (none that is held out) with every voice at several speeds and solver steps, looks at what goes
into each product, and takes the range that loses least: the mean square of rounding and clipping together."""

import argparse
import json
import random
import zlib

import numpy as np
import torch

import layers
from config import VOICES
from export import load_models
from quantize import ACTIVATIONS, INTEGER, PARTS, kind_of, node_of
from synthesize import synthesize
from text import training_mix

CUTS = (0.0, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)  # shares of values that a range may leave outside, on each side
KEPT = 1000  # values of one run


class Watch:
    """Keeps the values that enter the integer products."""

    def __init__(self, models):
        self.values = {}
        acoustic, vocoder = models
        for graph, part in PARTS.items():
            module = getattr(acoustic, part) if part else vocoder
            for name, layer in module.named_modules():
                if isinstance(layer, (layers.Conv, layers.Linear)) and kind_of(graph, node_of(name)) == INTEGER:
                    layer.register_forward_pre_hook(self.hook(graph, name))

    def hook(self, graph, name):
        draw = np.random.default_rng(zlib.crc32(f"{graph} {name}".encode()))

        def keep(_, inputs):
            values = inputs[0].detach().reshape(-1)
            chosen = draw.integers(0, len(values), min(KEPT, len(values)))
            self.values.setdefault(graph, {}).setdefault(name, []).append(values[torch.from_numpy(chosen)].numpy())
        return keep


def rounding(values, low, high):
    """(mean square error, step, zero point) of values in a range of 256 steps that contains zero."""
    step = float("%.4g" % ((high - low) / 255))
    zero = int(np.clip(round(-low / step), 0, 255))
    kept = (np.clip(np.rint(values / step) + zero, 0, 255) - zero) * step
    return float(np.square(kept - values).mean()), step, zero


def best_range(values):
    """[step, zero point] with the smallest error over the values."""
    ordered = np.sort(values)
    ends = [int(len(ordered) * cut) for cut in CUTS]
    tried = [rounding(values, min(float(ordered[i]), 0.0), max(float(ordered[-1 - j]), 0.0)) for i in ends for j in ends]
    _, step, zero = min(tried)
    return [step, zero]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=24)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    models = load_models()[:2]
    watch, texts, choice = Watch(models), training_mix(5), random.Random(5)
    for number in range(options.sentences):
        text, voice = next(texts), number % len(VOICES)
        steps, speed = choice.choice([8, 16, 32]), choice.choice([0.6, 1.0, 1.0, 1.0, 1.5])
        synthesize(models, [text], [voice], [speed], steps=steps, seed=number)
        print(f"{VOICES[voice].id}, {steps} steps, speed {speed}: {text}", flush=True)
    result = {graph: {name: best_range(np.concatenate(values)) for name, values in products.items()}
              for graph, products in watch.values.items()}
    with open(ACTIVATIONS, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(
            f' "{graph}": {{\n' + ",\n".join(f'  "{name}": {json.dumps(pair)}' for name, pair in products.items()) + "\n }"
            for graph, products in result.items()) + "\n}\n")


if __name__ == "__main__":
    main()
