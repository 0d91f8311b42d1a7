/**
 * Measures the time from the response to a POST until the event arrives at the webhook receivers. All programs run on
 * this machine.
 *
 * bun bench/deliveries.ts [--webhooks 1] [--rate 500] [--seconds 10] [--postgres URL --redis URL]
 *
 * `--rate` is the number of deliveries per second. The database must be empty. The run leaves data in it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createCluster, forgetLimits } from './cluster.ts';
import { newPet } from './scenarios.ts';
import type { ServerProcess } from './server-process.ts';
import { embeddedStore, fill, issueKeys, startService } from './service.ts';

const warmUpSeconds = 2;
const drainSeconds = 20;

const { values } = parseArgs({
  options: {
    webhooks: { type: 'string', default: '1' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    postgres: { type: 'string' },
    redis: { type: 'string' },
  },
});
const [webhooks, rate, seconds] = [values.webhooks, values.rate, values.seconds].map(Number) as [
  number,
  number,
  number,
];

/** Times at which animals were created and their events received (`performance.now()`), by id. */
const created = new Map<number, number>();
const received = new Map<number, number[]>();

const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));
const cluster = createCluster(values.postgres, values.redis);
try {
  await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
  if (cluster !== undefined) await forgetLimits(cluster);
}

async function measure(): Promise<void> {
  const store = cluster ?? embeddedStore(folder, 'deliveries');
  await fill(store, 1);
  const [key = ''] = await issueKeys(store, 1);
  using receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: receive });
  const settings = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_DELIVERIES_PER_SECOND: '10000' };
  await using server = await startService(store, key, { settings });
  for (let number = 1; number <= webhooks; number++) {
    const url = `http://127.0.0.1:${receiver.port}/${number}`;
    await post(server, key, '/v1/webhooks', JSON.stringify({ url, types: ['pet.created'] }));
  }
  await create(server, key, warmUpSeconds);
  await arrival();
  created.clear();
  received.clear();
  const before = server.usage().cpuSeconds;
  await create(server, key, seconds);
  const cpu = (server.usage().cpuSeconds - before) / seconds;
  await arrival();
  process.stdout.write(`${report()} · ${Math.round(cpu * 100)} % of a core\n`);
}

async function receive(request: Request): Promise<Response> {
  const { data } = (await request.json()) as { data: { id: number } };
  const times = received.get(data.id) ?? [];
  times.push(performance.now());
  received.set(data.id, times);
  return new Response(null, { status: 204 });
}

/** Creates animals at a fixed rate that does not depend on the response time. */
async function create(server: ServerProcess, key: string, forSeconds: number): Promise<void> {
  const posts: Promise<void>[] = [];
  const start = performance.now();
  for (let made = 0; made < (rate / webhooks) * forSeconds; made++) {
    const dueMs = start + (made * webhooks * 1_000) / rate - performance.now();
    if (dueMs > 0) await sleep(dueMs);
    posts.push(
      post(server, key, '/v1/pets', newPet(made)).then(({ id }) => {
        created.set(id, performance.now());
      }),
    );
  }
  await Promise.all(posts);
}

/** Resolves when all receivers have received all events. */
async function arrival(): Promise<void> {
  for (let left = drainSeconds * 100; left > 0; left--) {
    const complete = [...created.keys()].filter((id) => (received.get(id)?.length ?? 0) >= webhooks).length;
    if (complete === created.size) return;
    await sleep(10);
  }
}

function report(): string {
  const latencies = [...created].flatMap(([id, at]) => received.get(id)?.map((time) => time - at) ?? []);
  latencies.sort((one, other) => one - other);
  const missing = created.size * webhooks - latencies.length;
  const at = (part: number) => (latencies[Math.floor(latencies.length * part)] ?? Number.NaN).toFixed(1);
  const place = cluster === undefined ? 'embedded store' : 'PostgreSQL';
  const load = `${place}, ${webhooks} webhooks, ${rate} deliveries/s`;
  return `${load}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${latencies.length} deliveries, ${missing} missing`;
}

async function post(
  { url }: ServerProcess,
  key: string,
  path: string,
  body: string,
): Promise<{ id: number }> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: number };
}
