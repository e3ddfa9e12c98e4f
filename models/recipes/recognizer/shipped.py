"""Floating weights from the shipped int8 graphs, so that training can continue where no checkpoint is left.

shipped.py CHECKPOINT SHARE OUT.pt      a checkpoint that share of the way from the shipped weights to trained
ones

An int8 weight times its column's scale is the float that it represents. The graphs have their batch norms
folded in, but training needs norms, so they get the statistics of some speech and the gains and offsets that
undo them: until the first step, the network's output equals the graphs', except for the rounding of
activations."""
import os
import sys

import onnx
import torch
from onnx import numpy_helper

import fewer_nodes
from model import Recognizer


def read(path):
    """Contents of a shipped graph: ([(matrix (in, out), bias)] of its int8 products in order, (scale, shift)
    before the last of them, every constant by name, the graph)."""
    graph = fewer_nodes.plain(onnx.load(path)).graph
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    made = {o: n for n in graph.node for o in n.output}
    constant = lambda node: next(values[i] for i in node.input if i in values)
    found, last = [], None
    for node in graph.node:
        # Voice activity is a separate network (../voice-activity).
        if node.op_type == "MatMulInteger" and not node.name.startswith("near."):
            name = node.output[0][:-len(".sum")]
            # The scale in the graph belongs to the sum: the weights' scale times the step of the activations.
            matrix = values[name + ".int8"].astype("float32") * (values[name + ".scale"] / values[name + ".step"])
            found.append((matrix, constant(next(n for n in graph.node if n.op_type == "Add" and name in n.input))))
            last = node
    shift = made[made[last.input[0]].input[0]]
    scale = made[next(i for i in shift.input if i not in values)]
    return found, (constant(scale), constant(shift)), values, graph


def weights(folder):
    """Tensors of the graphs in `folder`: [(matrix (out, in), bias)] of all blocks in order and of the two heads, (scale, shift)
    of the two norms, (mean, deviation) of the log-mel."""
    stream, out_norm, values, _ = read(os.path.join(folder, "stream.onnx"))
    full, full_norm, _, _ = read(os.path.join(folder, "full.onnx"))
    tensor = lambda array: torch.from_numpy(array.copy())
    layer = lambda pair: (tensor(pair[0].T), tensor(pair[1]))
    return dict(blocks=[layer(p) for p in stream[:-1] + full[:-1]], heads=[layer(p) for p in (stream[-1], full[-1])],
                norms=[tuple(map(tensor, pair)) for pair in (out_norm, full_norm)],
                mel=(tensor(values["net.mel_mean"]), tensor(values["net.mel_std"])))


def blocks(model):
    return [model.stem1, model.stem2, *model.causal, *model.centred]


def heads(model):
    """Parameters that the shipped graphs have: their voice activity does not belong to this network."""
    return [model.head, model.full_head]


def recognizer(folder, mel):
    """A Recognizer with the weights of the graphs in `folder`.

    mel: (B, T, 80) log-mel without padding; the batch norms start with its statistics."""
    model, held, handles = Recognizer().eval(), weights(folder), []
    with torch.no_grad():
        model.mel_mean.copy_(held["mel"][0])
        model.mel_std.copy_(held["mel"][1])
        for head, (matrix, bias) in zip(heads(model), held["heads"]):
            head.weight.copy_(matrix)
            head.bias.copy_(bias)
        for block, (matrix, bias) in zip(blocks(model), held["blocks"]):
            block.linear.weight.copy_(matrix)
            # Runs between the product and its norm, which then outputs the product with the graph's bias.
            undo = lambda _m, _i, out, norm=block.norm, bias=bias: undone(norm, out, 1.0, bias)
            handles.append(block.linear.register_forward_hook(undo))
        for norm, (scale, shift) in zip((model.out_norm, model.full_norm), held["norms"]):
            undo = lambda norm, inputs, scale=scale, shift=shift: undone(norm, inputs[0], scale, shift)
            handles.append(norm.register_forward_pre_hook(undo))
        encoded = model.encode(mel)[0]
        model.refine(encoded, torch.ones(encoded.shape[:2]))
        for handle in handles:
            handle.remove()
    return model


def undone(norm, x, scale, shift):
    """Gives a batch norm the statistics of x, and a gain and offset with which it outputs `scale * x +
    shift`."""
    x = x.reshape(-1, x.shape[-1])
    norm.running_mean.copy_(x.mean(0))
    norm.running_var.copy_(x.var(0))
    norm.weight.copy_(scale * torch.sqrt(norm.running_var + norm.eps))
    norm.bias.copy_(shift + scale * norm.running_mean)


def blended(model, folder, share):
    """A Recognizer, not meant for training, whose weights are `share` of the way from the graphs in `folder`
    to those of `model`: what it has learned from new voices costs less of what the shipped weights know.
    @see Wortsman et al., "Robust fine-tuning of zero-shot models", 2022"""
    mine, held, m = model.folded(), weights(folder), Recognizer(model.config).eval()
    mix = lambda ours, theirs: torch.lerp(theirs, ours.detach(), share)
    with torch.no_grad():
        m.mel_mean.copy_(held["mel"][0])
        m.mel_std.copy_(held["mel"][1])
        for head, trained, (matrix, bias) in zip(heads(m), heads(mine), held["heads"]):
            head.weight.copy_(mix(trained.weight, matrix))
            head.bias.copy_(mix(trained.bias, bias))
        for block, trained, (matrix, bias) in zip(blocks(m), blocks(mine), held["blocks"]):
            block.linear.weight.copy_(mix(trained.linear.weight, matrix))
            plain(block.norm, 1.0, mix(trained.linear.bias, bias))
        for norm, trained, theirs in zip((m.out_norm, m.full_norm), (mine.out_norm, mine.full_norm), held["norms"]):
            plain(norm, *(mix(*pair) for pair in zip(trained, theirs)))
    return m


def plain(norm, scale, shift):
    """Turns a batch norm into `scale * x + shift`."""
    norm.running_mean.zero_()
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.copy_(torch.as_tensor(scale).expand_as(norm.weight))
    norm.bias.copy_(shift)


if __name__ == "__main__":
    import export

    checkpoint, share, out = sys.argv[1:4]
    model = blended(export.load(checkpoint)[0], export.MODEL_DIR, float(share))
    torch.save(dict(config=model.config, ema=model.state_dict()), out)
