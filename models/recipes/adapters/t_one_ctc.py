"""T-one's interface: chunks of 300 ms at 8 kHz as integers, ten rows of 30 ms per run, and its whole memory
in one half-precision state. The state has the published length, though only its first values are used."""
import os

import onnx
import torch

import silero_vad
from tiny import FIXTURES, export, seed, write_manifest, write_tokens

PACKAGE = "tiny-t-one-ctc"
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
SYMBOLS = [*LETTERS, "ё", " ", "<blk>"]
CHUNK, ROWS, STATE, WIDTH = 2400, 10, 219_729, 24


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.row = torch.nn.Linear(CHUNK // ROWS, WIDTH)
        self.before = torch.nn.Linear(WIDTH, WIDTH)
        self.write = torch.nn.Linear(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, len(SYMBOLS))
        with torch.no_grad():
            self.head.weight *= 12

    def forward(self, signal, state):
        x = signal[:, :, 0].to(torch.float32).reshape(-1, ROWS, CHUNK // ROWS) / 3_276.7
        memory = state[:, :WIDTH].to(torch.float32)
        h = torch.tanh(self.row(x) + self.before(memory).unsqueeze(1))
        written = 0.5 * memory + torch.tanh(self.write(h.mean(dim=1)))
        state_next = torch.cat([written.to(torch.float16), state[:, WIDTH:]], dim=1)
        return torch.log_softmax(self.head(h), dim=-1), state_next


def fix_dims(path):
    """The exporter of T-one also fixes these dimensions after the export."""
    model = onnx.load(path)
    logprobs, state = model.graph.output
    for dim, value in zip(logprobs.type.tensor_type.shape.dim[1:], (ROWS, len(SYMBOLS))):
        dim.dim_value = value
    state.type.tensor_type.shape.dim[1].dim_value = STATE
    # Metadata that sherpa-onnx reads.
    for key, value in {"frame_length_ms": 300, "state_dim": STATE, "sample_rate": 8000}.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, str(value)
    onnx.save(model, path)


def main():
    seed(5)
    inputs = (torch.randint(-32767, 32767, (1, CHUNK, 1), dtype=torch.int32), torch.zeros(1, STATE, dtype=torch.float16))
    names, outputs = ["signal", "state"], ["logprobs", "state_next"]
    export(PACKAGE, "model.onnx", Encoder(), inputs, names, outputs, {name: {0: "batch_size"} for name in names + outputs})
    fix_dims(os.path.join(FIXTURES, PACKAGE, "model.onnx"))
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "t-one-ctc", "languages": ["ru"], "sampleRateHz": 16000},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
