"""Matcha-TTS's interface with a separate vocoder: durations from the symbols, noise times a temperature, a
voice."""
import json
import os

import torch

from tiny import FIXTURES, export, seed, write_manifest

PACKAGE = "tiny-matcha"
SYMBOLS = ["_"] + list(" ,.!?-аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя")
BINS, HOP, WIDTH = 80, 256, 8


class Acoustic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.symbols = torch.nn.Embedding(len(SYMBOLS), WIDTH)
        self.voices = torch.nn.Embedding(2, WIDTH)
        self.mel = torch.nn.Linear(WIDTH, BINS)

    def forward(self, x, x_lengths, scales, spks):
        h = self.symbols(x) + self.voices(spks).unsqueeze(1)
        # Blanks are short, symbols longer; a length scale stretches all of them.
        frames = torch.ceil((1 + 3 * (x > 0).float()) * scales[1])
        ends = torch.cumsum(frames, dim=1)
        total = ends[:, -1].long()
        places = torch.arange(total.max() + 2).unsqueeze(0)
        index = torch.clamp((places.unsqueeze(2) >= ends.unsqueeze(1)).sum(dim=2), max=x.shape[1] - 1)
        spread = torch.gather(h, 1, index.unsqueeze(2).expand(-1, -1, WIDTH))
        mel = self.mel(spread).transpose(1, 2)
        return mel + scales[0] * torch.randn_like(mel), total + 0 * x_lengths


class Vocoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.ConvTranspose1d(BINS, 1, HOP, stride=HOP, bias=False)

    def forward(self, mel):
        return torch.tanh(self.out(mel))


def main():
    seed(4)
    export(PACKAGE, "acoustic.onnx", Acoustic(), (torch.randint(1, 20, (1, 9)), torch.tensor([9]),
                                                  torch.tensor([0.667, 1.0]), torch.tensor([1])),
           ["x", "x_lengths", "scales", "spks"], ["mel", "mel_lengths"],
           {"x": {0: "batch_size", 1: "time"}, "x_lengths": {0: "batch_size"}, "spks": {0: "batch_size"},
            "mel": {0: "batch_size", 2: "time"}, "mel_lengths": {0: "batch_size"}})
    export(PACKAGE, "vocoder.onnx", Vocoder(), (torch.randn(1, BINS, 12),), ["mel"], ["audio"],
           {"mel": {0: "batch", 2: "time"}, "audio": {0: "batch", 2: "samples"}})
    with open(os.path.join(FIXTURES, PACKAGE, "symbols.json"), "w", encoding="utf-8") as out:
        json.dump({"symbols": SYMBOLS}, out, ensure_ascii=False)
        out.write("\n")
    voices = [{"name": name, "index": index, "gender": None, "style": None, "best_for": None}
              for index, name in enumerate(["first", "second"])]
    write_manifest(PACKAGE, {"task": "synthesis", "family": "matcha", "languages": ["kk"], "sampleRateHz": 22050,
                             "hopSamples": HOP, "melBins": BINS, "temperature": 0, "voices": voices,
                             "defaultVoice": "first"},
                   {"acoustic": "acoustic.onnx", "vocoder": "vocoder.onnx", "symbols": "symbols.json"})


if __name__ == "__main__":
    main()
