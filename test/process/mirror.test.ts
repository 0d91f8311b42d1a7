/** The copy of a store that examples/mirror.ts maintains while clients write and the program is killed repeatedly. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AnimalStore, AnimalStoreError } from '../../client/src/index.ts';
import type { AdminServices } from '../../src/app/app.ts';
import { scopes } from '../../src/domain/scope.ts';
import { patientSettings, startCluster } from '../support/cluster.ts';
import { caughtUp, differenceOf } from '../support/copy.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, finished, operatorOf, root, settingsIn, start, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());

/** A running service with one or several instances. */
interface Place extends AsyncDisposable {
  readonly urls: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly operator: AdminServices;
}

const places: Readonly<Record<string, () => Promise<Place | undefined>>> = {
  'the embedded store': async () => {
    await using opened = new AsyncDisposableStack();
    const { url } = opened.use(await startService(folder.path));
    const operator = opened.use(await operatorOf(folder.path));
    const kept = opened.move();
    const settings = settingsIn(folder.path);
    return { urls: [url], settings, operator, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  },
  'two instances': async () => {
    const cluster = await startCluster({ instances: 2 });
    if (cluster === undefined) return undefined;
    return {
      urls: cluster.instances.map(({ url }) => url),
      settings: { DATABASE_URL: cluster.postgres.url, REDIS_URL: cluster.redis.url },
      operator: cluster.operator,
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    };
  },
};

/** Forwards requests to the instances in turn, and calls `arrived` with each address. */
function proxyOf(urls: readonly string[], arrived: (address: string) => void) {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async ({ url, headers, signal }) => {
      const { origin } = new URL(url);
      arrived(url);
      return fetch(url.replace(origin, urls[count++ % urls.length] ?? ''), { headers, signal });
    },
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** Changes random resources until stopped. Rejected requests, such as an order for a sold animal, change nothing. */
async function write(store: AnimalStore, seed: number, isStopped: () => boolean): Promise<void> {
  const random = randomFrom(seed);
  const some = (most: number) => 1 + Math.floor(random() * most);
  const changes = [
    () =>
      store.pets.create({ name: `Ozzy "${some(99)}"},{"id":1`, categoryId: -(2n ** 63n) + BigInt(some(3)) }),
    () => store.pets.update(some(300), { name: `Søren ${some(1_000)}` }),
    () => store.pets.delete(some(300)),
    () => store.categories.put(some(5), { name: `犬 ${some(9)}` }),
    () => store.categories.delete(some(5)),
    () => store.orders.place({ petId: some(300), reference: `cart-${some(9)}` }),
    () => store.orders.approve(some(50)),
    () => store.orders.deliver(some(50)),
    () => store.orders.return(some(50)),
  ];
  while (!isStopped()) {
    const change = changes[some(changes.length) - 1];
    await change?.().catch((error: unknown) => {
      if (!(error instanceof AnimalStoreError) || error.status === undefined || error.status >= 500)
        throw error;
    });
  }
}

async function importAnimals({ settings }: Place, name: string): Promise<void> {
  const file = join(folder.path, `${name}.csv`);
  const rows = Array.from({ length: 1_200 }, (_, row) => `${name} ${row},7,available`);
  await Bun.write(file, `name,categoryId,status\n${rows.join('\n')}\n`);
  const command = [process.execPath, join(root, 'src/main.ts'), 'import', file];
  expect(await finished(command, { environment: { ...settings, ...patientSettings } })).toMatchObject({
    exitCode: 0,
  });
}

/**
 * The request during which each run of the program is killed: while the program reads all lists, between events, and
 * while it reads imported animals.
 */
const runs = [
  { kind: 'list', killedAt: 1 },
  { kind: 'list', killedAt: 4 },
  { kind: 'list', killedAt: 9 },
  { kind: 'follow', killedAt: 2 },
  { kind: 'follow', killedAt: 20 },
  { kind: 'list', killedAt: 3, hasImport: true },
  { kind: 'follow', killedAt: 4 },
] as const;

describe.each(Object.entries(places))('a copy of a store in %s', (name, open) => {
  test('equals the store byte for byte, despite kills and concurrent writes', async () => {
    await using place = await open();
    if (place === undefined) return;
    const account = await place.operator.accounts.create('mirror', 'enterprise', ample);
    const { key } = await place.operator.keys.create(account.id, 'mirror', undefined, scopes);
    const original = { url: place.urls[0] ?? '', key };
    const clients = place.urls.map((url) => new AnimalStore({ url, key }));
    const [first] = clients;
    for (let pet = 0; pet < 700; pet++) await first?.pets.create({ name: `${pet}`, categoryId: 1 });

    const copy = join(folder.path, `${name}.db`);
    let arrived: (kind: string) => void = () => {};
    await using proxy = proxyOf(place.urls, (url) => arrived(url.includes('wait=') ? 'follow' : 'list'));
    const startMirror = (file = copy, as = key) =>
      start([process.execPath, 'examples/mirror.ts', file], { environment: { API: proxy.url, KEY: as } });
    let isStopped = false;
    const writers = [1, 2].map((seed) =>
      write(clients[seed % clients.length] as AnimalStore, seed, () => isStopped),
    );
    for (const { kind, killedAt, hasImport } of runs.map((run) => ({ hasImport: false, ...run }))) {
      let count = 0;
      await using run = startMirror();
      arrived = (of) => {
        if (of === kind && ++count === killedAt) run.signal('SIGKILL');
      };
      if (hasImport) await importAnimals(place, `${name} early`);
      expect(await run.exited).toBe(137);
    }
    arrived = () => {};
    await using last = startMirror();
    await importAnimals(place, `${name} late`);
    isStopped = true;
    await Promise.all(writers);
    await caughtUp(copy, original);
    expect(await differenceOf(copy, original)).toBeUndefined();

    const reader = await place.operator.keys.create(account.id, 'reader', undefined, [
      'events:read',
      'pets:read',
    ]);
    const part = join(folder.path, `${name} without orders.db`);
    await using reading = startMirror(part, reader.key);
    await reading.said('Copied everything');
    expect(await differenceOf(part, original, ['pet', 'category'])).toBeUndefined();

    // Sets a position that the store does not know, as after a restore.
    last.signal('SIGKILL');
    await last.exited;
    using file = new Database(copy);
    file.run("UPDATE position SET event = 1000000000; UPDATE resources SET json = '{}'");
    await using again = startMirror();
    await again.said('Copied everything');
    await caughtUp(copy, original);
    expect(again.stderr()).toContain('Reading everything again.');
    expect(await differenceOf(copy, original)).toBeUndefined();
  });
});
