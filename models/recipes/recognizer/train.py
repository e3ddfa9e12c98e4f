"""Train the recogniser on the shards that exist, picking up new ones as they appear.

The learning rate follows the wall clock (`--minutes`): warm-up, hold, cosine to 1 %. If stopped (SIGTERM
saves first) or killed and started again, it resumes from the last checkpoint with the remaining minutes. One
thread by default; `--device cuda` runs the same code on a GPU. Every `--eval-minutes` it scores the averaged
weights, appends to curve.json and exports the graphs.
"""
import argparse
import functools
import glob
import json
import os
import platform
import shutil
import signal
import time

import numpy as np
import torch
from torch.nn import functional as F

import augment as A
import evaluate
import export
import shipped
import timbre
from model import Recognizer, parameters

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(HERE, "..", ".cache", "recognizer")
RU = (1, 5, 7)  # kinds of Russian clips, see generate.py
TRUE_TIMBRE = (4, 5, 6, 7)  # kinds that come from people in some way
KNOWN = (0, 1, 2, 3, 4)  # kinds that the shipped weights hear well and are not to forget
RU_SHARE = 0.42  # of the time: Russian clips are shorter, faster and spelled further from their sound
CURRICULUM = 0.25  # share of the run on nearly clean shards only
SILENCE = float(np.log(A.MEL_FLOOR))
CALIBRATION = (64, 400)  # clips and their mel frames whose statistics the batch norms of shipped weights begin with


class Shards:
    """All clips loaded so far, in memory as bytes (29 MB an hour)."""

    def __init__(self, folder):
        self.folder, self.names, self.data = folder, [], []
        self.clips = np.zeros((0, 4), np.int64)  # shard, clip, mel frames, noisy
        self.uses, self.russian = np.zeros(0), np.zeros(0, bool)
        self.past = {}  # shard name -> uses, from a checkpoint
        self.teaches = False  # whether batches have what a teacher is to hear
        self.frames = 0

    def refresh(self):
        for path in sorted(glob.glob(os.path.join(self.folder, "*.npz"))):
            name = os.path.basename(path)
            if name in self.names:
                continue
            self.names.append(name)
            z = {k: v for k, v in np.load(path).items()}
            self.data.append(z)
            n = len(z["kind"])
            length = np.diff(z["clip_start"])
            new = np.stack([np.full(n, len(self.data) - 1), np.arange(n), length,
                            np.full(n, int(name.startswith("noisy")))], 1)
            self.clips = np.concatenate([self.clips, new])
            # Late shards are drawn somewhat more often than those already used, but not exclusively.
            before = self.past.get(name)
            self.uses = np.concatenate([self.uses, before if before is not None and len(before) == n else np.full(
                n, max(0.0, np.median(self.uses) - 0.7) if len(self.uses) else 0.0)])
            self.russian = np.concatenate([self.russian, np.isin(z["kind"], RU)])
            self.frames += length.sum()

    def used(self):
        """Shard name -> number of uses of each of its clips; stored in the checkpoint."""
        return {name: self.uses[self.clips[:, 0] == i] for i, name in enumerate(self.names)}

    def statistics(self):
        """Per-bin mean and standard deviation of the log-mel of the first shard."""
        m = self.data[0]["mel"].astype(np.float32) * (21.5 / 255) - 9.5
        return m.mean(0), m.std(0)

    def batches(self, rng, frames, clean_only, longest):
        """Length-bucketed batches (lists of clip rows) of up to `frames` padded mel frames, about 40 of them.
        Clips used least come first."""
        ok = self.clips[:, 2] <= longest
        if clean_only and (self.clips[:, 3] == 0).any():
            ok &= self.clips[:, 3] == 0
        rows = np.flatnonzero(ok)
        rows = rows[np.argsort(self.uses[rows] + 2 * rng.random(len(rows)))]
        total = np.cumsum(self.clips[rows, 2])
        rows = rows[:np.searchsorted(total, 40 * frames) + 1]
        # A use has less weight if a clip is to be drawn more often.
        length = self.clips[ok, 2]
        ru = max(0.01, length[self.russian[ok]].sum() / length.sum())
        weight = RU_SHARE / (1 - RU_SHARE) * (1 - ru) / ru
        self.uses[rows] += np.where(self.russian[rows], 1 / weight, 1.0)
        rows = rows[np.argsort(self.clips[rows, 2] * rng.uniform(0.97, 1.03, len(rows)))]
        out, group, top = [], [], 0
        for r in rows:
            top = max(top, self.clips[r, 2])
            if group and top * (len(group) + 1) > frames:
                out.append(group)
                group, top = [], self.clips[r, 2]
            group.append(r)
        out.append(group)
        rng.shuffle(out)
        return out

    def style(self, rng):
        """Spectrum of a random clip of any kind, see `timbre.py`."""
        s, c, n, _ = self.clips[rng.integers(len(self.clips))]
        z = self.data[s]
        a = z["clip_start"][c]
        return timbre.style(z["mel"][a:a + n].astype(np.float32) * (21.5 / 255) - 9.5, z["speech"][a:a + n] > 0)

    def assemble(self, rng, group, augment, changed=0.0, masked=True):
        """augment: share of the clips that get frequency and time masks; changed: share that get another timbre, and if
        masked wide masks, too. Batch tensors: mel (B, T, 80), frames (B), tokens (sum), token counts (B), first full
        frame (B), tokens of the full part (sum), counts, speech (B, n), rows of known clips (K), their mel in their own
        timbre and without masks (K, T, 80)."""
        mels, speeches, known, plain = [], [], [], []
        frames, tokens, counts, start, full, full_counts = [], [], [], [], [], []
        for r in group:
            s, c, n, _ = self.clips[r]
            z = self.data[s]
            a = z["clip_start"][c]
            m = z["mel"][a:a + n].astype(np.float32) * (21.5 / 255) - 9.5
            # A level change of the waveform: exact in the power domain, so digital silence stays silence.
            p = np.maximum(np.exp(m) - A.MEL_FLOOR * 1.5, 0)
            m = np.log(p * np.exp(rng.uniform(-1.5, 1.5)) + A.MEL_FLOOR)
            t = z["token"][z["token_start"][c]:z["token_start"][c + 1]].astype(np.int64)
            said, at, own = z["speech"][a:a + n], None, m.copy()
            if changed and rng.random() < changed:
                m = timbre.change(rng, m, said > 0, self.style(rng))
                if rng.random() < 0.5:
                    # One symbol per 40 ms must still fit.
                    n = 4 * int(max(n * rng.uniform(*timbre.STRETCH), 4.4 * len(t)) / 4)
                    at = timbre.pace(rng, len(m), n)
                    m, own, said = (timbre.stretch(x, at) for x in (m, own, said.astype(np.float32)))
            if self.teaches and z["kind"][c] in KNOWN:
                known.append(len(mels))
                plain.append(own)
            speeches.append(said.reshape(-1, 4).mean(1) >= 0.5)
            mels.append(m)
            frames.append(n // 4)
            tokens.append(t)
            counts.append(len(t))
            # The refiner often starts inside a clip, when the encoder still remembers earlier speech.
            k = np.flatnonzero(z["seg_clip"] == c)
            token, first = 0, 0
            if len(k) > 1 and rng.random() < 0.5:
                k = k[rng.integers(1, len(k))]
                begins = int(z["seg_frame"][k] if at is None else np.searchsorted(at, z["seg_frame"][k]))
                first = max(0, int(begins - rng.uniform(20, 40)) // 4)
                token = int(z["seg_token"][k])
            start.append(first)
            full.append(t[token:])
            full_counts.append(len(t) - token)
            if changed and masked and rng.random() < (0.8 if z["kind"][c] in TRUE_TIMBRE else 0.5):
                timbre.masks(rng, m, self.mean)
            elif not changed and rng.random() < augment:
                for _ in range(2):
                    w = int(rng.integers(0, 15))
                    f = int(rng.integers(0, A.MELS - w))
                    m[:, f:f + w] = self.mean[f:f + w]
                for _ in range(max(1, int(n / 300))):
                    w = int(rng.integers(0, 19))
                    f = int(rng.integers(0, max(1, n - w)))
                    m[f:f + w] = self.mean
        top = max(map(len, mels))
        mel = np.full((len(group), top, A.MELS), SILENCE, np.float32)
        speech = np.zeros((len(group), top // 4), np.float32)
        for i, (m, said) in enumerate(zip(mels, speeches)):
            mel[i, :len(m)], speech[i, :len(said)] = m, said
        taught = np.full((len(known), top, A.MELS), SILENCE, np.float32)
        for i, m in enumerate(plain):
            taught[i, :len(m)] = m
        ten = torch.from_numpy
        cat = lambda x: ten(np.concatenate(x)) if sum(map(len, x)) else torch.zeros(0, dtype=torch.long)
        return (ten(mel), torch.tensor(frames), cat(tokens), torch.tensor(counts), torch.tensor(start), cat(full),
                torch.tensor(full_counts), ten(speech), torch.tensor(known, dtype=torch.long), ten(taught))


def ctc(logits, tokens, frames, counts):
    """Summed CTC loss; logits (B, n, 71)."""
    return F.ctc_loss(F.log_softmax(logits.float(), -1).transpose(0, 1), tokens, frames, counts, reduction="sum",
                      zero_infinity=True)


def divergence(logits, taught, inside):
    """Mean Kullback-Leibler divergence, over the frames inside, of a network's output from its teacher's.

    logits, taught (B, n, 71); inside (B, n). @see Li and Hoiem, "Learning without forgetting", 2016"""
    apart = F.kl_div(F.log_softmax(logits.float(), -1), F.log_softmax(taught.float(), -1), reduction="none", log_target=True)
    return (apart.sum(-1) * inside).sum() / inside.sum().clamp(min=1)


@functools.lru_cache(None)
def has_bf16(device):
    """Products of bf16 are fast on a GPU and on processors with AMX; on others fp32 is four times as fast."""
    if device != "cpu":
        return True
    with open("/proc/cpuinfo") as f:
        return "amx_bf16" in f.read()


def losses(model, batch, device, see_padding, teacher=None, remember=0.0):
    """(loss, causal per character, full per character, speech BCE, divergence from the teacher on known
    clips)."""
    mel, frames, tokens, counts, start, full_tokens, full_counts, speech, known, plain = batch
    mel, speech = mel.to(device), speech.to(device)
    n = speech.shape[1]
    at = torch.arange(n)[None]
    inside = (at < frames[:, None]) & (at >= start[:, None])
    with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=has_bf16(device)):
        encoded, causal, speech_logit, _ = model.encode(mel)
        full = model.refine(encoded, inside.to(device))
    # Before its start the refiner's output is a certain blank, which costs CTC nothing.
    blank = torch.full((full.shape[-1],), -30.0)
    blank[0] = 30.0
    before = (at < start[:, None])[..., None].to(device)
    full = torch.where(before, blank.to(device), full.float())
    tok = tokens if device == "cpu" else tokens.to(device)
    ftok = full_tokens if device == "cpu" else full_tokens.to(device)
    length = torch.full_like(frames, n) if see_padding else frames
    l_causal = ctc(causal, tok, length, counts) / max(1, int(counts.sum()))
    l_full = ctc(full, ftok, frames, full_counts) / max(1, int(full_counts.sum()))
    weight = (at < frames[:, None]).float().to(device)
    l_speech = F.binary_cross_entropy_with_logits(speech_logit.float(), speech, weight, reduction="sum")
    l_speech = l_speech / weight.sum()
    l_known = torch.zeros(())
    if teacher is not None and len(known):
        known, within = known.to(device), inside[known].float().to(device)
        with torch.no_grad(), torch.autocast(torch.device(device).type, torch.bfloat16, enabled=has_bf16(device)):
            encoded, taught, _, _ = teacher.encode(plain.to(device))
            taught_full = teacher.refine(encoded, within)
        l_known = divergence(full[known], taught_full, within) + 0.5 * divergence(causal[known], taught, weight[known])
    return l_full + 0.5 * l_causal + 0.3 * l_speech + remember * l_known, l_causal, l_full, l_speech, l_known


def rate(progress, step, peak, warmup, hold=0.2, floor=0.01):
    """Learning rate for the share of the time that has passed."""
    r = peak * min(1, (step + 1) / warmup)
    if progress > hold:
        r *= floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * min(1, (progress - hold) / (1 - hold))))
    return r


def masking(step, progress):
    """Share of clips with masked bands and stretches. A short run underfits, so only half, and none at the end."""
    return 0.5 if step >= 800 and progress < 0.75 else 0.0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minutes", type=float, default=75)
    p.add_argument("--device", default="cpu")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--warmup", type=int, default=300, help="steps")
    p.add_argument("--frames", type=int, default=8192, help="mel frames a batch (8192 = 82 s)")
    p.add_argument("--keep", type=float, default=0.999, help="of the averaged weights, from step to step")
    p.add_argument("--init", help="checkpoint whose averaged weights a new run starts from (fine-tuning), or the folder of "
                   "a shipped model, whose graphs give theirs")
    p.add_argument("--timbre", type=float, default=0.0, help="share of the clips that get another timbre, with strong masks")
    p.add_argument("--remember", type=float, default=0.0, help="weight of staying near what the shipped weights (--model) say of "
                   "the clips that they know")
    p.add_argument("--model", default=export.MODEL_DIR, help="folder of the shipped graphs, the teacher of --remember")
    p.add_argument("--stop", type=float, help="save and end at this minute; without it the run goes on to the last")
    p.add_argument("--dev", help="folder of `rhvoice.py dev`, scored beside the evaluation set")
    p.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what --minutes are of; the process may be stopped "
                   "and continued where they are the processor's")
    p.add_argument("--curriculum", type=float, default=CURRICULUM, help="share of the run on nearly clean shards only")
    p.add_argument("--shards", default=os.path.join(CACHE, "shards"))
    p.add_argument("--out", default=CACHE)
    p.add_argument("--model-dir", default=export.MODEL_DIR)
    p.add_argument("--eval-minutes", type=float, default=10)
    p.add_argument("--per-cell", type=int, default=40)
    a = p.parse_args()
    clock = time.process_time if a.clock == "cpu" else time.time
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    rng = np.random.default_rng(a.seed)
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "checkpoint.pt")
    shards = Shards(a.shards)
    if os.path.exists(path):
        shards.past = torch.load(path, map_location="cpu").get("uses", {})
    shards.refresh()
    model = Recognizer().to(a.device)
    mean, std = shards.statistics()
    if a.init and not os.path.exists(path):
        model.load_state_dict(starting_weights(a.init, shards))
    elif not a.init:
        model.mel_mean.copy_(torch.tensor(mean))
        model.mel_std.copy_(torch.tensor(std))
    decay = [q for q in model.parameters() if q.ndim > 1]
    other = [q for q in model.parameters() if q.ndim <= 1]
    opt = torch.optim.AdamW([dict(params=decay, weight_decay=0.02), dict(params=other, weight_decay=0.0)], lr=a.lr,
                            betas=(0.9, 0.98))
    step, spent, seen, curve = 0, 0.0, 0, []
    ema = {k: v.detach().clone() for k, v in model.state_dict().items()}
    if os.path.exists(path):
        ck = torch.load(path, map_location=a.device)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        ema, step, spent, seen, curve = ck["ema"], ck["step"], ck["spent"], ck["seen"], ck["curve"]
        rng = np.random.default_rng(a.seed + step)
        print("resumed at step %d, %.1f min" % (step, spent / 60), flush=True)
    shards.mean = model.mel_mean.cpu().numpy()
    teacher = None
    if a.remember:
        teacher = Recognizer().to(a.device).eval()
        teacher.load_state_dict(starting_weights(a.model, shards))
        shards.teaches = True

    averaged = Recognizer().to(a.device)
    items = None

    def save():
        torch.save(dict(config=model.config, model=model.state_dict(), ema=ema, optimizer=opt.state_dict(), step=step,
                        spent=spent + clock() - began, seen=seen, curve=curve, uses=shards.used()), path + ".part")
        os.rename(path + ".part", path)

    def report(final=False):
        nonlocal items
        averaged.load_state_dict(ema)
        entry = dict(minutes=round((spent + clock() - began) / 60, 1), step=step,
                     hours_seen=round(seen / 360000, 1), hours_distinct=round(shards.frames / 360000, 1), loss_full=round(recent[1], 4),
                     loss_causal=round(recent[0], 4), loss_speech=round(recent[2], 4), loss_known=round(recent[3], 4))
        if items is None and os.path.exists(os.path.join(evaluate.EVAL, "index.jsonl")):
            items = evaluate.load_set(a.per_cell, also=[a.dev] if a.dev else [])
        if items:
            entry["cer"] = evaluate.score(averaged, items, a.device, bf16=has_bf16(a.device))
        curve.append(entry)
        interface = export.export(averaged, a.model_dir)
        with open(os.path.join(a.out, "curve.json"), "w") as f:
            json.dump(dict(machine=machine(a.device, a.threads), parameters=parameters(model), config=model.config,
                           interface=interface, minutes=a.minutes, batch_mel_frames=a.frames, peak_lr=a.lr,
                           seed=a.seed, curve=curve), f, indent=1)
            f.write("\n")
        print(json.dumps(entry), flush=True)
        if final:
            shutil.copy(os.path.join(a.out, "curve.json"), os.path.join(a.model_dir, "training.json"))

    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    began = clock()
    last_save = spent
    last_report = spent // (a.eval_minutes * 60) * a.eval_minutes * 60
    recent = None  # running means of the losses
    done = spent >= a.minutes * 60
    while not done:
        shards.refresh()
        progress = (spent + clock() - began) / 60 / a.minutes
        longest = 600 if step < 300 and not a.init else 10000
        for group in shards.batches(rng, a.frames, progress < a.curriculum, longest):
            now = spent + clock() - began
            if now >= a.minutes * 60:
                done = True
                break
            for g in opt.param_groups:
                g["lr"] = rate(now / 60 / a.minutes, step, a.lr, a.warmup)
            model.train()
            batch = shards.assemble(rng, group, masking(step, now / 60 / a.minutes), a.timbre,
                                    now / 60 / a.minutes < 0.75)
            loss, *parts = losses(model, batch, a.device, rng.random() < 0.25, teacher, a.remember)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            if torch.isfinite(norm):
                opt.step()
            keep = min(a.keep, step / (step + 50.0))
            with torch.no_grad():
                for k, v in model.state_dict().items():
                    if v.dtype.is_floating_point:
                        ema[k].lerp_(v, 1 - keep)
                    else:
                        ema[k].copy_(v)
            parts = np.array([float(x.detach()) for x in parts])
            recent = parts if recent is None else 0.98 * recent + 0.02 * parts
            seen += int(batch[1].sum()) * 4
            step += 1
            if step % 50 == 0:
                print("%6.1f min step %d lr %.2e causal %.3f full %.3f speech %.4f known %.4f norm %.2f seen %.1f h of %.1f h" % (
                    now / 60, step, opt.param_groups[0]["lr"], *recent, norm, seen / 360000, shards.frames / 360000),
                    flush=True)
            if stop or a.stop and now >= 60 * a.stop:
                save()
                return
            if now - last_save > 300:
                last_save = now
                save()
            if now - last_report > a.eval_minutes * 60:
                last_report += a.eval_minutes * 60
                report()
    if recent is not None:
        report(final=True)
        save()


def starting_weights(init, shards):
    """State of a model: the averaged weights of a checkpoint, or those of the graphs in a folder."""
    if not os.path.isdir(init):
        return torch.load(init, map_location="cpu")["ema"]
    rows = [r for r in range(len(shards.clips)) if shards.clips[r, 2] >= CALIBRATION[1]][:CALIBRATION[0]]
    rng = np.random.default_rng(0)
    mel = np.stack([shards.assemble(rng, [r], 0.0)[0][0, :CALIBRATION[1]] for r in rows])
    return shipped.recognizer(init, torch.from_numpy(mel)).state_dict()


def machine(device, threads):
    """Describes the machine in words."""
    if device != "cpu":
        return torch.cuda.get_device_name(0)
    name = platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return "%s, %d thread(s), %s" % (name, threads, "bf16" if has_bf16(device) else "fp32")


if __name__ == "__main__":
    main()
