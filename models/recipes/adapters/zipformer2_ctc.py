"""Streaming zipformer2 CTC's interface, chunks of 32 frames in windows of 45, one layer. Every cache changes the output, so that one
that is lost or mixed up shows."""
import torch

import silero_vad
from tiny import export, seed, write_manifest, write_tokens

PACKAGE = "tiny-zipformer2-ctc"
SYMBOLS = ["<blk>", "<sos/eos>", "<unk>", "▁с", "ә", "л", "е", "м", "▁", "▁дүние", "а", "т", "ы"]
CHUNK, WINDOW, BINS, LEFT = 32, 45, 80, 4
# Layer 0: key, nonlin_attn, val1, val2 have the batch second, conv1 and conv2 first.
CACHES = {"cached_key_0": ((LEFT, 1, 6), 1), "cached_nonlin_attn_0": ((1, 1, LEFT, 5), 1), "cached_val1_0": ((LEFT, 1, 4), 1),
          "cached_val2_0": ((LEFT, 1, 4), 1), "cached_conv1_0": ((1, 8, 3), 0), "cached_conv2_0": ((1, 8, 3), 0),
          "embed_states": ((1, 2, 3, 4), 0)}


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.chunk = torch.nn.Linear(4 * BINS, 12)
        self.look = torch.nn.Linear((WINDOW - CHUNK) * BINS, 12)
        self.memory = torch.nn.ModuleDict({name: torch.nn.Linear(torch.Size(shape).numel(), 12)
                                           for name, (shape, _) in CACHES.items()})
        self.write = torch.nn.ModuleDict({name: torch.nn.Linear(12, torch.Size(shape).numel())
                                          for name, (shape, _) in CACHES.items()})
        self.head = torch.nn.Linear(12, len(SYMBOLS))
        with torch.no_grad():
            self.head.weight *= 8

    def forward(self, x, *states):
        caches = dict(zip(CACHES, states))
        processed = states[-1]
        h = self.chunk(x[:, :CHUNK].reshape(-1, CHUNK // 4, 4 * BINS) / 10)
        seen = self.look(x[:, CHUNK:].reshape(-1, 1, (WINDOW - CHUNK) * BINS) / 10)
        for name, value in caches.items():
            seen = seen + self.memory[name](value.reshape(-1, 1, torch.Size(CACHES[name][0]).numel()))
        h = torch.tanh(h + seen + 0.01 * processed.to(x.dtype).reshape(-1, 1, 1))
        summary = torch.tanh(h.mean(dim=1))
        written = [0.5 * caches[name] + self.write[name](summary).reshape(shape)
                   for name, (shape, _) in CACHES.items()]
        return (torch.log_softmax(self.head(h), dim=-1), *written, processed + CHUNK // 2)


def main():
    seed(2)
    inputs = (torch.randn(1, WINDOW, BINS), *[torch.zeros(shape) for shape, _ in CACHES.values()],
              torch.zeros(1, dtype=torch.int64))
    names = [*CACHES, "processed_lens"]
    axes = {name: {axis: "N"} for name, (_, axis) in CACHES.items()}
    axes["processed_lens"] = {0: "N"}
    export(PACKAGE, "model.onnx", Layer(), inputs, ["x", *names], ["log_probs", *[f"new_{name}" for name in names]],
           {"x": {0: "N"}, "log_probs": {0: "N"}, **axes, **{f"new_{name}": value for name, value in axes.items()}})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "zipformer2-ctc", "languages": ["kk"], "sampleRateHz": 16000,
                             "melBins": BINS, "windowFrames": WINDOW, "shiftFrames": CHUNK},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
