# Placet: runner, broker, notifier and the command, in one image. `docker build -t placet .`
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
WORKDIR /build

# What is pinned changes seldom, and stays a layer of its own.
COPY requirements/build.txt requirements/models.txt requirements/
RUN python -m venv /tools \
    && /tools/bin/pip install --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /opt/placet \
    && pip --python /opt/placet/bin/python install --require-hashes -r requirements/models.txt

COPY pyproject.toml README.md LICENSE ./
COPY shared shared
COPY services services
RUN /tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && pip --python /opt/placet/bin/python install --no-deps /dist/placet-*.whl

FROM python:3.11-slim-bookworm
RUN pip uninstall --yes --root-user-action=ignore setuptools wheel pip \
    && groupadd --gid 10001 placet \
    && useradd --uid 10001 --gid placet --no-create-home --shell /usr/sbin/nologin placet
COPY --from=build /opt/placet /opt/placet
ENV PATH=/opt/placet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PLACET_HOST=0.0.0.0 \
    PLACET_PORT=8300
USER 10001:10001
WORKDIR /opt/placet
EXPOSE 8300
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PLACET_PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["placet"]
CMD ["--help"]
