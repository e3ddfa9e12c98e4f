"""GigaAM CTC's interface: features [B, 64, T], feature_lengths; log_probs [B, ceil(T / 4), 34], blank last."""
import torch

import silero_vad
from tiny import export, seed, write_manifest, write_tokens

PACKAGE = "tiny-gigaam-ctc"
LETTERS = [" "] + [chr(ord("а") + i) for i in range(32)]


class Encoder(torch.nn.Module):
    """Non-causal: two strided convolutions that look in both directions."""

    def __init__(self, bins, outputs):
        super().__init__()
        self.first = torch.nn.Conv1d(bins, 16, 5, stride=2, padding=2)
        self.second = torch.nn.Conv1d(16, 16, 5, stride=2, padding=2)
        self.head = torch.nn.Conv1d(16, outputs, 1)
        with torch.no_grad():
            self.head.weight *= 6

    def forward(self, features, feature_lengths):
        # Silence frames beyond the length, as the real encoder masks them.
        frames = torch.arange(features.shape[2]).unsqueeze(0) < feature_lengths.unsqueeze(1)
        x = torch.where(frames.unsqueeze(1), features / 10, torch.zeros(()))
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return torch.log_softmax(self.head(x).transpose(1, 2), dim=-1)


def main():
    seed()
    export(PACKAGE, "model.onnx", Encoder(64, 34), (torch.randn(1, 64, 40), torch.tensor([40])),
           ["features", "feature_lengths"], ["log_probs"],
           {"features": {0: "batch_size", 2: "seq_len"}, "feature_lengths": {0: "batch_size"},
            "log_probs": {0: "batch_size", 1: "seq_len"}})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, LETTERS + ["<blk>"])
    write_manifest(PACKAGE, {"task": "transcription", "family": "gigaam-ctc", "languages": ["ru"], "sampleRateHz": 16000,
                             "frontEnd": "gigaam-v3", "melBins": 64, "subsampling": 4},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
