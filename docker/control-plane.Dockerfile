# Web, gateway, scheduler and control worker: everything that needs no GPU.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/enginehouse
COPY pyproject.toml constraints.txt ./
RUN pip install -c constraints.txt -e ".[tuning]"
COPY manage.py ./
COPY controlplane controlplane
COPY apps apps
COPY workers workers
COPY templates templates
COPY static static
COPY docs docs
RUN useradd --system --create-home enginehouse && mkdir /data /artifacts \
    && chown enginehouse /data /artifacts && chmod 2777 /artifacts
USER enginehouse
ENV DATA_DIR=/data DJANGO_SETTINGS_MODULE=controlplane.settings
VOLUME /data
