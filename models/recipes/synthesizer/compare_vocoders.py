"""Compares vocoder designs trained for equally long: `compare_vocoders.py --runtime DIR [--minutes 10]
[--pictures DIR]`, after `npm run build`.

Trains every design of vocoder_designs.py from scratch on the data of prepare.py (if its checkpoint is
missing), exports it like the shipped one, and makes all graphs, including the shipped one, speak held-out
sentences of all voices from their true features. Prints a Markdown table:

 LSD        log-spectral distance to the recording, dB: per frame the root mean square over bins up to 12 kHz of the difference in
            dB (floor -60 dB), mean over frames that are not silent; of voiced and unvoiced frames, and above 4 kHz
 HNR        harmonics to noise above 1 kHz in voiced frames, dB: from the correlation of a period with the next one, of the frames'
            median; the recording's own is what to reach
 SC         spectral convergence |A - B| / |B|, mean of four resolutions
 mel L1     of natural logarithms
 CER        of our recogniser, greedy, %
 ms         processor time of a second of speech in onnxruntime, one thread; graphs take turns, best of the repetitions
 joint      largest difference, relative to the largest sample, where pieces with 10 frames of context on each side meet"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
import soundfile
import torch
from scipy.signal import butter, resample_poly, sosfiltfilt

import layers
from config import CACHE, F0_MEAN, F0_SCALE, HERE, HOP, MODELS, N_FFT, OUTPUT, SAMPLE_RATE, VOICES
from data import Split
from excitation import noise, pulse_train
from export import example_inputs, round_weights, write_graph
from features import LogMel
from pictures import spectrogram_rows
from roundtrip import comparable, edits
from vocoder_designs import DESIGNS

FOLDER = os.path.join(CACHE, "vocoders")
FLOOR = 1e-3
# Parameters, steps and minutes of the shipped weights (training.json).
SHIPPED = {"parameters": 1_988_418, "steps": 2918 + 571, "minutes": 21}
SILENT_RMS = 0.003
HIGH_BIN = round(4000 * N_FFT / SAMPLE_RATE)


def checkpoint(design, minutes):
    """Path of the trained weights; trains them if there are none."""
    name = f"vocoder-{design}.pt"
    subprocess.run([sys.executable, os.path.join(HERE, "train_vocoder.py"), "--design", design, "--checkpoint", name, "--minutes",
                    str(minutes), "--clock", "processor", "--precision", "fp32", "--resume"], check=True)
    return os.path.join(CACHE, name)


def export(design, path):
    """Writes the graph of a trained design; returns its description."""
    saved = torch.load(path, map_location="cpu")
    model = DESIGNS[design]()
    model.load_state_dict(saved["average"])
    round_weights(model)
    layers.set_export(True)
    write_graph(model, example_inputs()["vocoder"], os.path.join(FOLDER, f"{design}.onnx"), "vocoder")
    layers.set_export(False)
    return {"parameters": sum(p.numel() for p in model.parameters()), "steps": saved["step"],
            "minutes": round(saved["elapsed"] / 60, 1)}


def write_sentences(heldout, count):
    """Writes inputs of the graphs as raw files; returns the facts known about each sentence."""
    chosen = [item for number in range(len(VOICES)) for item in [i for i in heldout.items if i["voice"] == number][:count]]
    for number, item in enumerate(chosen):
        start, frames = item["offset"], item["frames"]
        f0 = heldout.f0[start:start + frames].astype(np.float32)
        hertz = np.exp(f0[:, 0] * F0_SCALE + F0_MEAN)
        arrays = {"mel": heldout.normalised(start, start + frames), "f0": hertz, "voicing": f0[:, 1],
                  "excitation": pulse_train(hertz), "noise": noise(frames * HOP, number)}
        for name, value in arrays.items():
            np.ascontiguousarray(value, np.float32).tofile(os.path.join(FOLDER, f"{number}.{name}"))
        item["pcm"] = heldout.pcm[start * HOP:(start + frames) * HOP].astype(np.float32) / 32767.0
        item["voiced"], item["hertz"] = f0[:, 1] > 0.5, hertz
    return chosen


def magnitudes(pcm, size, hop):
    """f32 [frames, bins]; with 1024 and 256, frames are centred like the features'."""
    edge = (size - hop) // 2
    padded = torch.nn.functional.pad(torch.from_numpy(pcm), (edge, edge))
    return torch.stft(padded, size, hop, window=torch.hann_window(size), center=False, return_complex=True).abs().t().numpy()


def distances(item, pcm, log_mel):
    """Scores of one sentence; LSD as sums over frames with the number of frames."""
    true, made = (magnitudes(x, N_FFT, HOP) for x in (item["pcm"], pcm))
    decibels = 20.0 * (np.log10(np.maximum(made, FLOOR)) - np.log10(np.maximum(true, FLOOR)))
    frames = item["pcm"].reshape(-1, HOP)
    heard = np.sqrt(np.square(frames).mean(1)) > SILENT_RMS
    whole, high = (np.sqrt(np.square(part).mean(1)) for part in (decibels, decibels[:, HIGH_BIN:]))
    sets = {"all": heard, "voiced": heard & item["voiced"], "unvoiced": heard & ~item["voiced"]}
    result = {name: np.array([whole[rows].sum(), rows.sum()]) for name, rows in sets.items()}
    result["high"] = np.array([high[heard].sum(), heard.sum()])
    convergence = []
    for size in (256, 512, 1024, 2048):
        a, b = magnitudes(pcm, size, size // 4), magnitudes(item["pcm"], size, size // 4)
        convergence.append(np.linalg.norm(a - b) / np.linalg.norm(b))
    result["convergence"] = np.array([np.mean(convergence), 1.0])
    with torch.no_grad():
        mels = [log_mel(torch.from_numpy(x)[None])[0].numpy() for x in (pcm, item["pcm"])]
    result["mel"] = np.array([np.abs(mels[0] - mels[1]).mean(), 1.0])
    return result


def harmonicity(item, pcm):
    """Harmonics-to-noise ratio of every voiced frame, dB, above 1 kHz: correlation of two neighbouring stretches of 512 samples
    a period apart (best of the lags around the true period), as a ratio of powers (Boersma 1993)."""
    high = sosfiltfilt(butter(6, 1000.0, "high", fs=SAMPLE_RATE, output="sos"), pcm)
    found = []
    for frame in np.flatnonzero(item["voiced"]):
        period = SAMPLE_RATE / item["hertz"][frame]
        start = frame * HOP + HOP // 2 - 256 - round(period / 2)
        if start < 0 or start + 512 + 1.1 * period >= len(high):
            continue
        here, best = high[start:start + 512], 1e-3
        for lag in range(round(0.97 * period) - 1, round(1.03 * period) + 2):
            there = high[start + lag:start + lag + 512]
            best = max(best, float(here @ there) / (np.linalg.norm(here) * np.linalg.norm(there) + 1e-9))
        found.append(10.0 * np.log10(best / max(1.0 - best, 1e-4)))
    return found


def transcripts(speech):
    """The recogniser's text of a list of 24 kHz recordings."""
    files = []
    for number, pcm in enumerate(speech):
        files.append(os.path.join(FOLDER, f"{number}.16k"))
        resample_poly(np.clip(pcm, -1.0, 1.0), 2, 3).astype(np.float32).tofile(files[-1])
    listing = os.path.join(FOLDER, "files.json")
    with open(listing, "w") as file:
        json.dump(files, file)
    recognizer = os.path.join(MODELS, "svc-kk-ru-v2")
    return json.loads(subprocess.run(["node", os.path.join(HERE, "roundtrip.mjs"), listing, recognizer], check=True,
                                     stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--minutes", type=float, default=10.0, help="processor time of each training")
    parser.add_argument("--count", type=int, default=12, help="held-out sentences of each voice")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--runtime", default="onnxruntime-node")
    parser.add_argument("--pictures", help="folder for spectrograms and recordings of a sentence of each voice")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    about = {design: export(design, checkpoint(design, options.minutes)) for design in options.designs}
    graphs = {"shipped": os.path.join(OUTPUT, "vocoder.onnx"),
              **{design: os.path.join(FOLDER, f"{design}.onnx") for design in options.designs}}
    about["shipped"] = SHIPPED
    items = write_sentences(Split("heldout"), options.count)
    plan = {"folder": FOLDER, "graphs": graphs, "frames": [item["frames"] for item in items], "repeats": options.repeats}
    with open(os.path.join(FOLDER, "plan.json"), "w") as file:
        json.dump(plan, file)
    ran = json.loads(subprocess.run(["node", os.path.join(HERE, "compare_vocoders.mjs"), os.path.join(FOLDER, "plan.json"),
                                     options.runtime], check=True, stdout=subprocess.PIPE).stdout)
    log_mel, speech = LogMel(), {"recording": [item["pcm"] for item in items]}
    for name in graphs:
        speech[name] = [np.fromfile(os.path.join(FOLDER, f"{number}.{name}"), np.float32) for number in range(len(items))]
    heard = transcripts([pcm for group in speech.values() for pcm in group])
    letters = sum(len(comparable(item["text"])) for item in items)
    print("| | parameters | steps | minutes | LSD | voiced | unvoiced | above 4 kHz | HNR | SC | mel L1 | CER | ms | joint |")
    print("| --- |" + " ---: |" * 13)
    for place, (name, group) in enumerate(speech.items()):
        texts = heard[place * len(items):(place + 1) * len(items)]
        wrong = sum(edits(comparable(item["text"]), comparable(text)) for item, text in zip(items, texts))
        cer = f"{100.0 * wrong / letters:.2f}"
        clear = np.median([value for item, pcm in zip(items, group) for value in harmonicity(item, pcm)])
        if name == "recording":
            print("| recording |" + " |" * 7 + f" {clear:.1f} | | | {cer} | | |")
            continue
        sums = {}
        for item, pcm in zip(items, group):
            for key, value in distances(item, pcm, log_mel).items():
                sums[key] = sums.get(key, 0.0) + value
        mean = {key: value[0] / value[1] for key, value in sums.items()}
        facts, run = about[name], ran[name]
        print(f"| {name} | {facts['parameters'] / 1e6:.2f} M | {facts['steps']} | {facts['minutes']} | {mean['all']:.2f} | "
              f"{mean['voiced']:.2f} | {mean['unvoiced']:.2f} | {mean['high']:.2f} | {clear:.1f} | {mean['convergence']:.3f} | {mean['mel']:.3f} | "
              f"{cer} | {run['msPerSecond']:.2f} | {run['joint']:.0e} |")
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
        for number in range(0, len(items), options.count):
            voice = VOICES[items[number]["voice"]].id
            rows = [(name, group[number]) for name, group in speech.items()]
            spectrogram_rows(rows, os.path.join(options.pictures, f"{voice}-harmonics.png"), window=1024, top_hz=6000)
            spectrogram_rows(rows, os.path.join(options.pictures, f"{voice}-bursts.png"), window=256, top_hz=12000)
            for name, pcm in rows:
                soundfile.write(os.path.join(options.pictures, f"{voice}-{name}.wav"), np.clip(pcm, -1.0, 1.0), SAMPLE_RATE)


if __name__ == "__main__":
    main()
