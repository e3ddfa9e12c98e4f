"""stream.onnx -> the same network with sherpa-onnx's streaming NeMo CTC interface, and tokens.txt next to it.

The interface provides Kaldi's log-mel features (povey window, preemphasis, centred frames), whereas our graph
computes its own from PCM; both have 80 HTK filters from 20 to 7600 Hz. A gain for each filter, measured on
noise, and our floor convert one into the other. All weights, and the state of every convolution, are those of
the shipped graph; its bytes become floats here, the only type that the interface supports.

audio_signal [B, 80, T], length [B], cache_last_channel [B, 1, 1, 1] (not used), cache_last_time [B, 1, 1, S],
cache_last_channel_len [B] -> logprobs [B, T / 4, 71], encoded_lengths [B] and the caches. T = 4 frames of
40 ms.
"""
import argparse
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "recipes")
sys.path.insert(0, os.path.join(RECIPES, "recognizer"))
from fewer_nodes import plain

RATE, HOP, WINDOW, DFT, MELS = 16000, 160, 400, 512, 80
FLOOR = 1e-4  # floor of our log-mel
PCM_HISTORY = WINDOW - HOP


def filters():
    """(257, 80) triangular HTK filters."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = 700 * (10 ** (np.linspace(to_mel(20), to_mel(7600), MELS + 2) / 2595) - 1)
    f = np.arange(DFT // 2 + 1) * RATE / DFT
    low, mid, high = edges[:-2], edges[1:-1], edges[2:]
    return np.maximum(0, np.minimum((f[:, None] - low) / (mid - low), (high - f[:, None]) / (high - mid)))


def kaldi_filters():
    """The same filters, triangular on the mel axis instead of the frequency axis."""
    to_mel = lambda f: 1127 * np.log(1 + f / 700)
    edges = np.linspace(to_mel(20), to_mel(7600), MELS + 2)
    m = to_mel(np.arange(DFT // 2 + 1) * RATE / DFT)
    low, mid, high = edges[:-2], edges[1:-1], edges[2:]
    return np.maximum(0, np.minimum((m[:, None] - low) / (mid - low), (high - m[:, None]) / (high - mid)))


def gains():
    """(80,) our mel power over Kaldi's, on white noise."""
    frames = np.random.default_rng(0).standard_normal((4000, WINDOW)) * 0.1
    n = np.arange(WINDOW)
    ours = np.abs(np.fft.rfft(frames * (0.5 - 0.5 * np.cos(2 * np.pi * n / WINDOW)), DFT)) ** 2 @ filters()
    x = frames - frames.mean(1, keepdims=True)
    x = x - 0.97 * np.concatenate([x[:, :1], x[:, :-1]], 1)
    povey = (0.5 - 0.5 * np.cos(2 * np.pi * n / (WINDOW - 1))) ** 0.85
    kaldi = np.abs(np.fft.rfft(x * povey, DFT)) ** 2 @ kaldi_filters()
    return (ours.mean(0) / kaldi.mean(0)).astype(np.float32)


def wrap(model, chunk_frames):
    graph = model.graph
    mel = next(n for n in graph.node if n.op_type == "Log").output[0]
    join = next(n for n in graph.node if "next_state" in n.output)
    history = next(n for n in graph.node if n.op_type == "Slice" and n.input[0] == "state")
    # The PCM before a chunk has no meaning here, so that part of the state stays unchanged.
    join.input[0] = history.output[0]
    floats, byte_count = (next(i for i in graph.input if i.name == name).type.tensor_type.shape.dim[1].dim_value
                          for name in ("state", "history"))
    size = floats + byte_count  # the interface carries floats only
    constants = [
        h.make_tensor("peer_split", T.INT64, [2], [floats, byte_count]),
        h.make_tensor("peer_gain", T.FLOAT, [MELS], gains()),
        h.make_tensor("peer_floor", T.FLOAT, [], [FLOOR]),
        h.make_tensor("peer_flat", T.INT64, [2], [-1, size]),
        h.make_tensor("peer_deep", T.INT64, [4], [-1, 1, 1, size]),
        h.make_tensor("peer_four", T.INT64, [], [4]),
    ]
    before = [
        h.make_node("Transpose", ["audio_signal"], ["peer_features"], perm=[0, 2, 1]),
        h.make_node("Exp", ["peer_features"], ["peer_power"]),
        h.make_node("Mul", ["peer_power", "peer_gain"], ["peer_scaled"]),
        h.make_node("Add", ["peer_scaled", "peer_floor"], ["peer_floored"]),
        h.make_node("Log", ["peer_floored"], [mel]),
        h.make_node("Reshape", ["cache_last_time", "peer_flat"], ["peer_states"]),
        h.make_node("Split", ["peer_states", "peer_split"], ["state", "peer_history"], axis=1),
        h.make_node("Cast", ["peer_history"], ["history"], to=T.UINT8),
    ]
    after = [
        h.make_node("Identity", ["log_probs"], ["logprobs"]),
        h.make_node("Div", ["length", "peer_four"], ["encoded_lengths"]),
        h.make_node("Identity", ["cache_last_channel"], ["cache_last_channel_next"]),
        h.make_node("Cast", ["next_history"], ["peer_next_history"], to=T.FLOAT),
        h.make_node("Concat", ["next_state", "peer_next_history"], ["peer_next_states"], axis=1),
        h.make_node("Reshape", ["peer_next_states", "peer_deep"], ["cache_last_time_next"]),
        h.make_node("Identity", ["cache_last_channel_len"], ["cache_last_channel_len_next"]),
    ]
    made = {o: n for n in graph.node for o in n.output if o != mel}
    needed, todo = set(), ["log_probs", "next_state", "next_history"]
    while todo:
        node = made.get(todo.pop())
        if node is not None and id(node) not in needed:
            needed.add(id(node))
            todo.extend(node.input)
    nodes = before + [n for n in graph.node if id(n) in needed] + after
    used = {i for n in nodes for i in n.input}
    value = h.make_tensor_value_info
    inputs = [
        value("audio_signal", T.FLOAT, ["B", MELS, "T"]), value("length", T.INT64, ["B"]),
        value("cache_last_channel", T.FLOAT, ["B", 1, 1, 1]), value("cache_last_time", T.FLOAT, ["B", 1, 1, size]),
        value("cache_last_channel_len", T.INT64, ["B"]),
    ]
    outputs = [
        value("logprobs", T.FLOAT, ["B", "n", 71]), value("encoded_lengths", T.INT64, ["B"]),
        value("cache_last_channel_next", T.FLOAT, ["B", 1, 1, 1]),
        value("cache_last_time_next", T.FLOAT, ["B", 1, 1, size]),
        value("cache_last_channel_len_next", T.INT64, ["B"]),
    ]
    weights = [w for w in graph.initializer if w.name in used] + constants
    wrapped = h.make_model(h.make_graph(nodes, "peer", inputs, outputs, weights),
                           opset_imports=model.opset_import, ir_version=8)
    metadata = dict(window_size=4 * chunk_frames, chunk_shift=4 * chunk_frames, subsampling_factor=4, vocab_size=70,
                    cache_last_channel_dim1=1, cache_last_channel_dim2=1, cache_last_channel_dim3=1,
                    cache_last_time_dim1=1, cache_last_time_dim2=1, cache_last_time_dim3=size)
    h.set_model_props(wrapped, {k: str(v) for k, v in metadata.items()})
    onnx.checker.check_model(wrapped)
    return wrapped


def write_tokens(model, out):
    with open(os.path.join(model, "vocabulary.json"), encoding="utf-8") as f:
        vocabulary = json.load(f)
    with open(os.path.join(out, "tokens.txt"), "w", encoding="utf-8") as f:
        for i, token in enumerate(vocabulary):
            f.write(f"{'<blk>' if i == 0 else '▁' if token == ' ' else token} {i}\n")


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True, help="folder of the recogniser package")
    p.add_argument("--out", required=True)
    p.add_argument("--chunks", type=int, nargs="+", default=[1, 2, 4, 8], help="frames of 40 ms a step")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    for chunk in a.chunks:
        model = plain(onnx.load(os.path.join(a.model, "stream.onnx")))
        onnx.save(wrap(model, chunk), os.path.join(a.out, f"chunk{chunk}.onnx"))
    write_tokens(a.model, a.out)
