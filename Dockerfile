# The patched Ruby in two stages: one that builds, a slim one that runs.
#
#   docker build -t ruby-heap-sample .
#   docker run --rm ruby-heap-sample -v
#   docker run --rm -e RUBY_HEAP_SAMPLE=output=/profiles/heap-%p-%t.pb.gz -v "$PWD:/profiles" \
#       ruby-heap-sample /profiles/app.rb
#
# To base your own image on it, `FROM ruby-heap-sample` and set ENTRYPOINT [].

FROM debian:bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /source
# The packages change seldom: a layer of their own.
COPY tool/lib.sh tool/deps tool/packages tool/
RUN tool/deps build viewer
COPY . .
RUN make build PREFIX=/usr/local

FROM debian:bookworm-slim
# What the built files link with; test/all/docker checks this list against ldd.
RUN apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates \
        libffi8 \
        libgmp10 \
        libssl3 \
        libyaml-0-2 \
        zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local /usr/local
ENV LANG=C.UTF-8
# Sampling is off until you ask for it, here or with `docker run -e`:
# ENV RUBY_HEAP_SAMPLE=output=/profiles/heap-%p-%t.pb.gz,every=60,keep=10,diagnose=1%
ENTRYPOINT ["ruby"]
