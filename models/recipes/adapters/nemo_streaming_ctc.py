"""Cache-aware streaming NeMo CTC's interface: windows of 25 frames, 16 of them new, two rows of 80 ms a run."""
import torch

import silero_vad
from nemo_ctc import PIECES
from tiny import export, seed, write_manifest, write_tokens

PACKAGE = "tiny-nemo-streaming-ctc"
BINS, WINDOW, SHIFT, LAYERS, LEFT, WIDTH, KERNEL = 80, 25, 16, 2, 4, 6, 3


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.input = torch.nn.Linear(BINS * (WINDOW - SHIFT // 2), 12)
        self.channel = torch.nn.Linear(LAYERS * LEFT * WIDTH, 12)
        self.time = torch.nn.Linear(LAYERS * WIDTH * KERNEL, 12)
        self.write_channel = torch.nn.Linear(12, LAYERS * WIDTH)
        self.write_time = torch.nn.Linear(12, LAYERS * WIDTH * KERNEL)
        self.head = torch.nn.Linear(12, len(PIECES) + 1)
        with torch.no_grad():
            self.head.weight *= 8

    def forward(self, audio_signal, length, cache_last_channel, cache_last_time, cache_last_channel_len):
        x = audio_signal / 10
        # Each of the two rows sees its 8 new frames and the 9 before them, like a subsampling by 8 with
        # kernel 17.
        rows = torch.stack([self.input(x[:, :, first:first + 17].flatten(1)) for first in (0, 8)], dim=1)
        filled = torch.arange(LEFT).flip(0) < cache_last_channel_len.unsqueeze(1)
        channel = torch.where(filled.reshape(-1, 1, LEFT, 1), cache_last_channel, torch.zeros(()))
        seen = self.channel(channel.flatten(1)) + self.time(cache_last_time.flatten(1))
        h = torch.tanh(rows + seen.unsqueeze(1))
        summary = torch.tanh(h.mean(dim=1))
        step = self.write_channel(summary).reshape(-1, LAYERS, 1, WIDTH)
        next_channel = torch.cat([cache_last_channel[:, :, 1:], step], dim=2)
        next_time = 0.5 * cache_last_time + self.write_time(summary).reshape(-1, LAYERS, WIDTH, KERNEL)
        next_len = torch.clamp(cache_last_channel_len + 1, max=LEFT)
        return (torch.log_softmax(self.head(h), dim=-1), torch.clamp(length // 8, max=2), next_channel, next_time, next_len)


def main():
    seed(3)
    inputs = (torch.randn(1, BINS, WINDOW), torch.tensor([WINDOW]), torch.zeros(1, LAYERS, LEFT, WIDTH),
              torch.zeros(1, LAYERS, WIDTH, KERNEL), torch.zeros(1, dtype=torch.int64))
    names = ["audio_signal", "length", "cache_last_channel", "cache_last_time", "cache_last_channel_len"]
    outputs = ["logprobs", "encoded_lengths", "cache_last_channel_next", "cache_last_time_next",
               "cache_last_channel_next_len"]
    export(PACKAGE, "model.onnx", Encoder(), inputs, names, outputs, {name: {0: "batch"} for name in names + outputs})
    silero_vad.write(PACKAGE)
    write_tokens(PACKAGE, PIECES + ["<blk>"])
    write_manifest(PACKAGE, {"task": "transcription", "family": "nemo-streaming-ctc", "languages": ["kk"],
                             "sampleRateHz": 16000, "melBins": BINS, "subsampling": 8, "windowFrames": WINDOW,
                             "shiftFrames": SHIFT, "cacheLastChannel": [LAYERS, LEFT, WIDTH],
                             "cacheLastTime": [LAYERS, WIDTH, KERNEL]},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


if __name__ == "__main__":
    main()
