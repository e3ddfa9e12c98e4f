# The service for CPUs: `docker build -t dauys .`, then `docker run -p 8080:8080 -v dauys:/data dauys`.
# Decisions, and the variant with CUDA: deploy/README.md.

# Node 24 on Debian 13: the newest long-term Node, and the glibc (2.38 and newer) that the native front's
# binding asks for. On Debian 12 the same image serves by node:http, 1.3 to 2 times slower a request.
# Pin it by digest where builds must repeat.
ARG NODE_IMAGE=node:24-trixie-slim

FROM ${NODE_IMAGE} AS build
# What compiles the beam search of finals.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/dauys
# What `npm ci` reads and runs: a change of the sources leaves this layer as it is.
COPY package.json package-lock.json .npmrc ./
COPY scripts scripts
COPY native/beam native/beam
RUN npm ci
COPY . .
# Compiles, renders console and pages, then leaves out what only builds and what is for other machines: binaries
# of the native front and of onnxruntime for other systems, and the compiler.
RUN npm run prestart \
 && npm prune --omit=dev --ignore-scripts \
 && node scripts/slim.mjs

FROM ${NODE_IMAGE} AS runtime
# ffmpeg: containers other than WAV, MP3, FLAC and Ogg Opus. `espeak-ng` beside it where Piper's voices speak.
ARG PACKAGES="ffmpeg"
# The user has a name, since PostgreSQL, which is started by it where DATABASE_URL names no other, refuses one without.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates ${PACKAGES} \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin dauys \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
WORKDIR /opt/dauys
# Root's, so that the service cannot change its own code.
COPY --from=build /opt/dauys ./
# 0.0.0.0 is the container's own address: what is published is `-p`, a Service or a proxy. The operators' port is
# for Prometheus and probes: do not publish it. Memory of models that were released goes back to the system.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    OPERATOR_HOST=0.0.0.0 \
    OPERATOR_PORT=9090 \
    DATA_DIR=/data \
    MALLOC_TRIM_THRESHOLD_=131072
USER 10001:10001
VOLUME /data
EXPOSE 8080 9090
# DRAIN_S (30 s) for running work, then workers and database: `docker stop --time 60`.
STOPSIGNAL SIGTERM
# The operators' port is open in every role.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "deploy/health.mjs"]
CMD ["node", "dist/src/main.js"]
