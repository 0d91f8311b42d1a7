/** The copy that examples/mirror.ts keeps, while others write and the program is killed. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AnimalStore, AnimalStoreError } from '../../client/src/index.ts';
import type { AdminServices } from '../../src/app/app.ts';
import { scopes } from '../../src/domain/scope.ts';
import { startCluster } from '../support/cluster.ts';
import { caughtUp, differenceOf } from '../support/copy.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  finished,
  operatorOf,
  type Running,
  root,
  settingsIn,
  start,
  startService,
} from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());

/** A running service of one or several instances. */
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

/** Passes requests on, to one instance after the other, and calls `arrived` with the number of each. */
function proxyOf(urls: readonly string[], arrived: (count: number) => void) {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const target = urls[count++ % urls.length];
      arrived(count);
      const { headers, signal } = request;
      return fetch(`${target}${pathname}${search}`, { headers, signal });
    },
  });
  const reset = () => {
    count = 0;
  };
  return { url: server.url.origin, reset, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** Changes everything at random until it is stopped. What the service refuses, such as an order for a sold animal, changes nothing. */
async function write(store: AnimalStore, seed: number, isStopped: () => boolean): Promise<void> {
  const random = randomFrom(seed);
  const some = (most: number) => 1 + Math.floor(random() * most);
  const changes = [
    () =>
      store.pets.create({ name: `Ozzy "${some(99)}"},{"id":1`, categoryId: -(2n ** 63n) + BigInt(some(3)) }),
    () => store.pets.update(some(500), { name: `Søren ${some(1_000)}` }),
    () => store.pets.delete(some(500)),
    () => store.categories.put(some(5), { name: `犬 ${some(9)}` }),
    () => store.categories.delete(some(5)),
    () => store.orders.place({ petId: some(500), reference: `cart-${some(9)}` }),
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
  expect(await finished(command, { environment: settings })).toMatchObject({ exitCode: 0 });
}

/** At which of its requests each run of the program is killed: while it reads the lists, and while it follows. */
const killedAt = [1, 4, 9, 30, 34, 2, 6];

describe.each(Object.entries(places))('a copy of a store in %s', (name, open) => {
  test('equals it byte for byte, whenever the program is killed and whatever others write', async () => {
    await using place = await open();
    if (place === undefined) return;
    const account = await place.operator.accounts.create('mirror', 'enterprise', ample);
    const { key } = await place.operator.keys.create(account.id, 'mirror', undefined, scopes);
    const original = { url: place.urls[0] ?? '', key };
    const clients = place.urls.map((url) => new AnimalStore({ url, key }));
    const [first] = clients;
    for (let pet = 0; pet < 500; pet++) await first?.pets.create({ name: `${pet}`, categoryId: 1 });

    const copy = join(folder.path, `${name}.db`);
    let mirror: Running | undefined;
    let killAt = Number.POSITIVE_INFINITY;
    await using proxy = proxyOf(place.urls, (count) => {
      if (count === killAt) mirror?.signal('SIGKILL');
    });
    const startMirror = () => {
      proxy.reset();
      mirror = start([process.execPath, 'examples/mirror.ts', copy], {
        environment: { API: proxy.url, KEY: key },
      });
      return mirror;
    };
    let isStopped = false;
    const writers = [1, 2, 3, 4].map((seed) =>
      write(clients[seed % clients.length] as AnimalStore, seed, () => isStopped),
    );
    for (const point of killedAt) {
      killAt = point;
      await using run = startMirror();
      if (point === 30) await importAnimals(place, `${name} early`);
      expect(await run.exited).toBe(137);
    }
    killAt = Number.POSITIVE_INFINITY;
    await using last = startMirror();
    await importAnimals(place, `${name} late`);
    isStopped = true;
    await Promise.all(writers);
    await caughtUp(copy, original);
    expect(await differenceOf(copy, original)).toBeUndefined();

    // A position that the store does not know, as after a restore.
    last.signal('SIGKILL');
    await last.exited;
    using file = new Database(copy);
    file.run("UPDATE position SET event = 1000000000; UPDATE resources SET json = '{}'");
    await using again = startMirror();
    await until(() => again.stdout().includes('Read everything'));
    await caughtUp(copy, original);
    expect(again.stderr()).toContain('Reading everything again.');
    expect(await differenceOf(copy, original)).toBeUndefined();
  });
});
