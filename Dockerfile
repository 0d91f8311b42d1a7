# The runtime comes as an npm package, so npm fetches it once and only the binary goes on.
FROM node:22-bookworm-slim AS dependencies
WORKDIR /animal-store
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev \
 && cp node_modules/bun/bin/bun.exe /usr/local/bin/bun \
 && rm -rf node_modules/bun node_modules/@oven node_modules/.bin

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --home-dir /animal-store animal-store \
 && install --directory --owner=animal-store /animal-store/data
COPY --from=dependencies /usr/local/bin/bun /usr/local/bin/bun
WORKDIR /animal-store
COPY --from=dependencies /animal-store/node_modules node_modules
COPY package.json ./
COPY contract contract
COPY assets assets
COPY docs docs
COPY src src
USER animal-store
ENV HOST=0.0.0.0 PORT=3000
EXPOSE 3000
VOLUME /animal-store/data
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s \
  CMD ["bun", "-e", "process.exit((await fetch(`http://127.0.0.1:${process.env.PORT}/readyz`)).ok ? 0 : 1)"]
ENTRYPOINT ["bun", "src/main.ts"]
CMD ["serve"]
