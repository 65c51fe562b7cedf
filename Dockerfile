# The learning server: docker build -t labeltrees . && docker run -p 8000:8000 -v served:/served labeltrees
# A container's address is public to its host, so it needs a key: see docs/server.md.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[serve]'

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'labeltrees[serve]' && rm -rf /wheels \
  && useradd --create-home --uid 10001 labeltrees && install -d -o labeltrees /served
USER labeltrees
VOLUME /served
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["labeltrees"]
CMD ["serve", "/served", "--host", "0.0.0.0"]
