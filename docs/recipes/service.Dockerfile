# A service with mmlog: docker build -f docs/recipes/service.Dockerfile -t orders .
# and docker run --init -v orders-log:/var/log/orders orders
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends zlib1g-dev
WORKDIR /src
COPY . .
RUN swift build -c release --static-swift-stdlib --product orders

FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends zlib1g \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 10001 --no-create-home orders \
  && install -d -o orders /var/log/orders
COPY --from=build /src/.build/release/orders /usr/bin/orders
USER orders
ENV LOGS_DIRECTORY=/var/log/orders
VOLUME /var/log/orders
ENTRYPOINT ["/usr/bin/orders"]
