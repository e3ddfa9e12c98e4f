"""Tests for the parts of `people.sh`: python3 -m unittest test_people (requires ffmpeg, and `npm ci` for the
shipped graphs)."""
import csv
import glob
import os
import tempfile
import unittest

import numpy as np
import soundfile
import torch

import augment as A
import encoded as E
import rhvoice
import shipped
import text
import timbre
import train
from model import Recognizer

FACTORS = (0.85, 1.0, 1.2)


def tone(hertz, seconds=1.0):
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * A.RATE)) / A.RATE)).astype(np.float32)


class Timbre(unittest.TestCase):
    def test_formants_move_by_the_factor(self):
        for factor in FACTORS:
            for hertz in (500, 1500, 3000):
                here = A.log_mel(tone(hertz))[50] @ timbre.warping(factor)
                there = A.log_mel(tone(hertz * factor))[50]
                self.assertLessEqual(abs(int(here.argmax()) - int(there.argmax())), 1, (factor, hertz))

    def test_a_factor_of_one_and_even_spectra_stay(self):
        np.testing.assert_allclose(timbre.warping(1.0), np.eye(A.MELS), atol=1e-5)
        for matrix in [timbre.warping(f) for f in timbre.LENGTHS] + [timbre.blurring(w) for w in timbre.WIDTHS]:
            np.testing.assert_allclose(np.full(A.MELS, -3.0) @ matrix, -3.0, rtol=1e-4)

    def test_speech_gets_the_spectrum_of_another(self):
        rng = np.random.default_rng(1)
        mel = rng.normal(0, 1, (200, A.MELS)).astype(np.float32)
        own, other = timbre.style(mel, np.ones(200, bool)), (np.linspace(-1, 1, A.MELS), np.full(A.MELS, 1.1))
        mean, deviation = timbre.style(timbre.exchange(mel, own, other, 1.0, 1.0), np.ones(200, bool))
        np.testing.assert_allclose(mean - mean.mean(), other[0], atol=0.05)
        np.testing.assert_allclose(deviation, other[1], atol=0.05)

    def test_digital_silence_stays_and_no_level_falls_below_it(self):
        rng = np.random.default_rng(2)
        quiet = np.zeros(8000, np.float32)
        x = np.concatenate([quiet, tone(700) + 0.01 * rng.standard_normal(A.RATE).astype(np.float32), quiet])
        mel = A.log_mel(x)
        speech = mel.max(1) > 0
        for seed in range(20):
            changed = timbre.change(np.random.default_rng(seed), mel, speech, (np.zeros(A.MELS), np.ones(A.MELS)))
            self.assertTrue((changed[:45] == timbre.SILENCE).all())
            self.assertGreaterEqual(changed.min(), np.float32(timbre.SILENCE))

    def test_pace_wanders_from_the_first_frame_to_the_last_without_turning_back(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            at = timbre.pace(rng, 300, int(rng.integers(240, 340)))
            self.assertEqual((at[0], round(at[-1], 6)), (0.0, 299.0))
            self.assertGreater(np.diff(at).min(), 0)
            # Half a second may take half or twice its time, but nothing stops or is skipped.
            self.assertLess(np.diff(at).max() / np.diff(at).min(), 8)
            self.assertGreater(np.diff(at).std(), 0.03)
            np.testing.assert_allclose(timbre.stretch(np.arange(300.0), at), at, atol=1e-3)


class RhVoice(unittest.TestCase):
    def test_kazakh_is_spelled_for_a_kyrgyz_reader(self):
        for kazakh, spelled in (("Қыз келу", "кыз келүү"), ("дауыс", "дауыс"), ("оқу", "окуу"), ("тиіс", "тийис"),
                                ("қиын", "кыйын"), ("сәбиі", "сэбийи")):
            self.assertEqual(rhvoice.kyrgyz(kazakh), spelled)

    def test_held_out_sentences_are_not_packed_and_each_utterance_keeps_its_samples(self):
        said = ["Сегодня их было пять.", "Сегодня их было шесть."]
        kept_apart = "Сегодня их было двенадцать."  # by its letters one of a twentieth
        sentences = [said[0], text.heldout("ru")[0], kept_apart, said[1]]
        with tempfile.TemporaryDirectory() as folder:
            part = os.path.join(folder, "train-ru")
            os.makedirs(part)
            at, rows, sounds = 0, [], []
            for i, sentence in enumerate(sentences):
                sounds += [tone(300 + 200 * i, 0.5), np.zeros(4000, np.float32)]
                rows.append(dict(file="all.wav", start=at, end=at + 8000, text=sentence, voice="one"))
                at += 12000
            soundfile.write(os.path.join(part, "all.wav"), np.concatenate(sounds), A.RATE, subtype="PCM_16")
            with open(os.path.join(part, "transcripts.tsv"), "w", encoding="utf-8") as f:
                table = csv.DictWriter(f, list(rows[0]), delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None)
                table.writeheader()
                table.writerows(rows)
            out = os.path.join(folder, "packed")
            rhvoice.prepare(folder, out)
            train, dev = rhvoice.Voices(out), rhvoice.Voices(out, "dev")
            self.assertEqual([r[3] for r in train.rows["ru"]["one"]], said)
            self.assertEqual([r[3] for r in dev.rows["ru"]["one"]], [kept_apart])
            np.testing.assert_allclose(train.speech(train.rows["ru"]["one"][1]), tone(900, 0.5), atol=1e-4)
            self.assertEqual(rhvoice.Voices(out, without=["one"]).rows, {})


class Remembering(unittest.TestCase):
    def shards(self, folder):
        """One shard: a clip of espeak-ng and one of RHVoice, 2 s each, three letters in both."""
        rng, n = np.random.default_rng(3), 200
        np.savez(os.path.join(folder, "one.npz"), mel=rng.integers(60, 200, (2 * n, A.MELS), np.uint8), clip_start=[0, n, 2 * n],
                 token=np.array([3, 4, 5, 3, 4, 5], np.uint8), token_start=[0, 3, 6], speech=np.ones(2 * n, np.uint8),
                 seg_clip=[0, 1], seg_frame=[0, 0], seg_token=[0, 0], kind=np.array([0, 6], np.uint8))
        shards = train.Shards(folder)
        shards.refresh()
        shards.mean = np.zeros(A.MELS, np.float32)
        return shards

    def test_only_known_clips_are_compared_and_a_network_with_itself_has_nothing_to_regain(self):
        torch.manual_seed(1)
        model = Recognizer().eval()
        with tempfile.TemporaryDirectory() as folder:
            shards = self.shards(folder)
            shards.teaches = True
            batch = shards.assemble(np.random.default_rng(4), [1, 0], 0.0)
            self.assertEqual(batch[-2].tolist(), [1])
            self.assertTrue(torch.equal(batch[-1], batch[0][1:]))
            with torch.no_grad():
                same = float(train.losses(model, batch, "cpu", False, model, 1.0)[-1])
                other = float(train.losses(model, batch, "cpu", False, Recognizer().eval(), 1.0)[-1])
            self.assertAlmostEqual(same, 0.0, places=3)
            self.assertGreater(other, 0.1)

    def test_the_teacher_hears_the_clip_at_the_same_pace_in_its_own_timbre(self):
        with tempfile.TemporaryDirectory() as folder:
            shards = self.shards(folder)
            shards.teaches = True
            for seed in range(8):
                mel, frames, *_, known, plain = shards.assemble(np.random.default_rng(seed), [0], 0.0, changed=1.0)
                self.assertEqual((known.tolist(), plain.shape), ([0], mel.shape))
                self.assertFalse(torch.equal(plain, mel))
                self.assertEqual(int(frames), plain.shape[1] // 4)


class Shipped(unittest.TestCase):
    def test_floats_hear_what_the_shipped_graphs_hear(self):
        path = sorted(glob.glob(os.path.join(E.ROOT, "test", "fixtures", "speech", "pisets-ru-test", "*.flac")))[0]
        x, rate = soundfile.read(path, dtype="float32")
        self.assertEqual(rate, A.RATE)
        x = np.pad(x, (0, -len(x) % A.FRAME))
        encoder = E.Encoder()
        wanted = E.to_float(encoder(x))
        encoder.close()
        mel = torch.from_numpy(A.log_mel(np.pad(x, (0, E.FLUSH * A.FRAME))))[None]
        model = shipped.recognizer(E.MODEL, mel)
        with torch.no_grad():
            heard = model.eval().encode(mel)[0][0].numpy()
        # The rest is the rounding of activations to 8 bits.
        self.assertLess(np.abs(heard - wanted).mean(), 0.1 * wanted.std())
        with torch.no_grad():
            again = shipped.blended(Recognizer().eval(), E.MODEL, 0.0).encode(mel)[0][0].numpy()
            itself = shipped.blended(model, E.MODEL, 1.0).encode(mel)[0][0].numpy()
        np.testing.assert_allclose(again, heard, atol=1e-3)
        np.testing.assert_allclose(itself, heard, atol=1e-3)


if __name__ == "__main__":
    unittest.main()
