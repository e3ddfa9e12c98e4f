"""Streaming zipformer2 transducer's interface, chunks of 64 frames in windows of 77, one layer, a decoder of
two tokens. The encoder is that of the CTC package with another head; the joiner is sharp, so that tokens
depend on the audio and on each other."""
import os

import onnx
import torch

import silero_vad
import zipformer2_ctc
from tiny import FIXTURES, export, seed, write_manifest, write_tokens

PACKAGE = "tiny-zipformer2-transducer"
SYMBOLS = ["<blk>", "<sos/eos>", "<unk>", "▁с", "а", "л", "е", "м", "▁", "▁мир", "о", "т", "ы", "▁на"]
CHUNK, WINDOW, BINS, WIDTH, CONTEXT = 64, 77, 80, 20, 2


class Encoder(zipformer2_ctc.Layer):
    def __init__(self):
        super().__init__(chunk=CHUNK, window=WINDOW, outputs=WIDTH)

    def finish(self, encoded):
        return encoded


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(SYMBOLS), 8)
        self.context = torch.nn.Conv1d(8, 8, CONTEXT, bias=False)
        self.out = torch.nn.Linear(8, WIDTH)

    def forward(self, y):
        embedded = self.embedding(y.clamp(min=0)) * (y >= 0).unsqueeze(-1)
        return self.out(torch.relu(self.context(embedded.transpose(1, 2)).squeeze(-1)))


class Joiner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(WIDTH, len(SYMBOLS))
        with torch.no_grad():
            self.out.weight *= 12
            self.out.bias[0] += 2.5

    def forward(self, encoder_out, decoder_out):
        return self.out(torch.tanh(encoder_out + decoder_out))


def add_metadata(file, values, package=PACKAGE):
    """Metadata that sherpa-onnx reads."""
    path = os.path.join(FIXTURES, package, file)
    model = onnx.load(path)
    for key, value in values.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, str(value)
    onnx.save(model, path)


def main():
    seed(6)
    zipformer2_ctc.export_encoder(PACKAGE, "encoder.onnx", Encoder(), WINDOW, "encoder_out")
    add_metadata("encoder.onnx", zipformer2_ctc.metadata(CHUNK, WINDOW))
    export(PACKAGE, "decoder.onnx", Decoder(), (torch.zeros(3, CONTEXT, dtype=torch.int64),), ["y"], ["decoder_out"],
           {"y": {0: "N"}, "decoder_out": {0: "N"}})
    add_metadata("decoder.onnx", {"context_size": CONTEXT, "vocab_size": len(SYMBOLS)})
    names = ["encoder_out", "decoder_out"]
    export(PACKAGE, "joiner.onnx", Joiner(), (torch.randn(3, WIDTH), torch.randn(3, WIDTH)), names, ["logit"],
           {name: {0: "N"} for name in [*names, "logit"]})
    add_metadata("joiner.onnx", {"joiner_dim": WIDTH})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "zipformer2-transducer", "languages": ["ru"], "sampleRateHz": 16000},
                   {"encoder": "encoder.onnx", "decoder": "decoder.onnx", "joiner": "joiner.onnx", "vocabulary": "tokens.txt",
                    "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
