"""Constants shared by every step of the recipe (audio geometry, symbols, voices, paths)."""

import math
import os
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.dirname(os.path.dirname(HERE))
TEXT_DIR = os.path.join(HERE, "..", "data", "text")
CACHE = os.environ.get("SYNTHESIZER_CACHE", os.path.join(HERE, "..", ".cache", "synthesizer"))
REFERENCE_DIR = os.path.join(HERE, "..", ".cache", "reference")
OUTPUT = os.path.join(MODELS, "svc-kk-v1")

# ---------------------------------------------------------------- audio
SAMPLE_RATE = 24_000
HOP = 256  # samples per frame: 93.75 frames per second
N_FFT = 1024
N_BINS = N_FFT // 2 + 1
N_MELS = 80
MEL_MAX_HZ = 12_000.0
MEL_FLOOR = 1e-4  # magnitude floor before the logarithm
FRAME_RATE = SAMPLE_RATE / HOP

# F0 is stored as log Hz; the model sees (log f0 - F0_MEAN) / F0_SCALE.
F0_MEAN = math.log(160.0)
F0_SCALE = 0.5

# ---------------------------------------------------------------- text
LETTERS = "аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя"
PUNCTUATION = ",.!?:;—-"
SYMBOLS = ["<pad>", "^", "$", " "] + list(PUNCTUATION) + list(LETTERS)
TOKEN = {symbol: index for index, symbol in enumerate(SYMBOLS)}
PAD, BOS, EOS = 0, 1, 2

# Words per minute at which log_speed is 0.
BASE_RATE = 160
MIN_RATE, MAX_RATE = 80, 320


@dataclass(frozen=True)
class Voice:
    """One voice of the product and the espeak-ng variant that it is trained on."""

    id: str
    name: str
    espeak: str
    gender: str
    style: str
    best_for: str
    f0_range: tuple  # Hz; bounds of the pitch tracker, well outside what the variant says


VOICES = [
    Voice("aigul", "Aigul", "kk+Annie", "female",
          "clear and lively, wide intonation",
          "assistants, announcements, dialogue and learning material", (105.0, 400.0)),
    Voice("dauren", "Dauren", "kk+m7", "male",
          "low and even, unhurried",
          "news, long reading, instructions and telephone menus", (68.0, 190.0)),
    Voice("saule", "Saule", "kk+steph", "female",
          "soft and calm, narrow intonation",
          "bedtime and meditation texts, quiet guidance, long listening", (110.0, 260.0)),
    Voice("timur", "Timur", "kk+Nguyen", "male",
          "bright and brisk, high for a man",
          "advertisements, sport, navigation and short messages", (80.0, 240.0)),
]
DEFAULT_VOICE = "aigul"
