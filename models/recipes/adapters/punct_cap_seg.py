"""The interface of 1-800-BAD-CODE's punctuation models: ids of SentencePiece tokens in, four rows of labels
out. Also writes how its own library (python3-sentencepiece) splits texts, for the tests of the tokenizer, and
how a plain reading of the labels renders words."""
import json
import os
import subprocess
import tempfile

import sentencepiece
import torch

from tiny import FIXTURES, export, seed, write_manifest

PACKAGE = "tiny-punct-cap-seg"
TEXTS = os.path.join(os.path.dirname(__file__), "../data/text")
REFERENCES = os.path.join(FIXTURES, "../sentencepiece")
PIECES, WIDTH, LONGEST_PIECE, REACH = 1_000, 12, 16, 2
LABELS = ["<NULL>", "<ACRONYM>", ".", ",", "?", "？", "，", "。"]
LONGEST, OVERLAP = 32, 16
# Normalization of the tiny package; that of the published models takes 240 KB.
RULES = {"Ё": "ё", "\u0438\u0306": "й", "\u00a0": " ", "\u200b": "", "…": "...", "№": "no"}
EDGES = ["", " ", "   a  b ", "\u00a0kk\u2003ru\u3000", "\u200bнуль\u200b", "ёлка Ёлка е\u0308ж и\u0306", "ﬁﬂ №5 ½ ㎏ Ⅻ ²", "ＡＢＣ１２３",
         "қазақ тілі ә ғ қ ң ө ұ ү һ і", "ӘҒҚҢӨҰҮҺІ", "😀😀 сәлем 👋🏽", "漢字かな 한국어", "\x00\x01a\x7fb\tc\nd", "a\ufeffb\ufffd", "«тырнақша» — сызықша-",
         "алма-ата нью-йорк", "ы" * 300, "▁ ▁▁ x▁y", "<s> </s> <unk> <pad>", "e\u0301le\u0300ve n\u0303", "ǅ ß ſ İ ı", "…‥ ‰ ℃ ™ ®"]
LINES = {"kk-heldout": 500, "ru-heldout": 500, "mixed-heldout": 200, "kk-latin": 300}


class Labeller(torch.nn.Module):
    """Each label depends on two tokens on either side, so windows with a longer overlap give the labels of the whole text."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(PIECES, WIDTH)
        self.mix = torch.nn.Conv1d(WIDTH, WIDTH, 2 * REACH + 1, padding=REACH)
        self.pre = torch.nn.Linear(WIDTH, 2)
        self.post = torch.nn.Linear(WIDTH, len(LABELS))
        self.cap = torch.nn.Linear(WIDTH, LONGEST_PIECE)
        self.seg = torch.nn.Linear(WIDTH, 1)
        with torch.no_grad():
            self.embedding.weight *= 3
            self.post.bias[0] += 0.4
            self.cap.bias -= 0.7

    def forward(self, input_ids):
        h = torch.tanh(self.mix(self.embedding(input_ids).transpose(1, 2)).transpose(1, 2))
        ends = self.seg(h).squeeze(-1) > 0
        return self.pre(h).argmax(-1), self.post(h).argmax(-1), self.cap(h) > 0, ends


def lines_of(name):
    script = "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(process.argv[1])))"
    text = subprocess.run(["node", "-e", script, os.path.join(TEXTS, f"{name}.txt.br")], capture_output=True, check=True).stdout
    return text.decode().rstrip("\n").split("\n")


def train(path, lines, **options):
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        with open(text, "w", encoding="utf-8") as out:
            out.write("\n".join(lines))
        prefix = os.path.join(folder, "m")
        sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=prefix, num_threads=1, minloglevel=2,
                                                 bos_id=0, pad_id=1, eos_id=2, unk_id=3, **options)
        with open(f"{prefix}.model", "rb") as trained, open(path, "wb") as out:
            out.write(trained.read())


def compress(value, path):
    script = "const {readFileSync,writeFileSync}=require('fs');writeFileSync(process.argv[1],require('zlib').brotliCompressSync(readFileSync(0)))"
    subprocess.run(["node", "-e", script, path], input=value, check=True)


def write_tokenizers():
    kk, ru, mixed = (lines_of(name) for name in ("kk-heldout", "ru-heldout", "mixed-heldout"))
    os.makedirs(REFERENCES, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as rules:
        for source, target in RULES.items():
            rules.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        rules.flush()
        tiny = os.path.join(FIXTURES, PACKAGE, "tokenizer.model")
        os.makedirs(os.path.dirname(tiny), exist_ok=True)
        train(tiny, [line.lower() for line in kk + ru + mixed], vocab_size=PIECES, normalization_rule_tsv=rules.name)
    full = os.path.join(tempfile.gettempdir(), "nmt-nfkc.model")
    train(full, kk + ru + mixed, vocab_size=2_000, normalization_rule_name="nmt_nfkc", user_defined_symbols="<mask>")
    with open(full, "rb") as model:
        compress(model.read(), os.path.join(REFERENCES, "nmt-nfkc.model.br"))
    texts = {name: lines_of(name)[:count] for name, count in LINES.items()}
    encodings = {"edges": EDGES}
    for name, path in (("tiny", tiny), ("nmtNfkc", full)):
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        encodings[name] = {"edges": processor.encode(EDGES), **{file: processor.encode(lines) for file, lines in texts.items()}}
    compress(json.dumps(encodings, ensure_ascii=False).encode(), os.path.join(REFERENCES, "encodings.json.br"))
    return sentencepiece.SentencePieceProcessor(model_file=tiny)


def plain_reading(words, processor, model):
    """The whole text in one run, each piece written as its labels specify; marks inside words are dropped."""
    ids = [processor.encode(word) for word in words]
    flat = [processor.bos_id(), *sum(ids, []), processor.eos_id()]
    with torch.no_grad():
        _, post, cap, _ = (out[0, 1:-1].tolist() for out in model(torch.tensor([flat])))
    read, at = [], 0
    for word, own in zip(words, ids):
        written = ""
        for nth, token in enumerate(own):
            for index, char in enumerate(processor.id_to_piece(token)):
                if char == "▁":
                    continue
                written += char.upper() if cap[at + nth][index] else char
                written += "." if LABELS[post[at + nth]] == "<ACRONYM>" else ""
        at += len(own)
        label = LABELS[post[at - 1]]
        read.append([written, {"<NULL>": "", "<ACRONYM>": "", "？": "?", "，": ",", "。": "."}.get(label, label)])
    return read


def main():
    seed(11)
    model = Labeller()
    names = ["pre_preds", "post_preds", "cap_preds", "seg_preds"]
    inputs = (torch.randint(0, PIECES, (1, 9)),)
    export(PACKAGE, "model.onnx", model, inputs, ["input_ids"], names, {name: {0: "B", 1: "T"} for name in ["input_ids", *names]})
    processor = write_tokenizers()
    known = [word for line in lines_of("ru-heldout") + lines_of("kk-heldout") for word in line.lower().split()]
    words = [word for word in known if word.isalpha() and 3 not in processor.encode(word)][:600]
    reference = {"words": words, "read": plain_reading(words, processor, model)}
    compress(json.dumps(reference, ensure_ascii=False).encode(), os.path.join(REFERENCES, "plain-reading.json.br"))
    write_manifest(PACKAGE, {"task": "punctuation", "family": "punct-cap-seg", "languages": ["kk", "ru"], "longestTokens": LONGEST,
                             "overlapTokens": OVERLAP, "postLabels": LABELS},
                   {"model": "model.onnx", "tokenizer": "tokenizer.model"})


if __name__ == "__main__":
    main()
