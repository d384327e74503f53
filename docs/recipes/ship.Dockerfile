# mmlog-ship beside a service: docker build -f docs/recipes/ship.Dockerfile -t mmlog-ship packages
# (packages: what Tools/package has made)
FROM debian:bookworm-slim
COPY mmlog-ship_*.deb mmlog_*.deb /tmp/
RUN apt-get update && apt-get install --yes --no-install-recommends /tmp/*.deb ca-certificates \
  && rm -rf /var/lib/apt/lists/* /tmp/*.deb \
  && useradd --uid 10001 --no-create-home mmlog
USER mmlog
ENTRYPOINT ["/usr/bin/mmlog-ship"]
