"""VITS's interfaces with three speakers: Piper's in one graph and in two halves, and MMS's with a seed in
place of a draw.

Durations from the phonemes, a latent with noise times a scale, a decoder of convolutions. model.onnx is the
package; a test uses encoder.onnx and decoder.onnx, or mms.onnx, in its place."""
import json
import os

import onnx
import torch

from tiny import FIXTURES, export, seed, write_manifest

PACKAGE = "tiny-vits"
RATE, HOP, WIDTH, SPEAKERS = 16000, 64, 2, 3
# Piper's map of phonemes, in its order; the numbers are positions.
PHONEMES = list("_^$ !'(),-.:;?abcdefhijklmnopqrstuvwxyzæçðøħŋœǀǁǂǃɐɑɒɓɔɕɖɗɘəɚɛɜɞɟɠɡɢɣɤɥɦɧɨɪɫɬɭɮɯɰɱɲɳɴɵɶɸɹɺɻɽɾʀʁʂʃʄʈʉʊʋʌʍʎʏʐʑ"
                "ʒʔʕʘʙʛʜʝʟʡʢʲˈˌːˑ˞βθχᵻⱱ0123456789") + ["\u0327", "\u0303", "\u032a", "\u032f", "\u0329", "ʰ", "ˤ", "ε",
                                                         "↓", "#", '"', "↑", "\u033a", "\u033b", "g", "ʦ", "X", "\u031d",
                                                         "\u030a", "ɝ", "ʷ"]
assert PHONEMES.index("ʷ") == 160 and len(set(PHONEMES)) == 161


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(len(PHONEMES), WIDTH)
        self.speakers = torch.nn.Embedding(SPEAKERS, WIDTH)

    def durations(self, x, lengths, length_scale, noise_w):
        # Pads, marks and the space are short, phonemes longer.
        w = (1 + 2 * (x > 3).float()) * length_scale * torch.exp(0.3 * noise_w * torch.randn(x.shape))
        return torch.ceil(w * (torch.arange(x.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)).float())

    def latent(self, x, frames):
        ends = torch.cumsum(frames, dim=1)
        total = ends[:, -1].long().max()
        index = (torch.arange(total).view(1, -1, 1) >= ends.unsqueeze(1)).sum(dim=2)
        index = torch.clamp(index, max=x.shape[1] - 1)
        spread = torch.gather(self.tokens(x), 1, index.unsqueeze(2).expand(-1, -1, WIDTH))
        return spread.transpose(1, 2)

    def forward(self, x, lengths, scales, sid):
        frames = self.durations(x, lengths, scales[1], scales[2])
        m = self.latent(x, frames)
        z = m + scales[0] * torch.randn_like(m)
        return z, torch.ones_like(z[:, :1]), self.speakers(sid).unsqueeze(2), frames.unsqueeze(1)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Conv1d(WIDTH, WIDTH, 7, padding=3)
        self.up = torch.nn.ConvTranspose1d(WIDTH, 1, 2 * HOP, stride=HOP, padding=HOP // 2)

    def forward(self, z, y_mask, g):
        return torch.tanh(self.up(torch.tanh(self.mix(z * y_mask + g))))


class Whole(torch.nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, scales, sid):
        z, mask, g, frames = self.encoder(x, lengths, scales, sid)
        return self.decoder(z, mask, g), frames


class Mms(torch.nn.Module):
    """Two frames a character: only the interface matters."""

    def __init__(self, decoder):
        super().__init__()
        self.characters = torch.nn.Embedding(40, WIDTH)
        self.up = decoder.up

    def forward(self, x, x_length, noise_scale, length_scale, noise_scale_w, seed):
        frames = 2 * length_scale
        places = torch.arange((x_length * frames).ceil().long().max()).float()
        z = self.characters(x)[:, (places / frames).long()].transpose(1, 2)
        noise = noise_scale * torch.sin(places * 12.9898 + seed.float() * 78.233) + 0 * noise_scale_w
        return torch.tanh(self.up(z + noise))


def compact(file):
    """Short names for all that is inside the graph, where exported names take more space than its weights."""
    path = os.path.join(FIXTURES, PACKAGE, file)
    model = onnx.load(path)
    graph = model.graph
    kept = {value.name for value in [*graph.input, *graph.output]}
    names = {}

    def short(name):
        return name if name == "" or name in kept else names.setdefault(name, f"{len(names):x}")

    for node in graph.node:
        node.name = node.doc_string = ""
        node.input[:] = map(short, node.input)
        node.output[:] = map(short, node.output)
    for weight in graph.initializer:
        weight.name = short(weight.name)
    del graph.value_info[:]
    onnx.save(model, path)


def main():
    seed(9)
    encoder, decoder = Encoder(), Decoder()
    x = torch.randint(4, 100, (1, 9))
    tokens = (x, torch.tensor([9]), torch.tensor([0.667, 1.0, 0.8]), torch.tensor([1]))
    token_names = ["input", "input_lengths", "scales", "sid"]
    token_axes = {"input": {0: "batch_size", 1: "phonemes"}, "input_lengths": {0: "batch_size"}}
    sound = {0: "batch_size", 2: "time"}
    export(PACKAGE, "model.onnx", Whole(encoder, decoder), tokens, token_names, ["output", "durations"],
           {**token_axes, "output": sound, "durations": {0: "batch_size", 2: "phonemes"}})
    export(PACKAGE, "encoder.onnx", encoder, tokens, token_names, ["z", "y_mask", "g", "durations"],
           {**token_axes, "z": sound, "y_mask": sound, "durations": {0: "batch_size", 2: "phonemes"}})
    with torch.no_grad():
        z, mask, g, _ = encoder(*tokens)
    export(PACKAGE, "decoder.onnx", decoder, (z, mask, g), ["z", "y_mask", "g"], ["output"],
           {"z": sound, "y_mask": sound, "output": sound})
    one = torch.tensor([1.0])
    export(PACKAGE, "mms.onnx", Mms(decoder), (x % 40, torch.tensor([9]), one, one, one, torch.tensor([5])),
           ["x", "x_length", "noise_scale", "length_scale", "noise_scale_w", "seed"], ["y"],
           {"x": {0: "N", 1: "L"}, "x_length": {0: "N"}, "y": {0: "N", 2: "L"}})
    for file in ["model.onnx", "encoder.onnx", "decoder.onnx", "mms.onnx"]:
        compact(file)
    config = {"audio": {"sample_rate": RATE, "quality": "x_low"}, "espeak": {"voice": "kk"}, "phoneme_type": "espeak",
              "inference": {"noise_scale": 0, "length_scale": 1, "noise_w": 0}, "phoneme_map": {},
              "phoneme_id_map": {phoneme: [number] for number, phoneme in enumerate(PHONEMES)},
              "num_symbols": 256, "num_speakers": SPEAKERS, "speaker_id_map": {"M1": 0, "F1": 1, "F2": 2}}
    with open(os.path.join(FIXTURES, PACKAGE, "voice.onnx.json"), "w", encoding="utf-8") as out:
        json.dump(config, out, ensure_ascii=False)
        out.write("\n")
    voices = [{"name": name, "index": index, "gender": gender, "style": None, "best_for": None}
              for name, index, gender in [("first", 0, "male"), ("second", 1, "female"), ("third", 2, "female")]]
    write_manifest(PACKAGE, {"task": "synthesis", "family": "vits", "languages": ["kk"], "sampleRateHz": RATE,
                             "hopSamples": HOP, "voices": voices, "defaultVoice": "first"},
                   {"model": "model.onnx", "config": "voice.onnx.json"})


if __name__ == "__main__":
    main()
