# harness in a container, built from the package registries. The core alone, or with extras:
#   docker build -t harness .
#   docker build -t harness-all --build-arg EXTRAS=all .
#   docker run --rm -v "$PWD:/work" harness run dataset=file dataset.path=dev.jsonl system=predictions system.path=sysA.jsonl
FROM python:3.12-slim
ARG EXTRAS=""
COPY . /src
RUN pip install --no-cache-dir --constraint /src/constraints.txt "/src${EXTRAS:+[$EXTRAS]}" && rm -r /src
# The user of the call may be any; what is compiled once is kept where all can write.
ENV NUMBA_CACHE_DIR=/tmp/numba HOME=/tmp
WORKDIR /work
ENTRYPOINT ["harness"]
CMD ["--help"]
