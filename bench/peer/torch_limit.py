#!/usr/bin/env python3
"""Time that a device itself needs for our graphs, run in torch op by op and as one CUDA graph.

    torch_limit.py SYNTHESIZER_FOLDER RECOGNIZER_FOLDER OUT.json [--dry]

The graphs are those of `gpu` in the packages' manifests. OUT: a list of {graph, kind, sizes, eager_ms,
cuda_graph_ms}, kinds fp32 and tf32. Exits with 1 without a device; `--dry` runs the smallest sizes of all
graphs on the CPU and writes nothing.
"""
import json
import os
import sys
import time

import numpy as np
import onnx
import torch
from onnx import numpy_helper

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float32}
RUNS = 50


class Graph:
    """Keeps shape arithmetic on the CPU, so that a capture has nothing to wait for."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.inputs = {value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.input}
        self.kinds = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        self.outputs = [value.name for value in graph.output]
        self.constants = {tensor.name: self.placed(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
        self.nodes = []
        for node in graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            name = node.output[0]
            if node.op_type == "Constant":
                self.constants[name] = self.placed(numpy_helper.to_array(attributes["value"]))
            elif node.op_type == "Cast" and node.input[0] in self.constants and self.constants[node.input[0]].dim() > 0:
                self.constants[name] = self.constants[node.input[0]].to(DEVICE, KINDS[attributes["to"]])
            else:
                self.nodes.append((node.op_type, list(node.input), list(node.output), attributes))

    @staticmethod
    def placed(array):
        tensor = torch.from_numpy(np.array(array))
        return tensor.to(DEVICE, torch.float32) if tensor.is_floating_point() else tensor

    def __call__(self, feeds):
        values = {**self.constants, **feeds}
        for op, names, outputs, attributes in self.nodes:
            given = [values[name] if name else None for name in names]
            if op in ("Add", "Sub", "Mul", "Div", "Equal", "Greater", "Mod", "Where", "MatMul") and any(x.is_cuda for x in given):
                given = [x.to(DEVICE) if x.dim() == 0 or not x.is_cuda else x for x in given]
            results = getattr(self, "op_" + op)(attributes, *given)
            values.update(zip(outputs, results if isinstance(results, (list, tuple)) else [results]))
        return [values[name] for name in self.outputs]

    op_Add = staticmethod(lambda a, x, y: x + y)
    op_Sub = staticmethod(lambda a, x, y: x - y)
    op_Mul = staticmethod(lambda a, x, y: x * y)
    op_Div = staticmethod(lambda a, x, y: x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"))
    op_Mod = staticmethod(lambda a, x, y: torch.fmod(x, y) if a.get("fmod") else torch.remainder(x, y))
    op_MatMul = staticmethod(lambda a, x, y: torch.matmul(x, y))
    op_Concat = staticmethod(lambda a, *x: torch.cat([part.to(x[0].device) for part in x], a["axis"]))
    op_Erf = staticmethod(lambda a, x: torch.erf(x))
    op_Relu = staticmethod(lambda a, x: torch.relu(x))
    op_Exp = staticmethod(lambda a, x: torch.exp(x))
    op_Log = staticmethod(lambda a, x: torch.log(x))
    op_Sin = staticmethod(lambda a, x: torch.sin(x))
    op_Cos = staticmethod(lambda a, x: torch.cos(x))
    op_Sigmoid = staticmethod(lambda a, x: torch.sigmoid(x))
    op_Equal = staticmethod(lambda a, x, y: x == y)
    op_Greater = staticmethod(lambda a, x, y: x > y)
    op_Where = staticmethod(lambda a, c, x, y: torch.where(c, x, y))
    op_LogSoftmax = staticmethod(lambda a, x: torch.log_softmax(x, a.get("axis", -1)))
    op_Transpose = staticmethod(lambda a, x: x.permute(a["perm"]))
    op_Shape = staticmethod(lambda a, x: torch.tensor(x.shape[a.get("start", 0):a.get("end")]))
    op_Range = staticmethod(lambda a, x, y, by: torch.arange(int(x), int(y), int(by)))
    op_Flatten = staticmethod(lambda a, x: x.flatten(a.get("axis", 1)))
    op_GatherElements = staticmethod(lambda a, x, at: torch.gather(x, a["axis"], at.to(x.device)))
    op_LayerNormalization = staticmethod(
        lambda a, x, scale, bias: torch.nn.functional.layer_norm(x, scale.shape, scale, bias, a.get("epsilon", 1e-5)))

    @staticmethod
    def op_Split(a, x, sizes=None):
        return torch.split(x, sizes.tolist(), a.get("axis", 0))

    @staticmethod
    def op_Clip(a, x, low=None, high=None):
        return torch.clamp(x, None if low is None else float(low), None if high is None else float(high))

    @staticmethod
    def op_Cast(a, x):
        return x.to(DEVICE if a["to"] == 1 and x.dim() > 0 else x.device, KINDS[a["to"]])

    @staticmethod
    def op_Reshape(a, x, shape):
        return x.reshape([x.shape[at] if size == 0 else size for at, size in enumerate(shape.tolist())])

    @staticmethod
    def op_Unsqueeze(a, x, axes):
        for axis in sorted(axes.reshape(-1).tolist()):
            x = x.unsqueeze(axis)
        return x

    @staticmethod
    def op_Squeeze(a, x, axes=None):
        return x.squeeze() if axes is None else x.squeeze(int(axes))

    @staticmethod
    def op_Gather(a, x, at):
        axis = a.get("axis", 0)
        at = torch.where(at < 0, at + x.shape[axis], at).to(x.device)
        return torch.index_select(x, axis, at.reshape(-1)).reshape(x.shape[:axis] + at.shape + x.shape[axis + 1:])

    @staticmethod
    def op_Slice(a, x, starts, ends, axes=None, steps=None):
        lists = [part.reshape(-1).tolist() for part in (starts, ends)]
        for at, (start, end) in enumerate(zip(*lists)):
            axis = int(axes.reshape(-1)[at]) if axes is not None else at
            by = 1 if steps is None else int(steps.reshape(-1)[at])
            if by == -1:
                x = x.flip(axis)
                start, end = -1 - start, -1 - end if end >= -x.shape[axis] else x.shape[axis]
            size = x.shape[axis]
            start, end = (min(max(place + size if place < 0 else place, 0), size) for place in (start, end))
            x = x.narrow(axis, start, max(end - start, 0))
            if by > 1:
                x = x[(slice(None),) * (axis % x.dim()) + (slice(None, None, by),)]
        return x

    @staticmethod
    def op_Pad(a, x, pads, value=None):
        pads = pads.reshape(-1).tolist()
        count = len(pads) // 2
        sides = [side for axis in reversed(range(count)) for side in (pads[axis], pads[axis + count])]
        return torch.nn.functional.pad(x, sides, value=0.0 if value is None else float(value))

    @staticmethod
    def op_ConstantOfShape(a, shape):
        value = numpy_helper.to_array(a["value"]) if "value" in a else np.zeros(1, np.float32)
        is_float = value.dtype.kind == "f"
        return torch.full(shape.tolist(), value.item(), dtype=torch.float32 if is_float else torch.int64, device=DEVICE if is_float else "cpu")

    @staticmethod
    def op_Expand(a, x, shape):
        return x.expand(np.broadcast_shapes(tuple(x.shape), tuple(shape.tolist())))


def sizes_of(graph):
    """Returns the sizes of each graph, the smallest first."""
    if graph == "step":
        return [dict(batch=rows, patches=patches) for patches in (64, 192) for rows in (1, 4, 16, 64)]
    if graph == "stream":
        return [dict(batch=rows, samples=640) for rows in (1, 8, 32, 128, 256)]
    if graph == "full":
        return [dict(batch=rows, frames=250) for rows in (1, 16)]
    if graph == "vocoder":
        return [dict(batch=rows, frames=148, samples=148 * 256) for rows in (1, 4, 16)]
    if graph == "encoder":
        return [dict(batch=1, tokens=80)]
    return [dict(batch=1, tokens=80, frames=384)]


def feeds_of(graph, sizes):
    generator = torch.Generator().manual_seed(1)
    feeds = {}
    for name, dims in graph.inputs.items():
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims]
        if graph.kinds[name] == 7:
            feeds[name] = torch.zeros(shape, dtype=torch.int64).to(DEVICE)
        elif name in ("mask", "voicing"):
            feeds[name] = torch.ones(shape).to(DEVICE)
        elif name in ("state", "log_speed"):
            feeds[name] = torch.zeros(shape).to(DEVICE)
        else:
            feeds[name] = (torch.randn(shape, generator=generator) * (180 if name == "f0" else 0.5)).abs().to(DEVICE)
    return feeds


def timed(call):
    starts, ends = ([torch.cuda.Event(enable_timing=True) for _ in range(RUNS)] for _ in range(2))
    for start, end in zip(starts, ends):
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return float(np.median([start.elapsed_time(end) for start, end in zip(starts, ends)]))


def measure(graph, sizes):
    feeds = feeds_of(graph, sizes)
    for _ in range(3):
        graph(feeds)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(5):
        graph(feeds)
    torch.cuda.synchronize()
    eager = (time.perf_counter() - began) / 5 * 1000
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        graph(feeds)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        graph(feeds)
    return dict(eager_ms=round(eager, 3), cuda_graph_ms=round(timed(captured.replay), 4))


def main(arguments):
    dry = "--dry" in arguments
    *folders, target = [argument for argument in arguments if argument != "--dry"]
    if DEVICE == "cpu" and not dry:
        sys.exit("torch %s sees no CUDA device" % torch.__version__)
    lines = []
    for kind in ("fp32",) if dry else ("fp32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        for folder in folders:
            with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
                files = json.load(file)["files"]
            for name, file in files.items():
                if "gpu" not in file:
                    continue
                graph = Graph(os.path.join(folder, file["gpu"]["path"]))
                for sizes in sizes_of(name)[:1 if dry else None]:
                    line = dict(graph=name, kind=kind, sizes=sizes)
                    try:
                        with torch.no_grad():
                            if dry:
                                line["outputs"] = [list(output.shape) for output in graph(feeds_of(graph, sizes))]
                            else:
                                line.update(measure(graph, sizes))
                    except Exception as error:  # one graph that fails leaves the others' figures
                        if dry:
                            raise
                        line["error"] = repr(error)[:300]
                    print(json.dumps(line), flush=True)
                    lines.append(line)
    if not dry:
        with open(target, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)


main(sys.argv[1:])
