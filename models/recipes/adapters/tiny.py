"""Code shared by the tiny graphs: random weights that are the same in every run, a plain export, packages
with manifests."""
import os
import sys

import onnx
import torch

from tiny_files import FIXTURES, SEED, write_manifest  # noqa: F401 (recipes import them from here)


def seed(offset=0):
    torch.manual_seed(SEED + offset)


def export(package, file, module, inputs, input_names, output_names, dynamic_axes):
    """Writes FIXTURES/package/file; checks the names of tensors, which are the interface."""
    folder = os.path.join(FIXTURES, package)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file)
    module.eval()
    with torch.no_grad():
        torch.onnx.export(module, inputs, path, input_names=input_names, output_names=output_names,
                          dynamic_axes=dynamic_axes, opset_version=16, do_constant_folding=True)
    model = onnx.load(path)
    assert [i.name for i in model.graph.input] == input_names, [i.name for i in model.graph.input]
    assert [o.name for o in model.graph.output] == output_names, [o.name for o in model.graph.output]
    size = os.path.getsize(path)
    assert size < 100_000, size
    print(f"{package}/{file}: {size} bytes", file=sys.stderr)


def write_tokens(package, symbols):
    with open(os.path.join(FIXTURES, package, "tokens.txt"), "w", encoding="utf-8") as out:
        for number, symbol in enumerate(symbols):
            out.write(f"{symbol} {number}\n")
