# Build worker and agent of a GPU host, on NVIDIA's release image, which brings CUDA, torch,
# transformers, ModelOpt and TensorRT-LLM that fit each other: none of them is installed over.
ARG TENSORRT_LLM_IMAGE=nvcr.io/nvidia/tensorrt-llm/release:1.2.0
FROM ${TENSORRT_LLM_IMAGE}

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/enginehouse
COPY pyproject.toml constraints.txt ./
# The image's own packages win over our pins: they are written down as constraints first.
RUN pip freeze --exclude-editable | grep -E '^[A-Za-z0-9_.-]+==' > image.txt \
    && pip install -c image.txt -e ".[containers]" llguidance "jsonschema-rs>=0.60,<0.61" starlette && rm image.txt
COPY manage.py ./
COPY controlplane controlplane
COPY apps apps
COPY workers workers
ENV DATA_DIR=/data DJANGO_SETTINGS_MODULE=controlplane.settings
VOLUME /data
