/**
 * Overloads the service with ten times as many clients as peak throughput requires. Throughput must stay near the peak,
 * and must return to the peak soon after the overload.
 */
import { Database } from 'bun:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { lock } from '../support/lock.ts';
import { dataFileIn } from '../support/process.ts';
import { Failures } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import { type ProvingService, provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { Wire, type WireResponse, Wires } from './wire.ts';

/** Numbers of concurrent clients that are tried to find the peak throughput. */
const crowds = [32, 64, 128];
const overloadFactor = 10;
/** More concurrent create requests than fit in the queue of 10,000 and the current group of up to 1,000. */
const stampede = 13_000;
/** How long the data file is locked. This exceeds the service's timeout, so that writes are rejected. */
const lockedMs = 4_000;
const leastGoodput = 0.9;
const calmWithinMs = 5_000;

interface Measured {
  readonly perSecond: number;
  readonly refused: number;
}

class Load {
  readonly #service: ProvingService;
  readonly #requests: readonly Uint8Array[];
  readonly failures: Failures;

  constructor(service: ProvingService, seed: number) {
    this.#service = service;
    this.failures = new Failures(seed);
    const headers = [
      ['Authorization', `Bearer ${service.key}`],
      ['Content-Type', 'application/json'],
    ] as const;
    const read = bytesOf({ method: 'GET', target: '/pets?limit=20', headers });
    const one = bytesOf({ method: 'GET', target: '/pets/1', headers });
    const write = bytesOf({
      method: 'POST',
      target: '/pets',
      headers,
      body: Buffer.from('{"name":"a","categoryId":1}'),
    });
    this.#requests = [write, ...Array<Uint8Array>(6).fill(read), ...Array<Uint8Array>(3).fill(one)];
  }

  /** Creates the animal that the clients read by id. */
  async prepare(): Promise<void> {
    using wire = new Wire(this.#service.url);
    await wire.send(this.#requests[0] as Uint8Array);
  }

  /** Measures throughput for `milliseconds`. Every client sends its next request as soon as it receives a response. */
  async measure(clients: number, milliseconds: number): Promise<Measured> {
    using wires = new Wires(this.#service.url, clients);
    const start = performance.now();
    let good = 0;
    let refused = 0;
    await wires.each(clients, async (wire, client) => {
      for (let call = client; performance.now() - start < milliseconds; call++) {
        await this.failures.guard(`client ${client}`, async () => {
          const response = await wire.send(this.#requests[call % this.#requests.length] as Uint8Array);
          if (isServed(response)) good++;
          else refused++;
        });
      }
    });
    return { perSecond: (good / (performance.now() - start)) * 1_000, refused };
  }

  /**
   * Sends create requests while another process locks the data file. After the lock is released, queued requests
   * succeed. All others must get Retry-After, and their animals must not be stored.
   */
  async stampede(): Promise<{ served: number; refused: number }> {
    const path = dataFileIn(this.#service.folder);
    const before = animalsIn(path);
    using wires = new Wires(this.#service.url, stampede);
    using held = lock(path);
    const released = sleep(lockedMs).then(held.release);
    let [served, refused] = [0, 0];
    await wires.each(stampede, (wire, client) =>
      this.failures.guard(`create request ${client}`, async () => {
        if (isServed(await wire.send(this.#requests[0] as Uint8Array))) served++;
        else refused++;
      }),
    );
    await released;
    const stored = animalsIn(path) - before;
    if (stored !== served) throw new Error(`${served} animals were acknowledged, ${stored} are stored`);
    if (refused === 0) throw new Error('no create request was rejected, so rejections were not tested');
    return { served, refused };
  }

  /** Milliseconds until the throughput has recovered. */
  async calmAfterMs(clients: number, perSecond: number): Promise<number> {
    const start = performance.now();
    for (;;) {
      const now = await this.measure(clients, 500);
      const elapsedMs = performance.now() - start;
      if (now.perSecond >= leastGoodput * perSecond) return elapsedMs;
      if (elapsedMs > calmWithinMs)
        throw new Error(`after ${elapsedMs} ms, throughput is ${now.perSecond} of ${perSecond}/s`);
    }
  }
}

function animalsIn(path: string): number {
  using database = new Database(path, { readonly: true });
  return database.query<{ count: number }, []>('SELECT count(*) AS count FROM pets').get()?.count ?? 0;
}

/** Returns true for a success and false for a 503 with Retry-After. Throws for any other response. */
function isServed({ status, headers, text }: WireResponse): boolean {
  if (status === 200 || status === 201) return true;
  if (status === 503 && /^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return false;
  throw new Error(`answered ${status}: ${text}`);
}

/** `rounds` is the length of each measurement in seconds. */
async function overload({ rounds, seed, progress }: StressOptions) {
  await using service = await provingService({ LOG_LEVEL: 'silent' });
  const load = new Load(service, seed);
  await load.prepare();
  await load.measure(64, 1_000);
  let [peak, best] = [0, 0];
  for (const clients of crowds) {
    progress(`${clients} clients`);
    const { perSecond } = await load.measure(clients, rounds * 1_000);
    if (perSecond > peak) [peak, best] = [perSecond, clients];
  }
  progress(`${best * overloadFactor} clients`);
  const over = await load.measure(best * overloadFactor, 2 * rounds * 1_000);
  await sleep(100);
  const calmMs = await load.calmAfterMs(best, peak);
  progress(`${stampede} concurrent create requests while another process locks the data file`);
  const crowd = await load.stampede();
  const calmAgainMs = await load.calmAfterMs(best, peak);
  service.checkRunning();
  load.failures.end();
  const share = over.perSecond / peak;
  if (share < leastGoodput)
    throw new Error(`only ${Math.round(100 * share)} % of ${Math.round(peak)}/s are served`);
  return {
    'peak in requests/s': Math.round(peak),
    'its clients': best,
    'throughput with ten times as many clients, in %': Math.round(100 * share),
    'rejected with 503': over.refused,
    'recovered after ms': Math.round(calmMs),
    'concurrent create requests that succeeded': crowd.served,
    'concurrent create requests rejected with 503': crowd.refused,
    'recovered after these requests, in ms': Math.round(calmAgainMs),
  };
}

export const overloaded: StressTest = {
  name: 'overload',
  promise:
    'with ten times as many clients as peak throughput requires, throughput stays above 90 % of the peak, rejected requests get 503 and ' +
    'Retry-After, and the service recovers within 5 s',
  rounds: 5,
  run: overload,
};
