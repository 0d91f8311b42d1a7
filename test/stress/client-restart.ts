/** The service restarts under clients that call it directly, behind nginx and behind haproxy. */
import { join } from 'node:path';
import { AnimalStore } from '../../client/src/index.ts';
import { scopes } from '../../src/domain/scope.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, makeStore, operatorOf, type Running, start, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import type { Worked } from './client-restart-worker.ts';
import { same } from './failures.ts';
import { deliveredProxy, steadyPort } from './rolling-proxy.ts';
import type { Figures, StressTest } from './stress-test.ts';

const downMs = 10_000;
/** Lives that the workers of each process complete between two restarts: every one of them has recovered. */
const livesEach = 64;

interface Door {
  readonly name: string;
  readonly url: string;
}

/** `rounds` is the number of restarts, in turn by SIGTERM and SIGKILL. */
export const clientRestart: StressTest = {
  name: 'client-restart',
  promise:
    'restarts that take 10 s, by SIGTERM and by SIGKILL, under 64 workers on one client each in Bun and in Node.js, ' +
    'directly, behind nginx and behind haproxy, fail no call and do nothing twice (rounds: restarts)',
  rounds: 4,
  async run({ rounds, seed, progress }) {
    await using started = new AsyncDisposableStack();
    const folder = started.use(await temporaryFolder());
    const key = await ownerKey(folder.path);
    const settings = {
      PORT: String(await steadyPort(randomFrom(seed))),
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'error',
    };
    let service = started.use(await startService(folder.path, settings));
    const doors: Door[] = [{ name: 'directly', url: service.url }];
    for (const name of ['nginx', 'haproxy'] as const) {
      // The delivered configurations have two instances. Here both are the same one.
      const proxy = await deliveredProxy(name, [service.url, service.url]);
      if (proxy === undefined) throw new Error(`This machine has no ${name} for this test.`);
      started.use(proxy);
      doors.push({ name: `behind ${name}`, url: proxy.url });
    }
    const processes = (await programs(folder.path)).flatMap(({ runtime, command }) =>
      doors.map(({ name, url }) => {
        const title = `${name}, ${runtime}`;
        return {
          title,
          running: started.use(start([...command, title, url, String(seed)], { environment: { KEY: key } })),
        };
      }),
    );
    for (let round = 1; round <= rounds; round++) {
      await moreLives(processes);
      service.signal(round % 2 === 1 ? 'SIGTERM' : 'SIGKILL');
      await service.exited;
      await Bun.sleep(downMs);
      service = started.use(await startService(folder.path, settings));
      progress(`${round} of ${rounds} restarts`);
    }
    await moreLives(processes);
    const worked = await Promise.all(processes.map(({ title, running }) => resultOf(title, running)));
    await checkStored(
      new AnimalStore({ key, url: service.url }),
      worked.map(([, each]) => each),
    );
    return figuresOf(worked);
  },
};

async function ownerKey(folder: string): Promise<string> {
  await makeStore(folder);
  await using operator = await operatorOf(folder);
  const { id } = await operator.accounts.create('shop', 'enterprise', ample);
  return (await operator.keys.create(id, 'owner', undefined, scopes)).key;
}

/** The workers in Bun, and bundled for Node.js. */
async function programs(folder: string) {
  const source = join(import.meta.dir, 'client-restart-worker.ts');
  const bundle = join(folder, 'worker.mjs');
  const { outputs } = await Bun.build({ entrypoints: [source], target: 'node', format: 'esm' });
  await Bun.write(bundle, (await outputs[0]?.text()) ?? '');
  return [
    { runtime: 'Bun', command: [process.execPath, source] },
    { runtime: 'Node.js', command: ['node', bundle] },
  ];
}

/** Resolves when every process has completed `livesEach` more lives. */
async function moreLives(processes: readonly { readonly running: Running }[]): Promise<void> {
  await Promise.all(
    processes.map(async ({ running }) => {
      const enough = running.stderr().length + livesEach;
      await until(() => running.stderr().length >= enough, Number.POSITIVE_INFINITY);
    }),
  );
}

async function resultOf(title: string, running: Running): Promise<readonly [string, Worked]> {
  running.signal('SIGTERM');
  await running.exited;
  if (running.stdout() === '') throw new Error(`${title}: ${running.stderr()}`);
  return [title, JSON.parse(running.stdout())];
}

async function checkStored(store: AnimalStore, worked: readonly Worked[]): Promise<void> {
  const failures = worked.flatMap(({ failures }) => failures);
  same(`failed calls (${failures.slice(0, 10).join('; ')})`, failures.length, 0);
  const expected = worked.flatMap(({ pets }) =>
    Object.entries(pets).map(([name, times]) => name + '+'.repeat(times)),
  );
  const names = (await store.pets.list().toArray()).map(({ name }) => name);
  same('animals', names.sort().join('\n'), expected.sort().join('\n'));
  const orders = (await store.orders.list().toArray()).map(({ reference }) => reference);
  same(
    'orders',
    orders.sort().join('\n'),
    worked
      .flatMap(({ orders }) => orders)
      .sort()
      .join('\n'),
  );
}

function figuresOf(worked: readonly (readonly [string, Worked])[]): Figures {
  return Object.fromEntries(
    worked.flatMap(([title, { calls, retries, slowestMs }]) => [
      [`calls ${title}`, calls],
      ['of them failed', 0],
      [`retries ${title}`, retries],
      [`slowest call ${title}, ms`, slowestMs],
    ]),
  );
}
