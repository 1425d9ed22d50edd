# retx with Dask, for the command line and for workers of a cluster:
#
#     docker build --tag retx:0.1.0 .
#     docker run --rm --volume "$PWD:/work" retx:0.1.0 run scenario.toml
#     docker run --rm --network host --entrypoint dask retx:0.1.0 worker ADDRESS --nthreads 1 --nworkers auto
#
# An emulation makes network namespaces and TUN devices, which a container may not do by itself. It
# takes root in the container, a capability, and mounts that Docker's profiles would refuse:
#
#     docker run --rm --user 0 --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun \
#         --security-opt apparmor=unconfined --security-opt seccomp=unconfined \
#         --volume "$PWD:/work" retx:0.1.0 emulate scenario.toml

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /build && /build/bin/pip install --no-cache-dir 'maturin>=1.9,<2'
WORKDIR /retx
COPY . .
RUN /build/bin/maturin build --release --locked --compatibility linux --out /wheels

FROM python:3.12-slim-bookworm
# iproute2 configures the hosts of an emulation; a run does not need it.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends iproute2 \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    set -- /wheels/*.whl && pip install --no-cache-dir "$1[dask,tune]"
RUN useradd --create-home retx
USER retx
WORKDIR /work
ENTRYPOINT ["retx"]
CMD ["--help"]
