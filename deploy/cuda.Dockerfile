# The service for NVIDIA GPUs, on top of the image for CPUs:
#   docker build -t dauys:0.1.0 . && docker build -t dauys-cuda -f deploy/cuda.Dockerfile .
#   docker run --gpus all -p 8080:8080 -v dauys:/data dauys-cuda
ARG DAUYS_IMAGE=dauys:0.1.0
# CUDA 13 with cuDNN 9, which the CUDA provider of onnxruntime needs. They need an older glibc than ours.
ARG CUDA_IMAGE=nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04

FROM ${CUDA_IMAGE} AS cuda
# One folder, independent of version numbers in file names.
RUN mkdir /libraries \
 && cp --no-dereference --preserve=links /usr/local/cuda/lib64/*.so.* /usr/lib/x86_64-linux-gnu/libcudnn*.so.* \
    /libraries/

FROM ${DAUYS_IMAGE} AS provider
USER root
# The package's own installer downloads the provider of its exact version: CUDA 13, despite the name.
RUN ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js

FROM ${DAUYS_IMAGE}
COPY --from=cuda /libraries /opt/cuda
COPY --from=provider /opt/dauys/node_modules/onnxruntime-node/bin \
     /opt/dauys/node_modules/onnxruntime-node/bin
# Without a GPU the service does not start; with `cuda,cpu` it would use the CPU and print a warning.
ENV LD_LIBRARY_PATH=/opt/cuda \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    EXECUTION_PROVIDERS=cuda
