"""The full-context second pass alone: trained further, or in another size, on the output of the shipped
streaming half.

    second_pass.py train --out FOLDER [--centred 1 2 4 8 1] [--channels 384] --minutes 12
    second_pass.py export --checkpoint FOLDER/checkpoint.pt --out FOLDER

`generate.py --encoded` makes the shards. A new run starts from the weights of the shipped `full.onnx`,
regardless of size: the int8 weights become floats again and get batch norms that change nothing; additional
blocks start with almost no effect, additional channels with none. If stopped (SIGTERM saves first) and
started again with the same folder, a run resumes; more `--minutes` extend it. Everything is fp32, one thread
by default.
"""
import argparse
import json
import os
import signal
import time
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

import encoded as E
import evaluate
import export
import text
import train
import fewer_nodes
from model import OUTPUTS, Centred, affine, parameters

SHIPPED = [1, 2, 4, 8, 1]  # dilations of the blocks that the shipped weights have had since the first run
NEW_GAIN = 0.1  # of the batch norm of a new block: how much it adds at first
CALIBRATION = 64  # clips whose statistics the batch norms begin with


class SecondPass(nn.Module):
    """encoded (B, n, 384), mask (B, n) -> logits (B, n, 71).

    config: channels of the blocks, at least 384; centred: dilation of each block. Channels beyond 384 are a product of the
    others, beside which the encoding itself stays as it is."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        c = config["channels"]
        self.widen = nn.Linear(E.WIDTH, c - E.WIDTH) if c > E.WIDTH else None
        self.centred = nn.ModuleList(Centred(c, d) for d in config["centred"])
        self.full_norm = nn.BatchNorm1d(c)
        self.full_head = nn.Linear(c, OUTPUTS)

    def refine(self, encoded, mask):
        mask = mask[..., None].to(encoded.dtype)
        x = encoded if self.widen is None else torch.cat([encoded, self.widen(encoded)], -1)
        x = x * mask
        for block in self.centred:
            x = block(x, mask)
        if isinstance(self.full_norm, tuple):
            x = x * self.full_norm[0] + self.full_norm[1]
        else:
            x = self.full_norm(x.reshape(-1, x.shape[-1])).reshape(x.shape)
        return self.full_head(x)

    def folded(self):
        """Copy in evaluation mode with every batch norm folded away."""
        m = SecondPass(self.config)
        m.load_state_dict(self.state_dict())
        m.eval()
        pair = affine(m.full_norm)
        for block in m.centred:
            block.fold()
        del m.full_norm
        m.full_norm = pair
        return m


# ---------------------------------------------------------------- weights of a shipped graph


def shipped(path):
    """[(matrix (in, out), bias)] of the blocks, (scale, shift) of the last norm, (matrix, bias) of the head, of an int8 `full.onnx`."""
    graph = fewer_nodes.plain(onnx.load(path)).graph
    made = {o: n for n in graph.node for o in n.output}
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    products = []
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        name = node.output[0][:-len(".sum")]
        matrix = values[name + ".int8"].astype(np.float32) * (values[name + ".scale"] / values[name + ".step"])
        add = next(n for n in graph.node if n.op_type == "Add" and name in n.input)
        products.append((matrix, next(values[i] for i in add.input if i in values)))
    quantize = next(n for n in graph.node if n.op_type == "QuantizeLinear" and "full_head" in n.output[0])
    shift = made[quantize.input[0]]
    scale = made[next(i for i in shift.input if i not in values)]
    constant = lambda node: next(values[i] for i in node.input if i in values)
    return products[:-1], (constant(scale), constant(shift)), products[-1]


def place(matrix, channels):
    """(3 x 384, 384) -> (channels, 3 x channels): a block's weights among more channels, zero from the new
    ones."""
    wide = torch.zeros(channels, 3, channels)
    wide[:E.WIDTH, :, :E.WIDTH] = torch.from_numpy(matrix).T.reshape(E.WIDTH, 3, E.WIDTH)
    return wide.reshape(channels, 3 * channels)


def begin(model, path, batch):
    """Gives a new model the weights of a shipped graph. Batch norms start with the statistics of `batch`
    (encoded, mask) and with gains and offsets that undo them."""
    blocks, (scale, shift), (head, head_bias) = shipped(path)
    channels = model.config["channels"]
    kept = {i: w for i, w in enumerate(blocks)}
    if len(model.centred) < len(blocks):  # a smaller one takes those of the same dilation, each once, in order
        left = list(zip(SHIPPED, blocks))
        for i, block in enumerate(model.centred):
            while left[0][0] != block.dilation:
                left.pop(0)
            kept[i] = left.pop(0)[1]
    encoded, mask = batch
    inside = mask.reshape(-1) > 0
    model.eval()
    with torch.no_grad():
        x = encoded if model.widen is None else torch.cat([encoded, model.widen(encoded)], -1)
        x = x * mask[..., None]
        for i, block in enumerate(model.centred):
            norm = block.norm
            old = kept.get(i) if i < len(blocks) else None
            if old is not None:
                fresh = block.linear.weight.clone()
                block.linear.weight.copy_(place(old[0], channels))
                block.linear.weight[E.WIDTH:] = fresh[E.WIDTH:]
            block.norm = None
            seen = []
            handle = block.linear.register_forward_hook(lambda _m, _i, out: seen.append(out))
            block(x, mask[..., None])
            handle.remove()
            block.norm = norm
            y = seen[0].reshape(-1, channels)[inside]
            set_statistics(norm, y)
            if old is None:
                norm.weight.fill_(NEW_GAIN)
            else:
                norm.weight[:E.WIDTH] = torch.sqrt(norm.running_var + norm.eps)[:E.WIDTH]
                norm.bias[:E.WIDTH] = norm.running_mean[:E.WIDTH] + torch.from_numpy(old[1].copy())
            x = block(x, mask[..., None])
        set_statistics(model.full_norm, x.reshape(-1, channels)[inside])
        norm = model.full_norm
        norm.weight[:E.WIDTH] = torch.from_numpy(scale.copy()) * torch.sqrt(norm.running_var + norm.eps)[:E.WIDTH]
        norm.bias[:E.WIDTH] = torch.from_numpy(shift + scale * norm.running_mean[:E.WIDTH].numpy())
        model.full_head.weight.zero_()
        model.full_head.weight[:, :E.WIDTH] = torch.from_numpy(head.T.copy())
        model.full_head.bias.copy_(torch.from_numpy(head_bias.copy()))


def set_statistics(norm, y):
    norm.running_mean.copy_(y.mean(0))
    norm.running_var.copy_(y.var(0))


def blend(model, path, share):
    """Folded copy of a model of the shipped size whose weights are `share` of the way from a shipped graph's
    to its own: it loses less of what the shipped weights know of other sounds than of what it has learned
    from one (Wortsman et al., "Robust fine-tuning of zero-shot models", 2022)."""
    blocks, norm, (head, head_bias) = shipped(path)
    m = model.folded()
    if m.config != dict(channels=E.WIDTH, centred=SHIPPED):
        raise ValueError("only a model of the shipped size can be blended, not %s" % m.config)
    mix = lambda mine, theirs: theirs + share * (mine - theirs)
    tensor = lambda array: torch.from_numpy(array.copy())
    with torch.no_grad():
        for block, (matrix, bias) in zip(m.centred, blocks):
            block.linear.weight.copy_(mix(block.linear.weight, tensor(matrix.T)))
            block.linear.bias.copy_(mix(block.linear.bias, tensor(bias)))
        m.full_norm = tuple(mix(mine, tensor(theirs)) for mine, theirs in zip(m.full_norm, norm))
        m.full_head.weight.copy_(mix(m.full_head.weight, tensor(head.T)))
        m.full_head.bias.copy_(mix(m.full_head.bias, tensor(head_bias)))
    return m.eval()


# ---------------------------------------------------------------- data


class Encodings(train.Shards):
    """Shards of `generate.py --encoded`; lengths are encoder frames."""

    def assemble(self, rng, group, masked):
        """masked: share of the clips with stretches of zeros. encoded (B, n, 384), frames (B), tokens (sum), counts (B)."""
        parts, tokens = [], []
        for r in group:
            s, c, n, _ = self.clips[r]
            z = self.data[s]
            a = z["clip_start"][c]
            t = z["token"][z["token_start"][c]:z["token_start"][c + 1]].astype(np.int64)
            # The service's second pass often starts inside audio that the encoder has processed.
            k = np.flatnonzero(z["seg_clip"] == c)
            at, first = 0, 0
            if len(k) > 1 and rng.random() < 0.5:
                k = k[rng.integers(1, len(k))]
                first = max(0, int(z["seg_frame"][k] - rng.uniform(20, 40)) // 4)
                at = int(z["seg_token"][k])
            x = E.to_float(z["encoded"][a + first:a + n - int(rng.integers(0, E.FLUSH + 1))])
            if rng.random() < masked:
                for _ in range(max(1, len(x) // 75)):
                    w = int(rng.integers(0, 6))
                    f = int(rng.integers(0, max(1, len(x) - w)))
                    x[f:f + w] = 0
            parts.append(x)
            tokens.append(t[at:])
        frames = [len(x) for x in parts]
        encoded = np.zeros((len(parts), max(frames), E.WIDTH), np.float32)
        for row, x in zip(encoded, parts):
            row[:len(x)] = x
        return (torch.from_numpy(encoded), torch.tensor(frames), torch.from_numpy(np.concatenate(tokens)),
                torch.tensor([len(t) for t in tokens]))


def inside(frames, n):
    return (torch.arange(n)[None] < frames[:, None]).float()


def score(model, items, frames=4096):
    """Set -> {cer, wer: greedy, %, ё as е} of [(set, reference, encoding)]; also the mean over the sets."""
    model.eval()
    order = sorted(range(len(items)), key=lambda i: len(items[i][2]))
    sums, at = {}, 0
    while at < len(order):
        end = at + 1
        while end < len(order) and len(items[order[end]][2]) * (end + 1 - at) <= frames:
            end += 1
        group = [items[i] for i in order[at:end]]
        at = end
        lengths = torch.tensor([len(x) for _, _, x in group])
        encoded = torch.zeros(len(group), int(lengths.max()), E.WIDTH)
        for row, (_, _, x) in zip(encoded, group):
            row[:len(x)] = torch.from_numpy(E.to_float(x))
        with torch.no_grad():
            best = model.refine(encoded, inside(lengths, encoded.shape[1])).argmax(-1)
        for (name, reference, x), row in zip(group, best):
            guess = text.fold(text.decode(row[:len(x)].tolist()))
            s = sums.setdefault(name, np.zeros(4))
            s += [evaluate.distance(guess, reference), len(reference),
                  evaluate.distance(guess.split(), reference.split()), len(reference.split())]
    out = {name: dict(cer=round(100 * s[0] / s[1], 2), wer=round(100 * s[2] / s[3], 1)) for name, s in sorted(sums.items())}
    out["mean"] = {k: round(float(np.mean([v[k] for v in out.values()])), 2) for k in ("cer", "wer")}
    return out


# ---------------------------------------------------------------- training


def rate(progress, step, a):
    """Warm-up, constant, and over the last `--decay` of the time down to a fiftieth."""
    r = a.lr * min(1, (step + 1) / a.warmup)
    left = (1 - progress) / a.decay if a.decay else 1
    return r * min(1, max(0.02, left))


def load(path):
    """Checkpoint -> (model with averaged weights, checkpoint)."""
    ck = torch.load(path, map_location="cpu")
    model = SecondPass(ck["config"])
    model.load_state_dict(ck["ema"])
    return model.eval(), ck


def run(a):
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "checkpoint.pt")
    ck = torch.load(path, map_location="cpu") if os.path.exists(path) else None
    model = SecondPass(ck["config"] if ck else dict(channels=a.channels, centred=a.centred))
    averaged = SecondPass(model.config)
    shards = Encodings(a.shards)
    shards.past = ck["uses"] if ck else {}
    shards.refresh()
    dev = E.dev_set()
    step, spent, seen, curve = (ck["step"], ck["spent"], ck["seen"], ck["curve"]) if ck else (0, 0.0, 0, [])
    rng = np.random.default_rng(a.seed + step)
    if ck:
        model.load_state_dict(ck["model"])
    else:
        rows = [r for r in range(len(shards.clips)) if shards.clips[r, 2] < 200][:CALIBRATION]
        encoded, frames, _, _ = shards.assemble(rng, rows, 0)
        begin(model, a.init, (encoded, inside(frames, encoded.shape[1])))
    decayed = [q for q in model.parameters() if q.ndim > 1]
    other = [q for q in model.parameters() if q.ndim <= 1]
    opt = torch.optim.AdamW([dict(params=decayed, weight_decay=0.02), dict(params=other, weight_decay=0.0)], lr=a.lr,
                            betas=(0.9, 0.98))
    if ck:
        opt.load_state_dict(ck["optimizer"])
        print("resumed at step %d, %.1f min" % (step, spent / 60), flush=True)
    ema = ck["ema"] if ck else {k: v.detach().clone() for k, v in model.state_dict().items()}
    began = time.process_time()
    now = lambda: spent + time.process_time() - began
    paused = 0.0  # seconds of scoring, which are not training

    def save():
        torch.save(dict(config=model.config, model=model.state_dict(), ema=ema, optimizer=opt.state_dict(), step=step,
                        spent=now() - paused, seen=seen, curve=curve, uses=shards.used()), path + ".part")
        os.rename(path + ".part", path)

    def report():
        nonlocal paused
        started = time.process_time()
        averaged.load_state_dict(ema)
        entry = dict(minutes=round((now() - paused) / 60, 1), step=step, hours_seen=round(seen / 90000, 1),
                     hours_distinct=round(shards.frames / 90000, 1), loss=round(recent, 4), dev=score(averaged, dev))
        curve.append(entry)
        with open(os.path.join(a.out, "curve.json"), "w", encoding="utf-8") as f:
            json.dump(dict(machine=train.machine("cpu", a.threads).replace("bf16", "fp32"), parameters=parameters(model),
                           config=model.config, peak_lr=a.lr, batch_frames=a.frames, minutes=a.minutes, curve=curve), f, indent=1)
            f.write("\n")
        print(json.dumps(entry, ensure_ascii=False), flush=True)
        paused += time.process_time() - started

    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    recent, last_save, last_report = None, spent, spent
    done = spent >= a.minutes * 60
    while not done:
        shards.refresh()
        for group in shards.batches(rng, a.frames, False, 10 ** 6):
            at = now() - paused
            done = at >= a.minutes * 60
            if done:
                break
            progress = at / 60 / a.minutes
            for g in opt.param_groups:
                g["lr"] = rate(progress, step, a)
            model.train()
            masked = a.masked if progress < 1 - a.decay / 2 else 0.0
            encoded, frames, tokens, counts = shards.assemble(rng, group, masked)
            logits = model.refine(encoded, inside(frames, encoded.shape[1]))
            loss = train.ctc(logits, tokens, frames, counts) / max(1, int(counts.sum()))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            if torch.isfinite(norm):
                opt.step()
            keep = min(a.average, (step + 1) / (step + 5))
            with torch.no_grad():
                for k, v in model.state_dict().items():
                    if v.dtype.is_floating_point:
                        ema[k].lerp_(v, 1 - keep)
                    else:
                        ema[k].copy_(v)
            value = float(loss.detach())
            recent = value if recent is None else 0.98 * recent + 0.02 * value
            seen += int(frames.sum())
            step += 1
            if step % 50 == 0:
                print("%6.1f min step %d lr %.2e loss %.3f norm %.2f seen %.1f h of %.1f h" % (
                    at / 60, step, opt.param_groups[0]["lr"], recent, norm, seen / 90000, shards.frames / 90000), flush=True)
            if stop:
                save()
                return
            if at - last_save > 120:
                last_save = at
                save()
            if at - last_report > a.eval_minutes * 60:
                last_report = at
                report()
    if recent is not None:
        report()
        save()


# ---------------------------------------------------------------- export


class Full(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.net = folded

    def forward(self, encoded, mask):
        return torch.log_softmax(self.net.refine(encoded, mask), -1)


def write_check(model, folder, rows=12):
    """Encodings of development sentences and torch's results for them, for `verify_second_pass.mjs`."""
    items = E.dev_set()
    encoded = [E.to_float(x) for _, _, x in items[::len(items) // rows][:rows]]
    lengths = [len(x) for x in encoded]
    batch = torch.zeros(len(encoded), max(lengths), E.WIDTH)
    for row, x in zip(batch, encoded):
        row[:len(x)] = torch.from_numpy(x)
    with torch.no_grad():
        said = torch.log_softmax(model.refine(batch, inside(torch.tensor(lengths), max(lengths))), -1)
    batch.numpy().tofile(os.path.join(folder, "check.encoded"))
    said.numpy().tofile(os.path.join(folder, "check.log_probs"))
    with open(os.path.join(folder, "check.json"), "w") as f:
        json.dump(dict(lengths=lengths, width=E.WIDTH), f)


def write_graph(model, path):
    """fp32 graph, opset 17; it gets its final name only when complete."""
    axes = {name: {0: "batch", 1: "frames"} for name in ("encoded", "mask", "log_probs")}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Full(model).eval(), (torch.zeros(2, 5, E.WIDTH), torch.ones(2, 5)), path + ".part",
                          opset_version=17, input_names=["encoded", "mask"], output_names=["log_probs"], dynamic_axes=axes,
                          do_constant_folding=True)
    os.rename(path + ".part", path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    t = commands.add_parser("train")
    t.add_argument("--out", required=True)
    t.add_argument("--shards", default=os.path.join(export.CACHE, "..", "second-pass", "shards"))
    t.add_argument("--init", default=os.path.join(E.MODEL, "full.onnx"), help="int8 graph that a new run starts from")
    t.add_argument("--channels", type=int, default=E.WIDTH)
    t.add_argument("--centred", type=int, nargs="+", default=SHIPPED, help="dilation of each block")
    t.add_argument("--minutes", type=float, default=12, help="of processor time in training, scoring left out")
    t.add_argument("--lr", type=float, default=3e-4)
    t.add_argument("--warmup", type=int, default=40, help="steps")
    t.add_argument("--decay", type=float, default=0.8, help="share of the time, at the end, in which the rate falls")
    t.add_argument("--average", type=float, default=0.998, help="of the weights kept from step to step in their running mean")
    t.add_argument("--masked", type=float, default=0.1, help="share of the clips with stretches of zeros")
    t.add_argument("--frames", type=int, default=2048, help="encoder frames a batch (2048 = 82 s)")
    t.add_argument("--eval-minutes", type=float, default=4)
    t.add_argument("--threads", type=int, default=1)
    t.add_argument("--seed", type=int, default=1)
    x = commands.add_parser("export")
    x.add_argument("--checkpoint", required=True)
    x.add_argument("--out", required=True)
    x.add_argument("--blend", type=float, default=1, help="share of the way from the weights of --init to the trained ones")
    x.add_argument("--init", default=os.path.join(E.MODEL, "full.onnx"), help="int8 graph that the run began with")
    x.add_argument("--score", action="store_true", help="print greedy error rates of the development sentences")
    a = p.parse_args()
    if a.command == "train":
        run(a)
    else:
        torch.set_num_threads(1)
        os.makedirs(a.out, exist_ok=True)
        model = load(a.checkpoint)[0]
        model = model.folded() if a.blend == 1 else blend(model, a.init, a.blend)
        if a.score:
            print(json.dumps(score(model, E.dev_set())))
        write_graph(model, os.path.join(a.out, "fp32.onnx"))
        write_check(model, a.out)


if __name__ == "__main__":
    main()
