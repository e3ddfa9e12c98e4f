"""Writes the graphs and parameter files of the product: `export.py [--random] [--float] [--graphs]`.

Reads the running averages of acoustic.pt and vocoder.pt from the cache (untrained weights where one is
missing), and writes encoder, condition, step and vocoder .onnx with symbols.json, voices.json and
synthesis.json to models/svc-kk-v1. Files are written under another name first and then renamed, so a reader
never sees half of one.

Products are integer or have their matrices stored in 8 bits, as `quantize.py` describes; `--float` keeps them
as floats. Other large matrices are stored as fp16 and widened by a Cast that the runtime folds when it loads
the graph. Inputs and outputs are fp32. `load_models` rounds the same weights to fp16, so PyTorch and the
float graphs hold equal numbers."""

import argparse
import json
import math
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import fixed_transforms
import layers
import quantize
from acoustic import CONDITION, HIDDEN, PATCH, Acoustic
from config import (BASE_RATE, CACHE, DEFAULT_VOICE, F0_MEAN, F0_SCALE, HOP, MAX_RATE, MIN_RATE, N_MELS, OUTPUT,
                    SAMPLE_RATE, SYMBOLS, VOICES)
from vocoder import Vocoder

OPSET = 17
# Times of the solver by number of steps, found by schedules.mjs.
TIMES = {
    "7": [0, 0.0473, 0.1348, 0.2657, 0.4049, 0.6367, 0.8821, 1],
    "8": [0, 0.0163, 0.0845, 0.1778, 0.2986, 0.4444, 0.6797, 0.8966, 1],
    "10": [0, 0.0243, 0.0489, 0.1336, 0.215, 0.276, 0.398, 0.568, 0.7657, 0.9139, 1],
    "12": [0, 0.0163, 0.0498, 0.0821, 0.134, 0.2325, 0.3048, 0.3956, 0.5081, 0.6593, 0.8027, 0.9282, 1],
}
HALF_FROM = 4096  # matrices with at least this many elements are stored as fp16


def round_weights(model):
    """Rounds to fp16, in place, the weights that the exported file will store as fp16."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1 and parameter.numel() >= HALF_FROM:
                parameter.copy_(parameter.half().float())
    return model.eval()


def load_models(random=False, exact=False):
    """(Acoustic, Vocoder, progress) with averaged weights, rounded unless `exact`; progress is a dict of steps and minutes."""
    torch.manual_seed(0)
    models, progress = [], {}
    for name, model in (("acoustic", Acoustic()), ("vocoder", Vocoder())):
        path = os.path.join(CACHE, f"{name}.pt")
        if not random and os.path.exists(path):
            saved = torch.load(path, map_location="cpu")
            model.load_state_dict(saved["average"])
            progress[name] = {"steps": saved["step"], "minutes": round(saved["elapsed"] / 60, 1)}
        models.append(model.eval() if exact else round_weights(model))
    return models[0], models[1], progress


def shrink(model):
    """Stores large fp32 matrices as fp16 followed by a Cast."""
    graph, casts = model.graph, []
    for tensor in list(graph.initializer):
        count = int(np.prod(tensor.dims)) if tensor.dims else 1
        if tensor.data_type != TensorProto.FLOAT or count < HALF_FROM or len(tensor.dims) < 2:
            continue
        values = numpy_helper.to_array(tensor)
        name = tensor.name
        half = numpy_helper.from_array(values.astype(np.float16), name + ".half")
        graph.initializer.remove(tensor)
        graph.initializer.append(half)
        casts.append(helper.make_node("Cast", [name + ".half"], [name], to=TensorProto.FLOAT, name=name + ".widen"))
    nodes = casts + list(graph.node)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def write_graph(module, arguments, path, name, integers=False):
    """Traces a module as graph `name` and writes it with dynamic axes under a temporary name, then renames."""
    inputs, outputs, axes = GRAPHS[name]
    temporary = path + ".new"
    with torch.no_grad():
        torch.onnx.export(module, arguments, temporary, input_names=inputs, output_names=outputs, dynamic_axes=axes,
                          opset_version=OPSET, do_constant_folding=True)
    model = onnx.load(temporary)
    if integers:
        print("%s: %d integer products, %d matrices stored in 8 bits" % (name, *quantize.quantize(model, name)))
    shrink(model)
    fixed_transforms.compact(model)
    onnx.checker.check_model(model)
    onnx.save(model, temporary)
    os.replace(temporary, path)
    return os.path.getsize(path)


def write_json(path, value):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
        file.write("\n")
    os.replace(path + ".new", path)


def example_inputs(batch=2, tokens=9, frames=24, seed=0):
    """Small random inputs of every graph, as a dict of tuples of tensors."""
    generator = torch.Generator().manual_seed(seed)
    rand = lambda *shape: torch.randn(*shape, generator=generator)
    whole = lambda high, *shape: torch.randint(0, high, shape, generator=generator)
    voice, mask = whole(len(VOICES), batch), torch.ones(batch, frames)
    return {
        "encoder": (whole(len(SYMBOLS) - 1, batch, tokens) + 1, voice, 0.3 * rand(batch)),
        "condition": (rand(batch, tokens, HIDDEN), whole(tokens, batch, frames).sort(1)[0], rand(batch, frames, 3).abs(),
                      voice, mask),
        "step": (rand(batch, frames // 2, 2 * N_MELS), rand(batch, frames // 2, CONDITION),
                 torch.rand(batch, generator=generator), torch.full((batch,), 0.1), voice, torch.ones(batch, frames // 2, 1)),
        "vocoder": (rand(batch, frames, N_MELS), 150.0 + 20.0 * rand(batch, frames), torch.rand(batch, frames, generator=generator),
                    rand(batch, frames * HOP), rand(batch, frames * HOP)),
    }


GRAPHS = {
    "encoder": (["tokens", "voice", "log_speed"], ["hidden", "log_duration"],
                {"tokens": {0: "batch", 1: "tokens"}, "voice": {0: "batch"}, "log_speed": {0: "batch"},
                 "hidden": {0: "batch", 1: "tokens"}, "log_duration": {0: "batch", 1: "tokens"}}),
    "condition": (["hidden", "frame_to_token", "position", "voice", "mask"], ["condition", "f0", "voicing"],
                  {"hidden": {0: "batch", 1: "tokens"}, "frame_to_token": {0: "batch", 1: "frames"},
                   "position": {0: "batch", 1: "frames"}, "voice": {0: "batch"}, "mask": {0: "batch", 1: "frames"},
                   "condition": {0: "batch", 1: "patches"}, "f0": {0: "batch", 1: "frames"},
                   "voicing": {0: "batch", 1: "frames"}}),
    "step": (["x", "condition", "t", "dt", "voice", "mask"], ["x_next"],
             {"x": {0: "batch", 1: "patches"}, "condition": {0: "batch", 1: "patches"}, "t": {0: "batch"},
              "dt": {0: "batch"}, "voice": {0: "batch"}, "mask": {0: "batch", 1: "patches"},
              "x_next": {0: "batch", 1: "patches"}}),
    "vocoder": (["mel", "f0", "voicing", "excitation", "noise"], ["pcm"],
                {"mel": {0: "batch", 1: "frames"}, "f0": {0: "batch", 1: "frames"}, "voicing": {0: "batch", 1: "frames"},
                 "excitation": {0: "batch", 1: "samples"}, "noise": {0: "batch", 1: "samples"},
                 "pcm": {0: "batch", 1: "samples"}}),
}


def parameters_file():
    """synthesis.json: all that the engine needs to know about the graphs and that is not in their interfaces.
    """
    return {
        "sample_rate": SAMPLE_RATE, "hop": HOP, "mel_bins": N_MELS, "patch": 2, "hidden": HIDDEN, "condition": CONDITION,
        "storage": "convolution blocks int8 with fixed scales; other matrices 8 bits or fp16, widened at load; interfaces fp32",
        "mel_normalised": "x, mel and the vocoder share one normalisation; the engine applies none",
        "duration": {"frames": "expm1(log_duration)", "rounding": "round the cumulative sum, then difference"},
        "speed": {"log_speed": "ln(speed); speed 1 is %d words per minute" % BASE_RATE,
                  "trained_minimum": MIN_RATE / BASE_RATE, "trained_maximum": MAX_RATE / BASE_RATE},
        "solver": {"method": "euler", "default_steps": 16, "fast_steps": 8,
                   "schedule": "times where steps are listed, else u = i / steps; t = u + s * (cos(pi / 2 * u) - 1 + u)",
                   "sway": -1.0, "times": TIMES},
        "noise_temperature": 0.7,
        "excitation": {"phase": "sum of f0 / sample_rate from the first sample of the utterance, double precision",
                       "f0_centre_samples": 128, "harmonic_limit": 0.48, "power": 1.0},
        "vocoder_context_frames": 10,
        "condition_context_frames": 64,
        "silence": {"edge_ms_in_model": 50, "after_sentence_ms": 250, "after_paragraph_ms": 500,
                    "mel_mean_below": -1.0},  # a frame below it is quieter than -80 dB
        "default_voice": DEFAULT_VOICE, "voices": [voice.id for voice in VOICES],
    }


def melody_file(acoustic):
    """melody.json: the columns of the condition's last layer through which pitch enters, so that the engine
    can change F0 as if it had been predicted that way."""
    weight = acoustic.condition.outputs.weight.detach().numpy()
    first = weight.shape[1] - 2 * PATCH
    return {"logHzPerUnit": F0_SCALE, "lowestHz": round(math.exp(F0_MEAN - 2.2 * F0_SCALE), 1),
            "highestHz": round(math.exp(F0_MEAN + 2.2 * F0_SCALE), 1),
            "columns": [[float(f"{value:.3g}") for value in weight[:, first + frame]] for frame in range(PATCH)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--random", action="store_true", help="untrained weights, for work on the engine")
    parser.add_argument("--float", action="store_true", help="no int8")
    parser.add_argument("--graphs", action="store_true", help="graphs alone, no JSON")
    parser.add_argument("--output", default=OUTPUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    acoustic, vocoder, progress = load_models(options.random, exact=not options.float)
    layers.set_export(True)
    os.makedirs(options.output, exist_ok=True)
    modules = {"encoder": acoustic.encoder, "condition": acoustic.condition, "step": acoustic.decoder, "vocoder": vocoder}
    examples, total = example_inputs(), 0
    for name in GRAPHS:
        size = write_graph(modules[name], examples[name], os.path.join(options.output, f"{name}.onnx"), name, not options.float)
        total += size
        print(f"{name}.onnx {size / 1e6:.2f} MB")
    print(f"total {total / 1e6:.2f} MB, weights from {progress}", flush=True)
    if options.graphs:
        return
    write_json(os.path.join(options.output, "symbols.json"), {"symbols": SYMBOLS})
    write_json(os.path.join(options.output, "voices.json"), {"default": DEFAULT_VOICE, "voices": [
        {"index": index, "id": voice.id, "name": voice.name, "gender": voice.gender, "style": voice.style,
         "best_for": voice.best_for, "language": "kk"} for index, voice in enumerate(VOICES)]})
    write_json(os.path.join(options.output, "synthesis.json"), parameters_file())
    write_json(os.path.join(options.output, "melody.json"), melody_file(acoustic))


if __name__ == "__main__":
    main()
