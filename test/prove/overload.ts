/** Ten times more clients than give the best throughput: what is served stays near it, and calm returns at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failures } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import type { Proof, ProofOptions } from './proof.ts';
import { type ProvingService, provingService } from './service.ts';
import { Wire, type WireResponse, Wires } from './wire.ts';

/** Clients at once, among which the best throughput is looked for. */
const crowds = [32, 64, 128];
const overloadFactor = 10;
/** More creations at once than may wait for the disk (10,000). */
const stampede = 11_000;
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

  /** The animal that is asked for by its id. */
  async prepare(): Promise<void> {
    using wire = new Wire(this.#service.url);
    await wire.send(this.#requests[0] as Uint8Array);
  }

  /** Every client calls again as soon as it is answered, for so long. */
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

  /** As many creations at once: each is served or told when to come again. */
  async stampede(): Promise<{ served: number; refused: number }> {
    using wires = new Wires(this.#service.url, stampede);
    let [served, refused] = [0, 0];
    await wires.each(stampede, (wire, client) =>
      this.failures.guard(`creation ${client}`, async () => {
        if (isServed(await wire.send(this.#requests[0] as Uint8Array))) served++;
        else refused++;
      }),
    );
    return { served, refused };
  }

  /** How long until the throughput is what it was. */
  async calmAfterMs(clients: number, perSecond: number): Promise<number> {
    const start = performance.now();
    for (;;) {
      const now = await this.measure(clients, 500);
      const elapsedMs = performance.now() - start;
      if (now.perSecond >= leastGoodput * perSecond) return elapsedMs;
      if (elapsedMs > calmWithinMs)
        throw new Error(`after ${elapsedMs} ms it serves ${now.perSecond} of ${perSecond}/s`);
    }
  }
}

/** True for an answer, false for a 503 with Retry-After; anything else is a failure. */
function isServed({ status, headers, text }: WireResponse): boolean {
  if (status === 200 || status === 201) return true;
  if (status === 503 && /^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return false;
  throw new Error(`answered ${status}: ${text}`);
}

/** `rounds` is the length of each measurement in seconds. */
export async function overload({ rounds, seed, progress }: ProofOptions, withStampede = true) {
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
  progress(`${stampede} creations at once`);
  const crowd = withStampede ? await load.stampede() : { served: 0, refused: 0 };
  const calmAgainMs = await load.calmAfterMs(best, peak);
  service.checkRunning();
  load.failures.end();
  const share = over.perSecond / peak;
  if (share < leastGoodput)
    throw new Error(`only ${Math.round(100 * share)} % of ${Math.round(peak)}/s are served`);
  return {
    'peak in requests/s': Math.round(peak),
    'its clients': best,
    'served at ten times as many, in %': Math.round(100 * share),
    'refused with 503': over.refused,
    'normal again after ms': Math.round(calmMs),
    'creations at once served': crowd.served,
    'creations at once refused with 503': crowd.refused,
    'normal again after this, in ms': Math.round(calmAgainMs),
  };
}

export const overloaded: Proof = {
  name: 'overload',
  promise:
    'ten times the clients of the best throughput still get 90 % of it, whoever is not served gets 503 and ' +
    'Retry-After, and all is normal within 5 s',
  rounds: 5,
  run: overload,
};
