#!/bin/sh
# Trains the shipped network further on the data of `people.sh`, on new clips of all voices: an hour of one
# core.
#   RHVOICE=FOLDER sh people.sh && sh further.sh
# Needs no checkpoint: it starts from the shipped int8 graphs. If stopped and started again, it resumes.
# Ends with $RUN/checkpoint.pt and, SHARE of the way to it, $RUN/release/checkpoint.pt, for RECOGNIZER_CACHE=$RUN/release sh release.sh.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RECOGNIZER_CACHE=$(realpath "${RECOGNIZER_CACHE:-../.cache/people}")
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
RUN=$RECOGNIZER_CACHE/${RUN:-further}
mkdir -p "$RUN/shards" "$RUN/release"
"$PYTHON" generate.py --out "$RUN/shards" --shard-hours 0.25 --hours "${HOURS:-30}" --clean-hours "${CLEAN_HOURS:-10}" --rhvoice 0.34 \
  --kazakh 0.5 --mix 0.31 0.51 0.18 --recorded 0.08 0.07 --silent 0.05 --coded 0.03 --drawn 170 --noise 0.5 4 24 \
  --workers "${WORKERS:-1}" --seed 7001
"$PYTHON" train.py --init ../../svc-kk-ru-v2 --remember 3 --timbre 0.5 --curriculum 0 --clock wall --minutes "${MINUTES:-58}" \
  --frames 4096 --lr 2.2e-4 --warmup 40 --keep 0.998 --seed 81 --shards "$RUN/shards" --dev "$RECOGNIZER_CACHE/dev" --out "$RUN" \
  --model-dir "$RUN/fp32" --device "${DEVICE:-cpu}"
"$PYTHON" shipped.py "$RUN/checkpoint.pt" "${SHARE:-0.5}" "$RUN/release/checkpoint.pt"
cp "$RUN/curve.json" "$RUN/release/curve.json"
