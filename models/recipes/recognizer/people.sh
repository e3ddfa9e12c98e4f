#!/bin/sh
# Trains the shipped network further on RHVoice's voices, which are models of people, each clip in another
# timbre (`timbre.py`), and keeps it close to its earlier output on speech that it knows. Needs no checkpoint:
# it starts from the shipped int8 graphs.
#   RHVOICE=FOLDER sh people.sh           # the folder of `rhvoice.py`; ALONE minutes without the voices WITHOUT, then with all
# The checkpoint before the second part, `without.pt`, shows by its scores on those voices how it handles
# unseen voices. Requires the same packages as finetune.sh. If stopped and started again, it resumes.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RHVOICE=$(realpath "$RHVOICE")
RECOGNIZER_CACHE=$(realpath -m "${RECOGNIZER_CACHE:-../.cache/people}")
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
RUN=$RECOGNIZER_CACHE/${RUN:-run}
MINUTES=${MINUTES:-120}
ALONE=${ALONE:-25}
mkdir -p "$RUN/shards"
[ -f ../.cache/eval/index.jsonl ] || "$PYTHON" make_eval.py --count 100
[ -f "$RECOGNIZER_CACHE/rhvoice/samples.i16" ] || "$PYTHON" rhvoice.py prepare --from "$RHVOICE"
[ -f "$RECOGNIZER_CACHE/dev/index.jsonl" ] || "$PYTHON" rhvoice.py dev --out "$RECOGNIZER_CACHE/dev" --also "$RHVOICE/eval-seen"
seed=1
for voice in msu dita machac krb ph; do
  minutes=8
  [ $voice = msu ] && minutes=20
  [ -f "$RECOGNIZER_CACHE/concatenative/$voice/index.tsv" ] ||
    "$PYTHON" concatenative.py --voice $voice --minutes $minutes --seed $seed --out "$RECOGNIZER_CACHE/concatenative"
  seed=$((seed + 1))
done
generate() {
  nice -n 19 "$PYTHON" generate.py --shard-hours 0.25 --rhvoice 0.44 --kazakh 0.66 --mix 0.38 0.44 0.18 --recorded 0.1 0.09 --silent 0.05 \
    --coded 0.03 --drawn 170 --workers "${WORKERS:-1}" "$@"
}
train() {
  "$PYTHON" train.py --init ../../svc-kk-ru-v2 --remember 2 --timbre 0.6 --curriculum 0 --clock cpu --minutes "$MINUTES" \
    --frames 4096 --lr 3e-4 --warmup 40 --keep 0.998 --seed 51 --shards "$RUN/shards" --dev "$RECOGNIZER_CACHE/dev" --out "$RUN" \
    --model-dir "$RUN/fp32" --device "${DEVICE:-cpu}" "$@" 2>&1 | tee -a "$RUN/train.log"
}
generate --out "$RUN/shards" --hours "${HOURS:-10}" --clean-hours "${CLEAN_HOURS:-6}" --without ${WITHOUT:-anna nazgul} --seed 3001
if [ ! -f "$RUN/without.pt" ]; then
  train --stop "$ALONE"
  cp "$RUN/checkpoint.pt" "$RUN/without.pt"
fi
# Without these clips at 4 to 18 dB, finals in 10 dB of noise lose 1 to 3 points of word error.
generate --out "$RUN/all" --hours "${MORE_HOURS:-12}" --clean-hours "${MORE_CLEAN_HOURS:-3}" --noise 0.6 4 18 --rhvoice 0.3 --seed 3003
for shard in "$RUN"/all/*.npz; do
  ln -sf "$shard" "$RUN/shards/all_$(basename "$shard")"
done
train
# Then, where it is better: RECOGNIZER_CACHE=$RUN sh release.sh, or first blend part of the way by shipped.py.
