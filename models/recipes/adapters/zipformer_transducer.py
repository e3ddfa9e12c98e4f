"""The interface of icefall's transducers for whole utterances: x [N, T, 80], x_lens; encoder_out [N, (T - 5) / 4, D], its lengths.
Decoder and joiner are those of the streaming package, with other weights."""
import torch

import silero_vad
from tiny import export, seed, write_manifest, write_tokens
from zipformer2_transducer import CONTEXT, SYMBOLS, WIDTH, Decoder, Joiner, add_metadata

PACKAGE = "tiny-zipformer-transducer"
BINS = 80


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Conv1d(BINS, WIDTH, 9, stride=4)
        self.mix = torch.nn.Conv1d(WIDTH, WIDTH, 5, padding=2)

    def forward(self, x, x_lens):
        h = torch.tanh(self.embed(x.transpose(1, 2) / 10))
        return (3 * torch.tanh(2 * self.mix(h))).transpose(1, 2), (x_lens - 5) // 4


def main():
    seed(14)
    export(PACKAGE, "encoder.onnx", Encoder(), (torch.randn(1, 100, BINS), torch.tensor([100])), ["x", "x_lens"],
           ["encoder_out", "encoder_out_lens"],
           {"x": {0: "N", 1: "T"}, "x_lens": {0: "N"}, "encoder_out": {0: "N", 1: "T"}, "encoder_out_lens": {0: "N"}})
    add_metadata("encoder.onnx", {"model_type": "zipformer2"}, PACKAGE)
    export(PACKAGE, "decoder.onnx", Decoder(), (torch.zeros(3, CONTEXT, dtype=torch.int64),), ["y"], ["decoder_out"],
           {"y": {0: "N"}, "decoder_out": {0: "N"}})
    add_metadata("decoder.onnx", {"context_size": CONTEXT, "vocab_size": len(SYMBOLS)}, PACKAGE)
    names = ["encoder_out", "decoder_out"]
    export(PACKAGE, "joiner.onnx", Joiner(), (torch.randn(3, WIDTH), torch.randn(3, WIDTH)), names, ["logit"],
           {name: {0: "N"} for name in [*names, "logit"]})
    add_metadata("joiner.onnx", {"joiner_dim": WIDTH}, PACKAGE)
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "zipformer-transducer", "languages": ["ru"], "sampleRateHz": 16000},
                   {"encoder": "encoder.onnx", "decoder": "decoder.onnx", "joiner": "joiner.onnx", "vocabulary": "tokens.txt",
                    "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
