"""Streaming zipformer2 CTC's interface, chunks of 32 frames in windows of 45, one layer. Every cache changes
the output, so that a lost or mixed-up one shows. The caches have the shapes that sherpa-onnx derives from the
metadata."""
import os

import onnx
import torch

import silero_vad
from tiny import FIXTURES, export, seed, write_manifest, write_tokens

PACKAGE = "tiny-zipformer2-ctc"
SYMBOLS = ["<blk>", "<sos/eos>", "<unk>", "▁с", "ә", "л", "е", "м", "▁", "▁дүние", "а", "т", "ы"]
CHUNK, WINDOW, BINS, LEFT = 32, 45, 80, 4
ENCODER_DIM, KERNEL, KEY_DIM, VALUE_DIM, HEADS, HIDDEN = 8, 7, 6, 4, 1, 10
# Layer 0: key, nonlin_attn, val1, val2 have the batch second, conv1 and conv2 first.
CACHES = {"cached_key_0": ((LEFT, 1, KEY_DIM), 1), "cached_nonlin_attn_0": ((1, 1, LEFT, 3 * ENCODER_DIM // 4), 1),
          "cached_val1_0": ((LEFT, 1, VALUE_DIM), 1), "cached_val2_0": ((LEFT, 1, VALUE_DIM), 1),
          "cached_conv1_0": ((1, ENCODER_DIM, KERNEL // 2), 0), "cached_conv2_0": ((1, ENCODER_DIM, KERNEL // 2), 0),
          "embed_states": ((1, 128, 3, 19), 0)}


class Layer(torch.nn.Module):
    def __init__(self, chunk=CHUNK, window=WINDOW, outputs=len(SYMBOLS)):
        super().__init__()
        self.length, self.pad = chunk, window - chunk
        self.chunk = torch.nn.Linear(4 * BINS, HIDDEN)
        self.look = torch.nn.Linear(self.pad * BINS, HIDDEN)
        # Only of the first values, since embed_states is large.
        sizes = {name: min(24, torch.Size(shape).numel()) for name, (shape, _) in CACHES.items()}
        self.memory = torch.nn.ModuleDict({name: torch.nn.Linear(size, HIDDEN) for name, size in sizes.items()})
        self.write = torch.nn.ModuleDict({name: torch.nn.Linear(HIDDEN, size) for name, size in sizes.items()})
        self.head = torch.nn.Linear(HIDDEN, outputs)
        with torch.no_grad():
            self.head.weight *= 8

    def finish(self, encoded):
        return torch.log_softmax(encoded, dim=-1)

    def forward(self, x, *states):
        caches = dict(zip(CACHES, states))
        processed = states[-1]
        h = self.chunk(x[:, :self.length].reshape(-1, self.length // 4, 4 * BINS) / 10)
        seen = self.look(x[:, self.length:].reshape(-1, 1, self.pad * BINS) / 10)
        flat = {name: batch_first(value, CACHES[name][1]).flatten(1) for name, value in caches.items()}
        for name, value in flat.items():
            seen = seen + self.memory[name](value[:, :self.memory[name].in_features]).unsqueeze(1)
        h = torch.tanh(h + seen + 0.01 * processed.to(x.dtype).reshape(-1, 1, 1))
        summary = torch.tanh(h.mean(dim=1))
        written = []
        for name, value in flat.items():
            shape, axis = CACHES[name]
            fresh = 0.5 * value[:, :self.memory[name].in_features] + self.write[name](summary)
            whole = torch.cat([fresh, value[:, self.memory[name].in_features:]], dim=1)
            rest = [size for at, size in enumerate(shape) if at != axis]
            written.append(batch_at(whole.reshape(-1, *rest), axis))
        return (self.finish(self.head(h)), *written, processed + self.length // 2)


def batch_first(value, axis):
    return value if axis == 0 else value.transpose(0, 1)


def batch_at(value, axis):
    return value if axis == 0 else value.transpose(0, 1)


def metadata(chunk, window):
    """Metadata from which sherpa-onnx makes the caches."""
    return {"model_type": "zipformer2", "encoder_dims": ENCODER_DIM, "query_head_dims": KEY_DIM, "value_head_dims": VALUE_DIM,
            "num_heads": HEADS, "num_encoder_layers": 1, "cnn_module_kernels": KERNEL, "left_context_len": LEFT, "T": window,
            "decode_chunk_len": chunk}


def export_encoder(package, file, module, window, output):
    inputs = (torch.randn(1, window, BINS), *[torch.zeros(shape) for shape, _ in CACHES.values()],
              torch.zeros(1, dtype=torch.int64))
    names = [*CACHES, "processed_lens"]
    axes = {name: {axis: "N"} for name, (_, axis) in CACHES.items()}
    axes["processed_lens"] = {0: "N"}
    export(package, file, module, inputs, ["x", *names], [output, *[f"new_{name}" for name in names]],
           {"x": {0: "N"}, output: {0: "N"}, **axes, **{f"new_{name}": value for name, value in axes.items()}})


def main():
    seed(2)
    export_encoder(PACKAGE, "model.onnx", Layer(), WINDOW, "log_probs")
    path = os.path.join(FIXTURES, PACKAGE, "model.onnx")
    model = onnx.load(path)
    for key, value in metadata(CHUNK, WINDOW).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, str(value)
    onnx.save(model, path)
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "zipformer2-ctc", "languages": ["kk"], "sampleRateHz": 16000,
                             "melBins": BINS, "windowFrames": WINDOW, "shiftFrames": CHUNK},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
