/** Runs a long mixed load with faults. All responses must be correct, and resource usage must not grow. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitFileSize } from '../faults/disk.ts';
import { beginPost, Connection } from '../process/connection.ts';
import { clientOf } from '../support/client.ts';
import { lock } from '../support/lock.ts';
import { ample, dataFileIn, operatorOf } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { Failures } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { nothingIn, wrongRequest } from './invalid.ts';
import { type ProvingService, provingService } from './service.ts';
import type { StressOptions, StressResult, StressTest } from './stress-test.ts';
import { Caller } from './walk/caller.ts';
import { plainRequest } from './walk/places.ts';
import { perform } from './walk/request.ts';
import { Tags } from './walk/tags.ts';
import { World } from './walk/world.ts';

const connections = 12;
/** Pause between two requests on a connection, so that the service is busy but not overloaded. */
const pauseMs = 5;
const storedBefore = 200;
const faultEveryMs = 3_000;
const sampleEveryMs = 1_000;
const minuteMs = 60_000;

/** Operations that succeed regardless of the store's contents. */
const always = [
  'createPet',
  'listPets',
  'listOrders',
  'listCategories',
  'getInventory',
  'getRateLimit',
] as const;

const anyRequest = (chance: Chance) => plainRequest(nothingIn(chance), chance.pick(always));

class Soak {
  readonly counts = { answered: 0, refused: 0, faults: 0 };
  readonly failures: Failures;
  readonly #service: ProvingService;
  readonly #seed: number;
  readonly #random: () => number;
  readonly #end = new AbortController();
  /** Until this time, requests may get 503. */
  #faultyUntil = 0;

  constructor(service: ProvingService, seed: number) {
    this.#service = service;
    this.#seed = seed;
    this.#random = randomFrom(seed);
    this.failures = new Failures(seed);
  }

  stop(): void {
    this.#end.abort();
  }

  /** Sends generated valid and invalid requests over one connection. */
  async request(connection: number): Promise<void> {
    const { url, key, poorKey } = this.#service;
    using caller = new Caller([url], { key, limitedKey: poorKey });
    for (let number = connection; !this.#end.signal.aborted; number += connections) {
      const chance = new Chance(this.#seed, number);
      const request = number % 5 === 0 ? wrongRequest(number, chance) : anyRequest(chance);
      await this.failures.guard(number, async () => {
        const answer = await caller.send(request, chance);
        this.counts.answered++;
        const { status } = perform(new World(), request, answer, new Tags());
        if (answer.status === 503 && performance.now() < this.#faultyUntil) this.counts.refused++;
        else if (answer.status !== status) throw new Error(`${request.target} returned ${answer.status}`);
      });
      await this.#pause(pauseMs);
    }
  }

  /** Injects faults one after the other, in an order determined by the seed. */
  async disturb(): Promise<void> {
    const faults = [this.#fullDisk, this.#lock, this.#brokenBodies, this.#halfRequests, this.#operator];
    while (!this.#end.signal.aborted) {
      await faults[Math.floor(this.#random() * faults.length)]?.call(this);
      this.counts.faults++;
      await this.#pause(faultEveryMs);
    }
  }

  /** Briefly simulates a full disk. */
  async #fullDisk(): Promise<void> {
    this.#faultyFor(1_500);
    limitFileSize(this.#service.pid, 0);
    await sleep(300);
    limitFileSize(this.#service.pid, 'unlimited');
  }

  async #lock(): Promise<void> {
    using held = lock(dataFileIn(this.#service.folder));
    await sleep(200);
    held.release();
  }

  /** Opens connections that are closed in the middle of a request body. */
  async #brokenBodies(): Promise<void> {
    for (let number = 0; number < 20; number++) {
      using connection = await Connection.open(this.#service.url);
      connection.write(beginPost(this.#service.key, '{"name":"a","categoryId":1}', number % 20));
      await sleep(5);
    }
  }

  /** Opens connections that send part of the request headers, pause, and disconnect. */
  async #halfRequests(): Promise<void> {
    using stack = new DisposableStack();
    for (let number = 0; number < 50; number++) {
      stack.use(await Connection.open(this.#service.url)).write('GET /v1/pets HTTP/1.1\r\nHost: ');
    }
    await this.#pause(1_000);
  }

  /** Creates an account and a key from another process, uses the key, and revokes it. */
  async #operator(): Promise<void> {
    await using admin = await operatorOf(this.#service.folder);
    const { id } = await admin.accounts.create('soak', 'enterprise', ample);
    const { key, id: keyId } = await admin.keys.create(id, 'soak');
    const client = clientOf(this.#service.url, key);
    await this.failures.guard('operator', async () => {
      const before = (await client.get('/pets')).status;
      await admin.keys.revoke(keyId);
      const after = (await client.get('/pets')).status;
      if (before !== 200 || after !== 401)
        throw new Error(`the key got ${before}, and ${after} after it was revoked`);
    });
  }

  #faultyFor(ms: number): void {
    this.#faultyUntil = performance.now() + ms;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#end.signal }).catch(() => undefined);
  }
}

/** Fraction of samples taken during the warm-up, while caches fill and code is compiled. */
const warmUpPart = 0.2;
/** Maximum growth of median memory from the first samples to the last, as a fraction. */
const mostGrowth = 0.1;
const partOfSamples = 0.2;
/** Number of additional descriptors allowed, because the runtime may open files. */
const descriptorSlack = 3;
const calmMs = 3_000;

const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

/** Resident memory of a process in MiB. Linux only. */
function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Throws if memory usage or the number of descriptors grew. */
function flat(mib: readonly number[], before: number, after: number): StressResult {
  const samples = mib.slice(Math.floor(mib.length * warmUpPart));
  const part = Math.ceil(samples.length * partOfSamples);
  const [first, last] = [median(samples.slice(0, part)), median(samples.slice(-part))];
  const figures = {
    'MiB at first': first,
    'MiB at last': last,
    'MiB at most': Math.max(...mib),
    'descriptors before': before,
    'descriptors after': after,
  };
  if (last > first * (1 + mostGrowth) || after > before + descriptorSlack)
    throw new Error(`Resource usage grew: ${JSON.stringify(figures)}; MiB by second: ${mib.join(' ')}`);
  return figures;
}

async function soakFor({ rounds: minutes, seed, progress }: StressOptions): Promise<StressResult> {
  await using service = await provingService({ LOG_LEVEL: 'silent' });
  const client = clientOf(service.url, service.key);
  for (let number = 1; number <= storedBefore; number++) await client.add(`animal ${number}`);
  const descriptors = descriptorsOf(service.pid);
  const mib: number[] = [];
  const soak = new Soak(service, seed);
  const running = [soak.disturb(), ...Array.from({ length: connections }, (_, index) => soak.request(index))];
  const end = performance.now() + minutes * minuteMs;
  while (performance.now() < end) {
    await sleep(sampleEveryMs);
    mib.push(residentMiB(service.pid));
    progress(`${soak.counts.answered} answered, ${soak.counts.faults} faults, ${mib.at(-1)} MiB`);
  }
  soak.stop();
  await Promise.all(running);
  soak.failures.end();
  const { status } = await client.add('the last one');
  if (status !== 201) throw new Error(`At the end, a create request returned ${status}.`);
  const walMiB = Math.ceil(statSync(`${dataFileIn(service.folder)}-wal`).size / 1_048_576);
  await sleep(calmMs);
  const grown = flat(mib, descriptors, descriptorsOf(service.pid));
  return { ...soak.counts, 'write-ahead log in MiB': walMiB, ...grown };
}

export const soak: StressTest = {
  name: 'soak',
  promise:
    'a mixed load during faults and operator commands (full disk, locked data file, aborted requests) gets correct responses, ' +
    'and memory and descriptors do not grow (rounds: minutes)',
  rounds: 30,
  run: soakFor,
};
