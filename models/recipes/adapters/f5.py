"""F5-TTS's three graphs: the first contains the noise, each run of the second moves it part of the way to the
condition, and the third turns frames into samples and cuts off the reference. The voice is a second of tones.
"""
import os
import wave

import numpy as np
import torch

from tiny import FIXTURES, export, seed, write_manifest

PACKAGE = "tiny-f5"
SYMBOLS = list(" ,.!?-аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя")
BINS, HOP, HEADS, HEAD, TEXT = 6, 256, 1, 4, 4


class Preprocess(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mel = torch.nn.Conv1d(1, BINS, HOP, stride=HOP, bias=False)
        self.text = torch.nn.Embedding(len(SYMBOLS) + 1, TEXT)

    def forward(self, audio, text_ids, max_duration):
        mel = self.mel(torch.nn.functional.pad(audio.float() / 32768, (0, HOP))).transpose(1, 2)
        places = torch.arange(max_duration)
        cut = torch.clamp(places, max=mel.shape[1] - 1)
        known = torch.where(places.reshape(1, -1, 1) < mel.shape[1], mel[:, cut], torch.zeros(()))
        text = self.text(text_ids.long()).mean(dim=1, keepdim=True) + 0.1 * torch.sin(places.float()).reshape(1, -1, 1)
        noise = torch.randn(1, BINS).unsqueeze(1) * torch.cos(places.float()).reshape(1, -1, 1)
        angle = torch.outer(places.float(), torch.arange(HEAD).float())
        rope = angle.reshape(1, 1, -1, HEAD).expand(2, HEADS, -1, HEAD)
        return (noise, torch.cos(rope), torch.sin(rope), torch.cat([known, text], dim=2),
                torch.cat([torch.zeros_like(known), text], dim=2), torch.tensor(mel.shape[1]) + 0 * max_duration)


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.way = torch.nn.Linear(BINS + TEXT, BINS)

    def forward(self, noise, rope_cos, rope_sin, cat_mel_text, cat_mel_text_drop, time_step):
        guided = self.way(cat_mel_text) + 0.2 * (self.way(cat_mel_text) - self.way(cat_mel_text_drop))
        turned = 0.01 * (rope_cos * rope_sin).mean(dim=(0, 1, 3)).reshape(1, -1, 1)
        left = 1 / (4 - time_step.float())
        return noise + left * (guided + turned - noise), time_step + 1


class Decode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.ConvTranspose1d(BINS, 1, HOP, stride=HOP, bias=False)

    def forward(self, denoised, ref_signal_len):
        samples = torch.tanh(self.out(denoised.transpose(1, 2)))
        return (samples[:, :, ref_signal_len * HOP:] * 32767).to(torch.int16)


def main():
    seed(5)
    frames, rope = 30, torch.zeros(2, HEADS, 30, HEAD)
    export(PACKAGE, "preprocess.onnx", Preprocess(),
           (torch.ones(1, 1, 2560, dtype=torch.int16), torch.ones(1, 12, dtype=torch.int32), torch.tensor(frames)),
           ["audio", "text_ids", "max_duration"],
           ["noise", "rope_cos", "rope_sin", "cat_mel_text", "cat_mel_text_drop", "ref_signal_len"],
           {"audio": {2: "audio_len"}, "text_ids": {1: "text_ids_len"}, "noise": {1: "max_duration"},
            "rope_cos": {2: "max_duration"}, "rope_sin": {2: "max_duration"},
            "cat_mel_text": {1: "max_duration", 2: "text_embed_len"},
            "cat_mel_text_drop": {1: "max_duration", 2: "text_embed_len"}})
    cat = torch.zeros(1, frames, BINS + TEXT)
    export(PACKAGE, "transformer.onnx", Transformer(),
           (torch.zeros(1, frames, BINS), rope, rope, cat, cat, torch.tensor([0], dtype=torch.int32)),
           ["noise", "rope_cos", "rope_sin", "cat_mel_text", "cat_mel_text_drop", "time_step"],
           ["denoised", "next_time_step"],
           {"noise": {1: "max_duration"}, "rope_cos": {2: "max_duration"}, "rope_sin": {2: "max_duration"},
            "cat_mel_text": {1: "max_duration"}, "cat_mel_text_drop": {1: "max_duration"},
            "denoised": {1: "max_duration"}})
    export(PACKAGE, "decode.onnx", Decode(), (torch.zeros(1, frames, BINS), torch.tensor(10)),
           ["denoised", "ref_signal_len"], ["output_audio"],
           {"denoised": {1: "max_duration"}, "output_audio": {2: "generated_len"}})
    folder = os.path.join(FIXTURES, PACKAGE)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as out:
        out.write("".join(f"{symbol}\n" for symbol in SYMBOLS))
    with wave.open(os.path.join(folder, "reference.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(24000)
        tone = 8000 * np.sin(np.arange(12000) * 0.05) * np.sin(np.arange(12000) * np.pi / 12000)
        out.writeframes(tone.astype("<i2").tobytes())
    voice = {"name": "tone", "index": 0, "gender": None, "style": None, "best_for": None, "reference": "tone",
             "referenceText": "бір екі үш."}
    write_manifest(PACKAGE, {"task": "synthesis", "family": "f5", "languages": ["kk"], "sampleRateHz": 24000,
                             "hopSamples": HOP, "melBins": BINS, "transformerRuns": 4, "voices": [voice],
                             "defaultVoice": "tone"},
                   {"preprocess": "preprocess.onnx", "transformer": "transformer.onnx", "decode": "decode.onnx",
                    "vocabulary": "vocab.txt", "tone": "reference.wav"})


if __name__ == "__main__":
    main()
