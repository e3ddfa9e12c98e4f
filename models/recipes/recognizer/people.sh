#!/bin/sh
# Trains the shipped network further on RHVoice's voices, which are models of people, each clip in another timbre (`timbre.py`).
# Needs no checkpoint: it starts from the shipped int8 graphs.
#   RHVOICE=FOLDER sh people.sh                                       # the folder of `rhvoice.py`; an hour of one core
#   RHVOICE=FOLDER WITHOUT="anna nazgul" RUN=without sh people.sh     # those voices are left, to be tested with
# Needs what train.sh needs, and ffmpeg. Stopped and started again it goes on; with more MINUTES it is lengthened.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RHVOICE=$(realpath "$RHVOICE")
RECOGNIZER_CACHE=$(realpath -m "${RECOGNIZER_CACHE:-../.cache/people}")
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
RUN=$RECOGNIZER_CACHE/${RUN:-run}
mkdir -p "$RUN"
[ -f ../.cache/eval/index.jsonl ] || "$PYTHON" make_eval.py --count 100
[ -f "$RECOGNIZER_CACHE/rhvoice/samples.i16" ] || "$PYTHON" rhvoice.py prepare --from "$RHVOICE"
[ -f "$RECOGNIZER_CACHE/dev/index.jsonl" ] || "$PYTHON" rhvoice.py dev --out "$RECOGNIZER_CACHE/dev" --also "$RHVOICE/eval-seen"
nice -n 19 "$PYTHON" generate.py --out "$RUN/shards" --hours "${HOURS:-10}" --clean-hours "${CLEAN_HOURS:-5}" --shard-hours 0.25 \
  --rhvoice 0.55 --without ${WITHOUT:-} --mix 0.36 0.44 0.20 --recorded 0.03 0 --silent 0.04 --coded 0.05 --drawn 170 --seed 2001 \
  --workers "${WORKERS:-1}"
"$PYTHON" train.py --init ../../svc-kk-ru-v2 --timbre 0.8 --curriculum 0 --clock cpu --minutes "${MINUTES:-60}" --frames 4096 \
  --lr 8e-4 --warmup 100 --keep 0.998 --seed 31 --shards "$RUN/shards" --dev "$RECOGNIZER_CACHE/dev" --out "$RUN" \
  --model-dir "$RUN/fp32" --device "${DEVICE:-cpu}" 2>&1 | tee -a "$RUN/train.log"
# Then, where it is better: RECOGNIZER_CACHE=$RUN sh release.sh
