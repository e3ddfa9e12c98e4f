#!/bin/sh
# Trains the network of train.sh further on more varied sound: speech of Festival's concatenative voices,
# espeak-ng variants with random formants, codecs, and sounds that were mistaken for speech. Same
# architecture, same graphs.
#   sh finetune.sh                      # 90 minutes on one CPU core
# Requires, in addition to train.sh's packages: festival festvox-ru festvox-czech-dita festvox-czech-krb
# festvox-czech-machac festvox-czech-ph ffmpeg. It starts from ../.cache/recognizer/checkpoint.pt and the
# later half of its shards.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
BASE=$(realpath ../.cache/recognizer)
RECOGNIZER_CACHE=${NEXT:-$(realpath ../.cache)/next/recognizer}
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
SHARDS=$RECOGNIZER_CACHE/shards
mkdir -p "$SHARDS"
for number in $(seq 108 2 146); do # half of the Russian-heavy hours
  ln -sf "$BASE/shards/noisy_$number.npz" "$SHARDS/old_noisy_$number.npz"
done
seed=1
for voice in dita msu machac krb ph; do
  minutes=12
  [ $voice = msu ] && minutes=25
  "$PYTHON" concatenative.py --voice $voice --minutes $minutes --seed $seed --out "$RECOGNIZER_CACHE/concatenative"
  seed=$((seed + 1))
done
generate() {
  nice -n 19 "$PYTHON" generate.py --out "$SHARDS" --clean-hours 0 --shard-hours 0.4 --drawn 170 --recorded 0.025 0.3 \
    --mix 0.36 0.44 0.2 --workers "${WORKERS:-1}" "$@"
}
generate --hours 3.2 --seed 41
generate --hours 5.2 --seed 51 --silent 0.25 # a quarter of the clips without speech
"$PYTHON" train.py --init "$BASE/checkpoint.pt" --minutes "${MINUTES:-90}" --lr 1.2e-3 --warmup 200 --curriculum 0 --seed 21 \
  --shards "$SHARDS" --out "$RECOGNIZER_CACHE" --model-dir "$RECOGNIZER_CACHE/fp32" --device "${DEVICE:-cpu}" 2>&1 | tee -a "$RECOGNIZER_CACHE/train.log"
sh release.sh
