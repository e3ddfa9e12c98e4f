"""Packages with the real shapes of public weights but random values, to measure load time, memory and speed:
`python3 models/recipes/adapters/true_shapes [gigaam-220m] [t-one-71m] [...] [--out .cache/true-shapes]`. Each
is a complete package that the service loads; `npm run bench -- families` measures them. All take minutes and
1.9 GB."""
import argparse
import glob
import hashlib
import json
import os
import sys
import time
import warnings

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))

import feature_reference
from conformers import FastConformer, GigaAm, speak_like
from streaming import Joiner, SmallZipformer, StatelessDecoder, TOne, fix_output_dims, to_half
from vits import HOP, Vits, be_heard, halves

ROOT = os.path.join(HERE, "../../../..")
SPEECH = os.path.join(ROOT, "test/fixtures/speech/asterisk-ru-core")
LETTERS = [" "] + list("абвгдеёжзийклмнопрстуфхцчшщъыьэюяәғқңөұүһі") + list("abcdefghijklmnopqrstuvwxyz'")
# Piper's symbols in the order of their numbers.
PHONEMES = ("_^$ !'(),-.:;?abcdefhijklmnopqrstuvwxyzæçðøħŋœǀǁǂǃɐɑɒɓɔɕɖɗɘəɚɛɜɞɟɠɡɢɣɤɥɦɧɨɪɫɬɭɮɯɰɱɲɳɴɵɶɸɹɺɻɽɾʀʁʂʃʄʈʉʊʋʌʍʎʏʐʑʒʔʕʘʙʛʜʝʟʡʢ"
            "ʲˈˌːˑ˞βθχᵻⱱ0123456789\u0327\u0303\u032a\u032f\u0329ʰˤε↓#\"↑\u033a\u033b")
SPEAKERS = ["M2", "M1_Iseke", "F3", "F1_Raya", "F1", "F2"]
NOTES = "Random weights in the shape of a public model: what it says means nothing."


class Vad(torch.nn.Module):
    """Silero's work and its tensors: short spectra, four convolutions, a recurrent layer. Loudness decides,
    since the weights are random."""

    def __init__(self):
        super().__init__()
        self.spectra = torch.nn.Conv1d(1, 258, 256, 128, bias=False)
        widths = [(129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)]
        self.convolutions = torch.nn.ModuleList([torch.nn.Conv1d(i, o, 3, stride, 1) for i, o, stride in widths])
        self.memory = torch.nn.LSTMCell(128, 128)
        self.head = torch.nn.Linear(128, 1)

    def forward(self, input, state, sr):
        level = input[:, 64:].abs().mean(dim=1, keepdim=True) * (sr.to(input.dtype) / 16000)
        real, imaginary = self.spectra(input.unsqueeze(1)).chunk(2, dim=1)
        x = torch.sqrt(real ** 2 + imaginary ** 2 + 1e-12)
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
        hidden, cell = self.memory(x.mean(dim=2), (state[0], state[1]))
        return torch.sigmoid(400 * level - 4 + 1e-6 * self.head(hidden)), torch.stack([hidden, cell])


def speech(seconds=20):
    """Recordings from the fixtures, one after another, at 16 kHz."""
    import soundfile
    from scipy.signal import resample_poly
    parts = []
    for path in sorted(glob.glob(os.path.join(SPEECH, "*.flac"))):
        samples, rate = soundfile.read(path, dtype="float32")
        parts.append(resample_poly(samples, 16000, rate).astype("float32"))
        if sum(map(len, parts)) > seconds * 16000:
            break
    import numpy
    return numpy.concatenate(parts)


def features_of(front_end, per_bin):
    x = torch.from_numpy(front_end(speech())).float()
    if per_bin:
        x = (x - x.mean(dim=0)) / (x.std(dim=0) + 1e-5)
    return x.T.unsqueeze(0)


def export(folder, file, module, inputs, input_names, output_names, axes):
    module.eval()
    named = {name: axis for name, axis in axes.items() if name in input_names + output_names}
    with torch.no_grad(), warnings.catch_warnings():
        # Operations that the exporter would otherwise fold, and sizes that are meant to be constant.
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, os.path.join(folder, file), input_names=input_names, output_names=output_names,
                          dynamic_axes=named, opset_version=16, do_constant_folding=True)


def write_tokens(folder, symbols):
    with open(os.path.join(folder, "tokens.txt"), "w", encoding="utf-8") as out:
        out.write("".join(f"{symbol} {number}\n" for number, symbol in enumerate(symbols)))


def write_manifest(folder, manifest, files):
    hashed = {}
    for name, path in files.items():
        with open(os.path.join(folder, path), "rb") as file:
            hashed[name] = {"path": path, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    manifest = {"id": os.path.basename(folder), "interfaceVersion": 1, **manifest, "licence": "Apache-2.0", "notes": NOTES,
                "files": hashed}
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest, out, ensure_ascii=False, indent=2)
        out.write("\n")


def recogniser(folder, model, features, share, tensors, symbols, manifest):
    model.eval()
    speak_like(model, features, share)
    first, length, output = tensors
    export(folder, "model.onnx", model, (features[:, :, :400], torch.tensor([400])), [first, length], [output],
           {first: {0: "batch", 2: "frames"}, length: {0: "batch"}, output: {0: "batch", 1: "rows"}})
    export(folder, "vad.onnx", Vad(), (torch.zeros(1, 576), torch.zeros(2, 1, 128), torch.tensor(16000)),
           ["input", "state", "sr"], ["output", "stateN"],
           {"input": {0: "batch"}, "state": {1: "batch"}, "output": {0: "batch"}, "stateN": {1: "batch"}})
    write_tokens(folder, symbols)
    write_manifest(folder, {"task": "transcription", "languages": ["kk", "ru"], "sampleRateHz": 16000, **manifest},
                   {"model": "model.onnx", "vocabulary": "tokens.txt", "vad": "vad.onnx"})


def gigaam(folder):
    # Half of the 40 ms rows: about 12 letters a second.
    recogniser(folder, GigaAm(), features_of(feature_reference.gigaam_v3, False), 0.5,
               ["features", "feature_lengths", "log_probs"], LETTERS + ["<blk>"],
               {"family": "gigaam-ctc", "frontEnd": "gigaam-v3", "melBins": 64, "subsampling": 4})


def fastconformer(folder):
    pieces = ["<unk>", "▁"] + LETTERS[1:]
    pieces += [start + first + second for first in LETTERS[1:43] for second in LETTERS[1:43] for start in ("▁", "")]
    # Two fifths of the 80 ms rows: five pieces a second.
    recogniser(folder, FastConformer(), features_of(feature_reference.nemo, True), 0.4,
               ["audio_signal", "length", "logprobs"], pieces[:1024] + ["<blk>"],
               {"family": "nemo-ctc", "melBins": 80, "subsampling": 8, "normalize": "per-feature"})


def t_one(folder):
    model = TOne().eval()
    audio = torch.from_numpy(speech(12)[::2].copy() * 32767).to(torch.int32)
    state = torch.zeros(1, TOne.STATE, dtype=torch.float16)
    encoded = []
    with torch.no_grad():
        for start in range(0, len(audio) - TOne.CHUNK, TOne.CHUNK):
            x, state = model.encode(audio[start:start + TOne.CHUNK].reshape(1, -1, 1), state)
            encoded.append(x[0])
    assert state.shape[1] == TOne.STATE, state.shape
    # Two fifths of the 30 ms rows: about 13 letters a second.
    be_sure(model.head, torch.cat(encoded), 0.4, blank=-1)
    names, outputs = ["signal", "state"], ["logprobs", "state_next"]
    export(folder, "model.onnx", model, (audio[:TOne.CHUNK].reshape(1, -1, 1), state), names, outputs,
           {name: {0: "batch_size"} for name in names + outputs})
    path = os.path.join(folder, "model.onnx")
    to_half(path)
    fix_output_dims(path, {"logprobs": {1: TOne.ROWS, 2: 35}, "state_next": {1: TOne.STATE}})
    write_tokens(folder, list("абвгдежзийклмнопрстуфхцчшщъыьэюяё") + [" ", "<blk>"])
    write_manifest(folder, {"task": "transcription", "family": "t-one-ctc", "languages": ["ru"], "sampleRateHz": 16000},
                   {"model": "model.onnx", "vocabulary": "tokens.txt"})


def small_zipformer(folder):
    model, decoder, joiner = SmallZipformer().eval(), StatelessDecoder().eval(), Joiner().eval()
    features = features_of(feature_reference.kaldi, False).transpose(1, 2)
    states = [*[torch.zeros(shape) for shape in model.shapes().values()], torch.zeros(1, dtype=torch.int64)]
    encoded = []
    with torch.no_grad():
        for start in range(0, features.shape[1] - SmallZipformer.WINDOW, SmallZipformer.CHUNK):
            x, *states = model(features[:, start:start + SmallZipformer.WINDOW], *states)
            encoded.append(x[0])
        context = decoder(torch.tensor([[-1, 0]]))
        # A quarter of the 40 ms frames: six pieces a second.
        be_sure(joiner.out, torch.tanh(torch.cat(encoded) + context), 0.25, blank=0)
    names = [*model.shapes(), "processed_lens"]
    axes = {name: {1 if name.startswith("cached_key") else 0: "N"} for name in names}
    export(folder, "encoder.onnx", model, (features[:, :SmallZipformer.WINDOW], *states), ["x", *names],
           ["encoder_out", *[f"new_{name}" for name in names]],
           {"x": {0: "N"}, "encoder_out": {0: "N"}, **axes, **{f"new_{name}": axis for name, axis in axes.items()}})
    export(folder, "decoder.onnx", decoder, (torch.zeros(2, 2, dtype=torch.int64),), ["y"], ["decoder_out"],
           {"y": {0: "N"}, "decoder_out": {0: "N"}})
    export(folder, "joiner.onnx", joiner, (torch.zeros(2, 512), torch.zeros(2, 512)), ["encoder_out", "decoder_out"], ["logit"],
           {"encoder_out": {0: "N"}, "decoder_out": {0: "N"}, "logit": {0: "N"}})
    pieces = ["<blk>", "<sos/eos>", "<unk>", "▁"] + LETTERS[1:34]
    pieces += [start + first + second for first in LETTERS[1:34] for second in LETTERS[1:34] for start in ("▁", "")]
    write_tokens(folder, pieces[:500])
    write_manifest(folder, {"task": "transcription", "family": "zipformer2-transducer", "languages": ["ru"], "sampleRateHz": 16000},
                   {"encoder": "encoder.onnx", "decoder": "decoder.onnx", "joiner": "joiner.onnx", "vocabulary": "tokens.txt"})


def be_sure(head, encoded, share, blank, spread=8.0):
    """Like `speak_like`, for a head that is a plain product."""
    with torch.no_grad():
        weight = torch.randn_like(head.weight)
        mean = encoded.mean(dim=0)
        weight *= spread / ((encoded - mean) @ weight.T).std()
        rows = (encoded - mean) @ weight.T
        others = torch.cat([rows[:, :blank], rows[:, blank + 1:]], dim=1) if blank >= 0 else rows[:, :-1]
        bias = -(weight @ mean)
        bias[blank] += torch.quantile(others.max(dim=1).values - rows[:, blank], 1 - share)
        head.weight.copy_(weight)
        head.bias.copy_(bias)


def vits(folder, is_split=False):
    torch.manual_seed(2)
    model = Vits(speakers=len(SPEAKERS)).eval()
    inputs = (torch.randint(1, 100, (1, 120)), torch.tensor([120]), torch.tensor([0.667, 1.0, 0.8]), torch.tensor([0]))
    be_heard(model, inputs)
    names = ["input", "input_lengths", "scales", "sid"]
    axes = {"input": {0: "batch_size", 1: "phonemes"}, "input_lengths": {0: "batch_size"}, "sid": {0: "batch_size"},
            "output": {0: "batch_size", 3: "time"}}
    if is_split:
        encoder, decoder = halves(model)
        latent = {name: {0: "batch_size", 2: "frames"} for name in ("z", "y_mask")}
        export(folder, "encoder.onnx", encoder, inputs, names, ["z", "y_mask", "g"], {**axes, **latent})
        with torch.no_grad():
            z = encoder(*inputs)
        export(folder, "decoder.onnx", decoder, z, ["z", "y_mask", "g"], ["output"],
               {**latent, "output": {0: "batch_size", 2: "time"}})
    else:
        export(folder, "model.onnx", model, inputs, names, ["output"], axes)
    config = {"audio": {"sample_rate": 22050, "quality": "high"}, "espeak": {"voice": "kk"}, "phoneme_type": "espeak",
              "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8}, "phoneme_map": {},
              "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(PHONEMES)},
              "num_symbols": 256, "num_speakers": len(SPEAKERS),
              "speaker_id_map": {name: number for number, name in enumerate(SPEAKERS)}}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out, ensure_ascii=False, indent=2)
    voices = [{"name": name.lower().replace("_", "-"), "index": number, "gender": None, "style": None, "best_for": None}
              for number, name in enumerate(SPEAKERS)]
    write_manifest(folder, {"task": "synthesis", "family": "vits", "languages": ["kk"], "sampleRateHz": 22050, "hopSamples": HOP,
                            "voices": voices, "defaultVoice": voices[0]["name"]},
                   {**({"encoder": "encoder.onnx", "decoder": "decoder.onnx"} if is_split else {"model": "model.onnx"}),
                    "config": "config.json"})


SHAPES = {"gigaam-220m": gigaam, "fastconformer-115m": fastconformer, "vits-high": vits,
          "t-one-71m": t_one, "zipformer-small-22m": small_zipformer,
          "vits-high-halves": lambda folder: vits(folder, is_split=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SHAPES))
    parser.add_argument("--out", default=os.path.join(ROOT, ".cache/true-shapes"))
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in SHAPES]
    if unknown:
        parser.error(f"NAME must be one of {', '.join(SHAPES)}, found {', '.join(unknown)}")
    for number, (name, make) in enumerate(SHAPES.items()):
        if options.names and name not in options.names:
            continue
        torch.manual_seed(number)
        folder = os.path.join(os.path.abspath(options.out), name)
        os.makedirs(folder, exist_ok=True)
        began = time.time()
        make(folder)
        size = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
        print(f"{folder}: {size / 1e6:.0f} MB in {time.time() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
