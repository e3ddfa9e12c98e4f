"""Makes checkpoints from shipped graphs, so that training can continue if only those are left:
`from_graphs.py`.

Writes acoustic.pt and vocoder.pt (running averages only, no optimizer) and statistics.npz to the cache, from
models/svc-kk-v1 and from statistics.json next to this script, the normalisation that all weights of that
package were trained with. A matrix has another name and layout in a graph than in the module; tracing a
module with random weights shows which is which, since the same tracer gives the same names. int8 weights are
restored from their steps; exported again, they give the same file."""

import argparse
import json
import os
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import layers
from acoustic import Acoustic
from config import CACHE, HERE, OUTPUT
from export import example_inputs, write_graph
from vocoder import Vocoder


def constants(path):
    """Initializers of a graph by name, as fp32; names omit the suffixes ".half" and ".int8" of weights stored
    in fewer bits."""
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    values = {name.removesuffix(".half"): value.astype(np.float32) for name, value in found.items()}
    for name in [name for name in found if name.endswith(".int8")]:
        whole = name.removesuffix(".int8")
        values[whole] = values.pop(name) * found[whole + ".scale"]
    return values


def find(value, constants):
    """(name, slice of columns) of the constant that contains `value`, alone or next to others; None if none
    does."""
    for name, constant in constants.items():
        if constant.ndim != value.ndim or constant.shape[:-1] != value.shape[:-1]:
            continue
        for start in range(0, constant.shape[-1] - value.shape[-1] + 1, value.shape[-1]):
            columns = slice(start, start + value.shape[-1])
            if np.array_equal(constant[..., columns], value):
                return name, columns
    return None


def recover(module, name, path):
    """State of `module` stored in the graph at `path`, traced as graph `name`."""
    with torch.no_grad():
        for parameter in module.parameters():  # fp16 keeps these, and no two parameters are equal
            parameter.copy_(torch.randn_like(parameter).half().float())
    with tempfile.TemporaryDirectory() as folder:
        traced = os.path.join(folder, "traced.onnx")
        write_graph(module, example_inputs()[name], traced, name)
        random = constants(traced)
    shipped, state = constants(path), {}
    for key, parameter in module.named_parameters():
        value = parameter.detach().numpy()
        flat = value.reshape(value.shape[0], -1) if value.ndim > 1 else value
        place, turned = find(value, random), False
        if place is None and value.ndim > 1:
            place, turned = find(flat.T, random), True
        if place is None:
            raise SystemExit(f"{path} holds nothing like {key}")
        found = shipped[place[0]][..., place[1]]
        state[key] = torch.from_numpy((found.T if turned else found).reshape(value.shape).copy())
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--package", default=OUTPUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers.set_export(True)
    acoustic, vocoder, average = Acoustic(), Vocoder(), {}
    for name, part in (("encoder", "encoder"), ("condition", "condition"), ("step", "decoder")):
        state = recover(getattr(acoustic, part), name, os.path.join(options.package, f"{name}.onnx"))
        average.update({f"{part}.{key}": value for key, value in state.items()})
    os.makedirs(CACHE, exist_ok=True)
    torch.save({"average": average, "step": 0, "elapsed": 0.0, "hours_seen": 0.0, "curve": []}, os.path.join(CACHE, "acoustic.pt"))
    state = recover(vocoder, "vocoder", os.path.join(options.package, "vocoder.onnx"))
    torch.save({"average": state, "step": 0, "elapsed": 0.0, "curve": []}, os.path.join(CACHE, "vocoder.pt"))
    with open(os.path.join(HERE, "statistics.json"), encoding="utf-8") as file:
        statistics = {key: np.array(value, np.float32) for key, value in json.load(file).items()}
    np.savez(os.path.join(CACHE, "statistics.npz"), **statistics)
    print(f"acoustic: {len(average)} tensors, vocoder: {len(state)} tensors, in {CACHE}")


if __name__ == "__main__":
    main()
