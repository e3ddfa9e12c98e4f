"""Offline NeMo CTC's interface: audio_signal [B, 80, T], length; logprobs [B, ceil(T / 8), pieces + 1], blank last; and a graph
that computes features, waveforms to features, with its own frame count."""
import torch

import silero_vad
from gigaam_ctc import Encoder
from tiny import export, seed, write_manifest, write_tokens

PACKAGE = "tiny-nemo-ctc"
PIECES = ["<unk>", "▁", "▁т", "ын", "▁кү", "де", "са", "л", "▁бар", "ым", "е"]


class Subsampled(Encoder):
    def __init__(self, bins, outputs):
        super().__init__(bins, outputs)
        self.third = torch.nn.Conv1d(16, 16, 3, stride=2, padding=1)

    def forward(self, audio_signal, length):
        frames = torch.arange(audio_signal.shape[2]).unsqueeze(0) < length.unsqueeze(1)
        x = torch.where(frames.unsqueeze(1), audio_signal, torch.zeros(()))
        x = torch.tanh(self.third(torch.tanh(self.second(torch.tanh(self.first(x))))))
        return torch.log_softmax(self.head(x).transpose(1, 2), dim=-1)


class Energies(torch.nn.Module):
    """Stands for a preprocessor in a graph: any features will do, with one padding frame more than the length
    says."""

    def __init__(self):
        super().__init__()
        self.bands = torch.nn.Conv1d(1, 80, 160, stride=160, bias=False)

    def forward(self, waveforms, waveforms_lens):
        x = torch.nn.functional.pad(waveforms.unsqueeze(1), (0, 320))
        return torch.log(self.bands(x) ** 2 + 1e-5), waveforms_lens // 160


def main():
    seed(1)
    export(PACKAGE, "model.onnx", Subsampled(80, len(PIECES) + 1), (torch.randn(1, 80, 48), torch.tensor([48])),
           ["audio_signal", "length"], ["logprobs"],
           {"audio_signal": {0: "batch", 2: "time"}, "length": {0: "batch"}, "logprobs": {0: "batch", 1: "frames"}})
    export(PACKAGE, "preprocessor.onnx", Energies(), (torch.randn(1, 16000), torch.tensor([16000])),
           ["waveforms", "waveforms_lens"], ["features", "features_lens"],
           {"waveforms": {0: "batch_size", 1: "N"}, "waveforms_lens": {0: "batch_size"},
            "features": {0: "batch_size", 2: "T"}, "features_lens": {0: "batch_size"}})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, PIECES + ["<blk>"])
    write_manifest(PACKAGE, {"task": "transcription", "family": "nemo-ctc", "languages": ["kk"], "sampleRateHz": 16000,
                             "melBins": 80, "subsampling": 8, "normalize": "per-feature"},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
