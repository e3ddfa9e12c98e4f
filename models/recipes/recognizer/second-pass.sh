#!/bin/sh
# Trains the second pass further on new speech, as the shipped streaming half encodes it; stream.onnx stays
# unchanged.
#   sh second-pass.sh                                             # half an hour on one core
#   CENTRED="1 2 4 8 1 2 4 8 1" RUN=nine BLEND=1 sh second-pass.sh  # another size
# Requires finetune.sh's packages, `npm ci` and `npm run build`, and the development sentences of
# ../language-model/make_dev_audio.py. If stopped and started again, it resumes; more MINUTES extend it.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RECOGNIZER_CACHE=$(realpath -m ../.cache/second-pass)
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
SHARDS=$RECOGNIZER_CACHE/shards
RUN=$RECOGNIZER_CACHE/${RUN:-run}
mkdir -p "$SHARDS"
[ -f ../.cache/dev/index.jsonl ] || "$PYTHON" ../language-model/make_dev_audio.py
seed=201
for voice in msu dita krb machac ph; do
  minutes=6
  [ $voice = msu ] && minutes=15
  [ -d "$RECOGNIZER_CACHE/concatenative/$voice" ] ||
    "$PYTHON" concatenative.py --voice $voice --minutes $minutes --seed $seed --out "$RECOGNIZER_CACHE/concatenative"
  seed=$((seed + 1))
done
generate() {
  nice -n 19 "$PYTHON" generate.py --encoded --out "$SHARDS" --shard-hours 0.4 --clean-hours 9.2 --workers "${WORKERS:-1}" "$@"
}
# Nearly clean speech of the plain variants, Russian first, and further hours of all kinds of finetune.sh.
generate --hours 9.2 --mix 0.20 0.62 0.18 --recorded 0.015 0.03 --silent 0.04 --seed 301
generate --hours 12.8 --mix 0.26 0.54 0.20 --recorded 0.025 0.10 --silent 0.05 --coded 0.015 --drawn 170 --seed 201
"$PYTHON" second_pass.py train --out "$RUN" --shards "$SHARDS" --channels "${CHANNELS:-384}" --centred ${CENTRED:-1 2 4 8 1} \
  --minutes "${MINUTES:-12}"
BLEND=${BLEND:-0.6} sh release-second-pass.sh "$RUN"
