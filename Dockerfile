# Runs the executable from `npm run build` on an image with only a C library and certificates: no shell, no Node.js.
FROM node:22-bookworm-slim AS build
WORKDIR /animal-store
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev
COPY assets assets
COPY client/README.md client/README.md
COPY console console
COPY contract contract
COPY docs docs
COPY examples examples
COPY sandbox sandbox
COPY scripts/build.ts scripts/build.ts
COPY src src
RUN node_modules/.bin/bun scripts/build.ts && mkdir --mode=700 data

FROM gcr.io/distroless/base-nossl-debian12
COPY --from=build /animal-store/dist/animal-store /usr/local/bin/animal-store
COPY --from=build --chown=10001:10001 /animal-store/data /animal-store/data
WORKDIR /animal-store
USER 10001:10001
ENV HOST=0.0.0.0 PORT=3000 BUN_JSC_forceRAMSize=1073741824 MIMALLOC_PURGE_DELAY=1000
EXPOSE 3000
VOLUME /animal-store/data
HEALTHCHECK --interval=5s --timeout=6s --start-period=5s CMD ["animal-store", "ready"]
ENTRYPOINT ["animal-store"]
CMD ["serve"]
