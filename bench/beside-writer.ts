/**
 * Measures how much a writer on one instance slows down list reads on another instance of the same store.
 *
 * bun bench/beside-writer.ts --postgres URL --redis URL --other-postgres URL [--rate 1000] [--rounds 4] [--seconds 4]
 *
 * Each round has three runs: reads without a writer, with a writer on another store, and with a writer on the same
 * store. The last two runs put the same load on the machine, so their ratio is the cost of sharing a store. The writer
 * renames random animals. Both databases must be empty. The run leaves data in them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ClusterStore, createCluster, forgetLimits } from './cluster.ts';
import { applyLoad, planPath, writePlan } from './load.ts';
import type { ServerProcess } from './server-process.ts';
import { fill, issueKeys, startService } from './service.ts';
import { median } from './statistics.ts';

const animals = 60_000;
const pages = 200;
const pageLength = 20;
const settleMs = 500;
const conditions = ['no writer', 'writer of another store', 'writer of this store'] as const;
type Condition = (typeof conditions)[number];

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    redis: { type: 'string' },
    'other-postgres': { type: 'string' },
    rate: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '4' },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);

const store = createCluster(values.postgres, values.redis);
const other = createCluster(values['other-postgres'], values.redis);
if (store === undefined || other === undefined) {
  throw new Error('--postgres, --other-postgres and --redis are required.');
}
const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));
try {
  await measure(store, other);
} finally {
  rmSync(folder, { recursive: true, force: true });
  await forgetLimits(store);
}

interface Sample {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly p99Ms: number;
  readonly writesPerSecond: number;
}

async function measure(store: ClusterStore, other: ClusterStore): Promise<void> {
  for (const each of [store, other]) await fill(each, animals);
  const [key = ''] = await issueKeys(store, 1);
  const [otherKey = ''] = await issueKeys(other, 1);
  await using reader = await startService(store, key);
  await using writer = await startService(store, key);
  await using otherWriter = await startService(other, otherKey);
  const writes = {
    'writer of this store': { writer, key },
    'writer of another store': { writer: otherWriter, key: otherKey },
  };
  const plan = planPath(folder, 'pages');
  await writePlan(plan, await pagesOf(reader, key));
  const samples = new Map<Condition, Sample[]>(conditions.map((condition) => [condition, []]));
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const condition of conditions) {
      const sample = await read(reader, plan, condition === 'no writer' ? undefined : writes[condition]);
      // The first round is a warm-up.
      if (round > 0) samples.get(condition)?.push(sample);
    }
  }
  report(samples);
}

async function pagesOf(reader: ServerProcess, key: string) {
  const planned: { method: 'GET'; target: string; key: string }[] = [];
  let target: string | undefined = `/v1/pets?limit=${pageLength}`;
  while (target !== undefined && planned.length < pages) {
    planned.push({ method: 'GET', target, key });
    const response: Response = await fetch(reader.url + target, {
      headers: { Authorization: `Bearer ${key}` },
    });
    await response.bytes();
    const next: string | undefined = /<([^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    target = next === undefined ? undefined : next.slice(next.indexOf('/v1'));
  }
  return planned;
}

async function read(
  reader: ServerProcess,
  plan: string,
  beside: { writer: ServerProcess; key: string } | undefined,
): Promise<Sample> {
  await sleep(settleMs);
  const stopping = new AbortController();
  const writing =
    beside === undefined ? Promise.resolve(0) : rename(beside.writer, beside.key, stopping.signal);
  const before = reader.usage().cpuSeconds;
  const load = await applyLoad(reader.url, plan, seconds);
  const cpuSeconds = reader.usage().cpuSeconds - before;
  stopping.abort();
  const written = await writing;
  if (load.refused + load.broken > 0) throw new Error(`${load.refused + load.broken} reads failed.`);
  return {
    requestsPerSecond: load.requests / load.seconds,
    cpuMicroseconds: (cpuSeconds * 1_000_000) / load.requests,
    p99Ms: load.p99Ms,
    writesPerSecond: written / load.seconds,
  };
}

/** Renames random animals at the given rate until the signal aborts. Returns the number of renames. */
async function rename({ url }: ServerProcess, key: string, stop: AbortSignal): Promise<number> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const start = performance.now();
  const pending: Promise<void>[] = [];
  let made = 0;
  while (!stop.aborted) {
    for (const due = ((performance.now() - start) * rate) / 1_000; made < due; made++) {
      const id = 1 + Math.floor(Math.random() * animals);
      const body = JSON.stringify({ name: `renamed ${made}` });
      pending.push(
        fetch(`${url}/v1/pets/${id}`, { method: 'PATCH', headers, body }).then(async (response) => {
          await response.bytes();
          if (!response.ok) throw new Error(`A write failed: ${response.status}`);
        }),
      );
    }
    await sleep(1);
  }
  await Promise.all(pending);
  return made;
}

function report(samples: ReadonlyMap<Condition, readonly Sample[]>): void {
  for (const [condition, those] of samples) {
    const of = (name: keyof Sample) => median(those.map((sample) => sample[name]));
    const reads = `${Math.round(of('requestsPerSecond'))} reads/s, ${of('cpuMicroseconds').toFixed(1)} µs each`;
    process.stdout.write(
      `${condition.padEnd(24)} ${reads}, p99 ${of('p99Ms').toFixed(1)} ms, beside ${Math.round(of('writesPerSecond'))} writes/s\n`,
    );
  }
}
