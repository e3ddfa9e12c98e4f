"""Checkpoint -> stream.onnx and full.onnx (opset 17, float32, BatchNorm folded, log-mel inside the graph).

stream.onnx: pcm [B, 640 n] in [-1, 1], state [B, S] (zeros at the start) ->
  log_probs [B, n, 71], speech [B, n], encoded [B, n, E], next_state [B, S]
full.onnx: encoded [B, n, E], mask [B, n] (1 valid, 0 padding) -> log_probs [B, n, 71]
"""
import argparse
import json
import os
import warnings

import numpy as np
import torch
from torch import nn

import augment as A
from model import Recognizer

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(HERE, "..", ".cache", "recognizer")
MODEL_DIR = os.path.join(HERE, "..", "..", "svc-kk-ru-v2")
PCM_HISTORY = A.WINDOW - A.HOP


class LogMel(nn.Module):
    """pcm (B, 640 n) and its last 240 samples before -> log-mel (B, 4 n, 80).

    A windowed DFT as one matrix product over the frames: unlike a convolution it rounds a frame the same in any cut of
    the audio, and so do the int8 products after it."""

    def __init__(self):
        super().__init__()
        t = np.arange(A.WINDOW)
        phase = 2 * np.pi * np.arange(A.DFT // 2 + 1)[:, None] * t / A.DFT
        basis = np.concatenate([np.cos(phase), np.sin(phase)]) * A.hann()
        self.register_buffer("basis", torch.tensor(basis.T.copy(), dtype=torch.float32))
        bank = torch.tensor(A.mel_bank())
        self.register_buffer("bank", torch.cat([bank, bank]))  # sums the real and imaginary squares

    def forward(self, pcm):
        # A frame is two and a half hops: [hop i, hop i + 1, half of hop i + 2].
        hops = torch.cat([pcm, torch.zeros_like(pcm[:, :A.HOP // 2])], 1).reshape(pcm.shape[0], -1, A.HOP)
        frames = torch.cat([hops[:, :-2], hops[:, 1:-1], hops[:, 2:, :A.HOP // 2]], 2)
        spec = torch.matmul(frames, self.basis)
        return torch.log(torch.matmul(spec * spec, self.bank) + A.MEL_FLOOR)


class Stream(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.net, self.mel = folded, LogMel()
        self.shapes = folded.state_shapes()
        self.size = PCM_HISTORY + sum(f * c for f, c in self.shapes)

    def forward(self, pcm, state):
        x = torch.cat([state[:, :PCM_HISTORY], pcm], 1)
        parts, at = [], PCM_HISTORY
        for f, c in self.shapes:
            parts.append(state[:, at:at + f * c].reshape(-1, f, c))
            at += f * c
        encoded, logits, speech, after = self.net.encode(self.mel(x), parts)
        after = [x[:, -PCM_HISTORY:]] + [s.flatten(1) for s in after]
        return torch.log_softmax(logits, -1), torch.sigmoid(speech), encoded, torch.cat(after, 1)


class Full(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.net = folded

    def forward(self, encoded, mask):
        return torch.log_softmax(self.net.refine(encoded, mask), -1)


def export(model, folder=MODEL_DIR):
    """Write both graphs; each appears under its final name only when complete."""
    folded = model.folded()
    stream, full = Stream(folded).eval(), Full(folded).eval()
    e = model.config["channels"]
    jobs = [
        (stream, (torch.zeros(2, 640 * 3), torch.zeros(2, stream.size)), "stream.onnx", ["pcm", "state"],
         ["log_probs", "speech", "encoded", "next_state"],
         {"pcm": {0: "batch", 1: "samples"}, "state": {0: "batch"}, "log_probs": {0: "batch", 1: "frames"},
          "speech": {0: "batch", 1: "frames"}, "encoded": {0: "batch", 1: "frames"}, "next_state": {0: "batch"}}),
        (full, (torch.zeros(2, 5, e), torch.ones(2, 5)), "full.onnx", ["encoded", "mask"], ["log_probs"],
         {"encoded": {0: "batch", 1: "frames"}, "mask": {0: "batch", 1: "frames"},
          "log_probs": {0: "batch", 1: "frames"}}),
    ]
    os.makedirs(folder, exist_ok=True)
    for module, args, name, inputs, outputs, axes in jobs:
        path = os.path.join(folder, name)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, args, path + ".part", opset_version=17, input_names=inputs,
                              output_names=outputs, dynamic_axes=axes, do_constant_folding=True)
        os.rename(path + ".part", path)
    return dict(state=stream.size, encoded=e, left_context=model.left_context())


def merge(path, **entries):
    """Set top-level keys of a JSON file."""
    with open(path, encoding="utf-8") as f:
        content = json.load(f)
    content.update(entries)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(content, f, indent=1, ensure_ascii=False)
        f.write("\n")


def load(path):
    """Checkpoint -> (model with averaged weights, checkpoint dictionary)."""
    ck = torch.load(path, map_location="cpu")
    model = Recognizer(ck["config"])
    model.load_state_dict(ck["ema"])
    return model.eval(), ck


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--checkpoint", default=os.path.join(CACHE, "checkpoint.pt"))
    p.add_argument("--out", default=MODEL_DIR)
    p.add_argument("--untrained", action="store_true", help="export a random network, to work on the interface")
    a = p.parse_args()
    torch.manual_seed(0)
    print(export(Recognizer() if a.untrained else load(a.checkpoint)[0], a.out))
