# The command line `ses` with the clients of both search servers. It builds with BuildKit, Docker's default.
FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/ses && python -m venv /opt/build
# Exactly the files whose hashes `make lock` has written, and no dependency that is not among them.
COPY requirements /src/requirements
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/build/bin/pip install --no-deps --require-hashes --only-binary :all: -r /src/requirements/build.lock && \
    /opt/ses/bin/pip install --no-deps --require-hashes --only-binary :all: -r /src/requirements/image.lock
COPY . /src
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels /src && \
    /opt/ses/bin/pip install --no-deps --no-index /wheels/*.whl

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
