/**
 * A process whose clients make call after call until it is killed, whatever the last one threw:
 * `KEY=… bun client-worker.ts CALLS ASK_MS URL…`, with a client for each address and that many calls of it at once; each
 * also asks what is left of the limits, so often, unless that is 0. It says what was thrown other than that a wait is
 * too long.
 */
import { AnimalStore, RateLimitError } from '../../client/src/index.ts';

/** A worker that minds nothing; without it one that is refused at once would keep the processor from the others. */
const pauseMs = 10;

async function callWithoutEnd(store: AnimalStore): Promise<void> {
  for (;;) {
    try {
      await store.inventory.get();
    } catch (error) {
      if (!(error instanceof RateLimitError)) process.stdout.write(`${error}\n`);
      await Bun.sleep(pauseMs);
    }
  }
}

/** As programs do that show it; it is free, and must not wake what waits. */
async function askWithoutEnd(store: AnimalStore, askMs: number): Promise<void> {
  for (;;) {
    await store.rateLimit.get();
    await Bun.sleep(askMs);
  }
}

const [, , calls, askMs, ...urls] = process.argv;
for (const url of urls) {
  const store = new AnimalStore({ key: process.env.KEY ?? '', url });
  for (let call = 0; call < Number(calls); call++) void callWithoutEnd(store);
  if (Number(askMs) > 0) void askWithoutEnd(store, Number(askMs));
}
