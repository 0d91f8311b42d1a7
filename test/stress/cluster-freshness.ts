import { setTimeout as sleep } from 'node:timers/promises';
import { writeCursor } from '../../src/contract/cursor.ts';
import { type Client, clientOf } from '../support/client.ts';
import { allNames, readiness } from '../support/load.ts';
import { until } from '../support/wait.ts';
import { type Fault, faultMs, faults, type Pair, startPair } from './cluster-partitions.ts';
import type { StressTest } from './stress-test.ts';

/** What the store promises: nothing acknowledged is hidden for longer, on any instance. */
const boundMs = 1_000;
/** How long /readyz may take, and how soon it has to tell the truth. */
const readyMs = 50;
const truthMs = 2_000;
const writeEveryMs = 120;
const readEveryMs = 15;
const mostPending = 6;
/** Keys that are revoked, and bans that are lifted, while a fault lasts. */
const keysPerFault = 6;
const recoveryMs = 15_000;
/** A key whose ban is lifted must not be banned anew while it is looked at: that takes a second and 100 strikes. */
const lookedAtMs = boundMs + 200;

/** Answers of one instance to one request that is sent again and again. */
interface Seen {
  readonly begunAt: number;
  readonly status: number;
  readonly text: string;
}

/** Sends a request again and again until the time is over, which may come to be known meanwhile. */
async function looked(client: Client, target: string, endsAt: () => number): Promise<Seen[]> {
  const seen: Seen[] = [];
  const pending = new Set<Promise<void>>();
  while (performance.now() < endsAt()) {
    const begunAt = performance.now();
    // One that waits for a slow server does not keep the others from looking, as long as they are few.
    if (pending.size < mostPending) {
      const look: Promise<void> = client.get(target).then(({ status, text }) => {
        seen.push({ begunAt, status, text });
        pending.delete(look);
      });
      pending.add(look);
    }
    await sleep(readEveryMs);
  }
  await Promise.all(pending);
  return seen;
}

/** How long after an instant an answer still showed what was before it, in ms; 0 when none did. */
function staleFor(seen: readonly Seen[], acknowledgedAt: number, isStale: (one: Seen) => boolean): number {
  const late = seen.filter((one) => one.begunAt > acknowledgedAt && isStale(one));
  return Math.max(0, ...late.map(({ begunAt }) => begunAt - acknowledgedAt));
}

/** Worst staleness there was, in ms, of what was acknowledged: shown creations, refused keys, ended bans. */
async function creations(
  { cluster, urls }: Pair,
  endsAt: number,
): Promise<{ stale: number; names: string[] }> {
  const { key } = await cluster.issueKey();
  const clients = [clientOf(urls.near, key), clientOf(urls.far, key)] as const;
  const first = JSON.parse((await clients[0].add('first')).text) as { id: number };
  const target = `/pets?limit=100&cursor=${writeCursor({ after: BigInt(first.id), filters: '' })}`;
  const looking = clients.map((client) => looked(client, target, () => endsAt));
  const added: { name: string; at: number }[] = [];
  const adding: Promise<void>[] = [];
  for (let number = 0; performance.now() < endsAt - boundMs * 1.5 && number < 99; number++) {
    const name = `${first.id}-${number}`;
    const done = ({ status }: { status: number }) => {
      if (status === 201) added.push({ name, at: performance.now() });
    };
    adding.push((clients[number % 2] as Client).add(name).then(done));
    await sleep(writeEveryMs);
  }
  await Promise.all(adding);
  const seen = await Promise.all(looking);
  const stale = seen.flatMap((answers) =>
    added.map(({ name, at }) =>
      staleFor(answers, at, ({ status, text }) => status === 200 && !text.includes(`"${name}"`)),
    ),
  );
  return { stale: Math.max(0, ...stale), names: added.map(({ name }) => name) };
}

/** Changes one key after the other, and looks with each on both instances. */
async function operations(
  { urls }: Pair,
  keys: readonly { key: string; keyId: number }[],
  endsAt: number,
  change: (keyId: number) => Promise<void>,
  isStale: (one: Seen) => boolean,
): Promise<number> {
  const begunAt = performance.now();
  const stepMs = (endsAt - boundMs * 1.5 - begunAt) / keys.length;
  const worst = keys.map(async ({ key, keyId }, index) => {
    const from = begunAt + index * stepMs;
    await sleep(Math.max(0, from - performance.now()));
    let at = Number.POSITIVE_INFINITY;
    const looking = Promise.all(
      Object.values(urls).map((url) => looked(clientOf(url, key), '/pets?limit=1', () => at + lookedAtMs)),
    );
    await sleep(stepMs / 3);
    await change(keyId);
    at = performance.now();
    return Math.max(...(await looking).map((seen) => staleFor(seen, at, isStale)));
  });
  return Math.max(...(await Promise.all(worst)));
}

/** How long /readyz and /livez of the far instance took, and how long until the former said what it has to. */
async function readyzOf({ urls }: Pair, says: Fault['says'], endsAt: number) {
  const begunAt = performance.now();
  const slowest = { ready: 0, live: 0 };
  let truthAt = says === undefined ? begunAt : undefined;
  const took = async (path: string) => {
    const startedAt = performance.now();
    const text = await (await fetch(urls.far + path)).text();
    return { ms: performance.now() - startedAt, text };
  };
  while (performance.now() < endsAt) {
    const [live, ready] = await Promise.all([took('/livez'), took('/readyz')]);
    slowest.live = Math.max(slowest.live, live.ms);
    slowest.ready = Math.max(slowest.ready, ready.ms);
    const trouble = (JSON.parse(ready.text) as { trouble?: string[] }).trouble ?? [];
    const isTrue = says === undefined || trouble.includes(says.trouble) === says.is;
    if (isTrue) truthAt ??= performance.now();
    else if (performance.now() - begunAt > truthMs) throw new Error(`/readyz says ${ready.text}`);
    await sleep(20);
  }
  return { slowest, truth: (truthAt ?? Number.POSITIVE_INFINITY) - begunAt };
}

/** Keys that both instances refuse as banned. */
async function bannedKeys({ cluster, urls }: Pair): Promise<{ key: string; keyId: number }[]> {
  const make = async () => {
    const issued = await cluster.issueKey({ perMinute: 1, perDay: 1_000 });
    for (const url of Object.values(urls)) {
      const client = clientOf(url, issued.key);
      await until(async () => (await client.get('/pets')).text.includes('api_key_banned'), recoveryMs);
    }
    // An instance that took Redis for gone on a busy machine tells it afterwards.
    const { bans } = cluster.operator;
    await until(async () => (await bans.list()).some(({ keyId }) => keyId === issued.keyId), recoveryMs);
    return issued;
  };
  return Promise.all(Array.from({ length: keysPerFault }, make));
}

async function usedKeys({ cluster, urls }: Pair): Promise<{ key: string; keyId: number }[]> {
  const make = async () => {
    const issued = await cluster.issueKey();
    for (const url of Object.values(urls)) await clientOf(url, issued.key).get('/pets?limit=1');
    return issued;
  };
  return Promise.all(Array.from({ length: keysPerFault }, make));
}

/** One fault, from its beginning to its end; what it showed, in ms. */
async function lived(pair: Pair, fault: Fault) {
  const { operator } = pair.cluster;
  const [used, banned] = [await usedKeys(pair), await bannedKeys(pair)];
  const endsAt = performance.now() + faultMs;
  const begun = fault.begin(pair);
  const [created, revoked, lifted, readyz] = await Promise.all([
    creations(pair, endsAt),
    operations(pair, used, endsAt, operator.keys.revoke.bind(operator.keys), ({ status }) => status === 200),
    operations(pair, banned, endsAt, operator.bans.lift.bind(operator.bans), ({ text }) =>
      text.includes('api_key_banned'),
    ),
    readyzOf(pair, fault.says, endsAt),
  ]);
  await begun;
  await Promise.all([pair.redis.heal(), pair.postgres.heal()]);
  const healedAt = performance.now();
  await until(async () => (await readiness(pair.urls.far)).status === 'ready', recoveryMs);
  return { created, revoked, lifted, readyz, recovery: performance.now() - healedAt };
}

export const clusterFreshness: StressTest = {
  name: 'cluster-freshness',
  promise:
    'while one instance is away from Redis or PostgreSQL, or far, what any of them acknowledged shows on all within a ' +
    'second, and /readyz is true and answers at once',
  rounds: 3,
  async run({ rounds, progress }) {
    await using pair = await startPair();
    const worst = new Map<string, number[]>();
    const names: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const fault of faults) {
        const { created, revoked, lifted, readyz, recovery } = await lived(pair, fault);
        names.push(...created.names);
        const { ready, live } = readyz.slowest;
        const measured = [created.stale, revoked, lifted, ready, live, readyz.truth, recovery];
        const values = measured.map(Math.round);
        const before = worst.get(fault.name) ?? [];
        worst.set(
          fault.name,
          values.map((value, index) => Math.max(value, before[index] ?? 0)),
        );
        progress(`${round + 1}, ${fault.name}: ${values.join(', ')} ms, ${created.names.length} created`);
        // What /livez takes besides is the machine's: it is a constant.
        if (Math.max(created.stale, revoked, lifted) > boundMs || ready > readyMs + live) {
          throw new Error(`${fault.name}: stale for ${values.slice(0, 3)} ms, /readyz ${ready} ms`);
        }
      }
    }
    const { key } = await pair.cluster.issueKey();
    for (const url of Object.values(pair.urls)) {
      const there = new Set(await allNames(clientOf(url, key)));
      const lost = names.filter((name) => !there.has(name)).length;
      if (lost > 0) throw new Error(`${lost} acknowledged animals are not shown by ${url}.`);
    }
    const told = [...worst].map(([name, [created, revoked, lifted, ready, live, truth, back]]) => {
      const shown = `201 hidden ${created}, revoked key served ${revoked}, lifted ban kept ${lifted}`;
      return [
        `${name}, ms at most`,
        `${shown}; /readyz ${ready} (/livez ${live}), true after ${truth}, ready again after ${back}`,
      ];
    });
    return { ...Object.fromEntries(told), acknowledged: names.length, lost: 0 };
  },
};
