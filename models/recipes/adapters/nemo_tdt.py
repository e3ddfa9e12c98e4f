"""NeMo's token-and-duration transducer as sherpa-onnx exports it, an LSTM of one layer and durations 0 to 4:
audio_signal [B, 80, T], length; outputs [B, D, ceil(T / 8)], encoded_lengths; a decoder whose states have the
exporter's names; a joiner. decoder_joint.onnx combines the last two in one graph, as in onnx-asr; a test uses
it in their place."""
import torch

import silero_vad
from tiny import export, seed, write_manifest, write_tokens
from zipformer2_transducer import add_metadata

PACKAGE = "tiny-nemo-tdt"
SYMBOLS = ["<unk>", "▁", "▁т", "ын", "▁Кү", "де", "са", "л", "▁бар", "ым", "е", ",", "<blk>"]
BINS, WIDTH, HIDDEN, DURATIONS = 80, 12, 8, 5


class Encoder(torch.nn.Module):
    """Mostly a function of time: sherpa-onnx computes other features than NeMo, and only the searches are
    compared."""

    def __init__(self):
        super().__init__()
        self.heard = torch.nn.Conv1d(BINS, WIDTH, 9, stride=8, padding=4)
        self.rate = torch.nn.Parameter(0.3 + 2 * torch.rand(WIDTH, 1))

    def forward(self, audio_signal, length):
        heard = torch.tanh(self.heard(audio_signal))
        time = torch.cumsum(torch.ones_like(heard[:, :1]), dim=2)
        return 1.5 * torch.sin(self.rate * time) + 0.005 * heard, (length + 7) // 8


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(SYMBOLS), HIDDEN)
        self.memory = torch.nn.LSTM(HIDDEN, HIDDEN)

    def forward(self, targets, target_length, h, c):
        out, (h, c) = self.memory(2 * self.embedding(targets).transpose(0, 1), (h, c))
        return out.permute(1, 2, 0), target_length, h, c


class Joiner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoded = torch.nn.Linear(WIDTH, WIDTH)
        self.decoded = torch.nn.Linear(HIDDEN, WIDTH)
        self.out = torch.nn.Linear(WIDTH, len(SYMBOLS) + DURATIONS)
        with torch.no_grad():
            self.out.weight *= 9
            self.out.bias[len(SYMBOLS) - 1] += 2
            self.out.bias[-3] += 2

    def forward(self, encoder_outputs, decoder_outputs):
        left = self.encoded(encoder_outputs.transpose(1, 2)).unsqueeze(2)
        right = 2 * self.decoded(decoder_outputs.transpose(1, 2)).unsqueeze(1)
        return self.out(torch.tanh(left + right))


class DecoderJoint(torch.nn.Module):
    def __init__(self, decoder, joiner):
        super().__init__()
        self.decoder, self.joiner = decoder, joiner

    def forward(self, encoder_outputs, targets, target_length, h, c):
        decoded, length, h, c = self.decoder(targets, target_length, h, c)
        return self.joiner(encoder_outputs, decoded), length, h, c


def main():
    seed(21)
    encoder, decoder, joiner = Encoder(), Decoder(), Joiner()
    export(PACKAGE, "encoder.onnx", encoder, (torch.randn(1, BINS, 96), torch.tensor([96])), ["audio_signal", "length"],
           ["outputs", "encoded_lengths"],
           {"audio_signal": {0: "B", 2: "T"}, "length": {0: "B"}, "outputs": {0: "B", 2: "T"}, "encoded_lengths": {0: "B"}})
    add_metadata("encoder.onnx", {"vocab_size": len(SYMBOLS) - 1, "subsampling_factor": 8, "normalize_type": "per_feature",
                                  "pred_rnn_layers": 1, "pred_hidden": HIDDEN, "model_type": "EncDecRNNTBPEModel", "version": "2",
                                  "model_author": "NeMo", "feat_dim": BINS, "comment": "random weights", "url": "tiny-tdt"}, PACKAGE)
    states = (torch.zeros(1, 1, HIDDEN), torch.zeros(1, 1, HIDDEN))
    targets = (torch.zeros(1, 1, dtype=torch.int32), torch.ones(1, dtype=torch.int32))
    axes = {"targets": {0: "B", 1: "U"}, "target_length": {0: "B"}, "states.1": {1: "B"}, "onnx::LSTM_3": {1: "B"},
            "outputs": {0: "B", 2: "U"}, "prednet_lengths": {0: "B"}, "states": {1: "B"}, "lstm_74": {1: "B"}}
    export(PACKAGE, "decoder.onnx", decoder, (*targets, *states), ["targets", "target_length", "states.1", "onnx::LSTM_3"],
           ["outputs", "prednet_lengths", "states", "lstm_74"], axes)
    frame, decoded = torch.randn(1, WIDTH, 1), torch.randn(1, HIDDEN, 1)
    export(PACKAGE, "joiner.onnx", joiner, (frame, decoded), ["encoder_outputs", "decoder_outputs"], ["outputs"],
           {"encoder_outputs": {0: "B", 2: "T"}, "decoder_outputs": {0: "B", 2: "U"}, "outputs": {0: "B", 1: "T", 2: "U"}})
    names = ["input_states_1", "input_states_2"]
    export(PACKAGE, "decoder_joint.onnx", DecoderJoint(decoder, joiner), (frame, *targets, *states),
           ["encoder_outputs", "targets", "target_length", *names],
           ["outputs", "prednet_lengths", "output_states_1", "output_states_2"],
           {"encoder_outputs": {0: "B", 2: "T"}, "targets": {0: "B", 1: "U"}, "target_length": {0: "B"}})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, SYMBOLS)
    write_manifest(PACKAGE, {"task": "transcription", "family": "nemo-tdt", "languages": ["kk"], "sampleRateHz": 16000,
                             "melBins": BINS, "subsampling": 8, "normalize": "per-feature"},
                   {"encoder": "encoder.onnx", "decoder": "decoder.onnx", "joiner": "joiner.onnx", "vocabulary": "tokens.txt",
                    "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
