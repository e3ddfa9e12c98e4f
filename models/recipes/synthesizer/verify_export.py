"""Checks the exported graphs: `verify_export.py [--random] [--runtime DIR]`.

Writes inputs and PyTorch outputs to a temporary folder and runs verify_export.mjs (onnxruntime-node; DIR is
the folder of the installed package) to compare: PyTorch with float graphs, made here; and, of the package's
integer graphs, a padded batch with single rows, bit by bit except for the vocoder, and the vocoder in pieces
with the whole."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch

import layers
from acoustic import CONDITION, HIDDEN
from config import HERE, N_MELS, OUTPUT
from export import GRAPHS, example_inputs, load_models, write_graph


class Writer:
    """Writes tensors to raw files and describes them."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def __call__(self, tensor):
        tensor = tensor.detach().contiguous()
        file = f"{self.count}.bin"
        self.count += 1
        with open(os.path.join(self.folder, file), "wb") as out:
            out.write(tensor.numpy().tobytes())
        return {"dtype": "int64" if tensor.dtype == torch.int64 else "float32", "dims": list(tensor.shape), "file": file}


def padded_batches():
    """Batches of three rows of different length, zero beyond each end, with the true lengths of each input."""
    torch.manual_seed(1)
    tokens, frames = [7, 21, 13], [30, 96, 62]
    encoder = torch.zeros(3, 21, dtype=torch.int64)
    hidden, index = torch.zeros(3, 21, HIDDEN), torch.zeros(3, 96, dtype=torch.int64)
    position, mask = torch.zeros(3, 96, 3), torch.zeros(3, 96)
    x, condition, patch_mask = torch.zeros(3, 48, 2 * N_MELS), torch.zeros(3, 48, CONDITION), torch.zeros(3, 48, 1)
    for row, (n, t) in enumerate(zip(tokens, frames)):
        encoder[row, :n] = torch.randint(1, 50, (n,))
        hidden[row, :n] = torch.randn(n, HIDDEN)
        index[row, :t] = torch.arange(t) * n // t
        position[row, :t] = torch.rand(t, 3)
        mask[row, :t] = 1.0
        x[row, :t // 2] = torch.randn(t // 2, 2 * N_MELS)
        condition[row, :t // 2] = torch.randn(t // 2, CONDITION)
        patch_mask[row, :t // 2] = 1.0
    voice, speed = torch.tensor([0, 1, 0]), torch.tensor([0.0, 0.4, -0.5])
    t, dt = torch.tensor([0.0, 0.5, 0.9]), torch.tensor([0.1, 0.05, 0.1])
    return [
        ("encoder", (encoder, voice, speed), [{"tokens": n} for n in tokens]),
        ("condition", (hidden, index, position, voice, mask),
         [{"hidden": n, "frame_to_token": f, "position": f, "mask": f} for n, f in zip(tokens, frames)]),
        ("step", (x, condition, t, dt, voice, patch_mask),
         [{"x": f // 2, "condition": f // 2, "mask": f // 2} for f in frames])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--models", default=OUTPUT)
    parser.add_argument("--runtime", default="onnxruntime-node")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    acoustic, vocoder, _ = load_models(options.random)
    modules = {"encoder": acoustic.encoder, "condition": acoustic.condition, "step": acoustic.decoder, "vocoder": vocoder}
    with tempfile.TemporaryDirectory() as folder:
        write = Writer(folder)
        cases, examples = [], example_inputs(batch=1, tokens=30, frames=150, seed=3)
        for export_form in (False, True):  # the training form and the exported form against the same graph
            layers.set_export(export_form)
            for name, arguments in examples.items():
                inputs, outputs, _ = GRAPHS[name]
                if export_form:
                    write_graph(modules[name], example_inputs()[name], os.path.join(folder, f"{name}.onnx"), name)
                values = modules[name](*arguments)
                values = values if isinstance(values, tuple) else (values,)
                # f0 is in Hz, so its absolute difference is larger than the others'.
                limit = {"condition": 3e-3, "encoder": 1e-4, "step": 1e-4, "vocoder": 1e-4}[name]
                cases.append({"name": f"{name} ({'exported' if export_form else 'training'} form)", "graph": name,
                              "inputs": {key: write(value) for key, value in zip(inputs, arguments)},
                              "outputs": {key: write(value) for key, value in zip(outputs, values)}, "limit": limit})
        batches = [{"graph": name, "inputs": {key: write(value) for key, value in zip(GRAPHS[name][0], arguments)},
                    "lengths": lengths} for name, arguments, lengths in padded_batches()]
        timing = [{"name": f"{name}, 5.12 s", "graph": name,
                   "inputs": {key: write(value) for key, value in zip(GRAPHS[name][0], arguments)}}
                  for name, arguments in example_inputs(batch=1, tokens=75, frames=480, seed=4).items()]
        for name, value in (("cases", cases), ("batches", batches), ("timing", timing)):
            with open(os.path.join(folder, f"{name}.json"), "w") as file:
                json.dump(value, file)
        result = subprocess.run(["node", os.path.join(HERE, "verify_export.mjs"), folder, options.models, options.runtime])
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
