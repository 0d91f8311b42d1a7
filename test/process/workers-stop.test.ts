import { expect } from 'bun:test';
import type { Service } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { until } from '../support/wait.ts';
import { beginPost, Connection } from './connection.ts';
import { drainUnder } from './drain.ts';
import { embeddedTests, workersTests } from './worker-stores.ts';

const workersTest = workersTests();
const embeddedTest = embeddedTests();

const stopping = '"msg":"stopping"';

/** Resolves when none of the processes is left. */
async function gone(pids: readonly number[]): Promise<void> {
  await until(() => !pids.some(isRunning));
}

/** A request on each of some connections that never ends. */
async function endlessRequests({ url }: Service, key: string): Promise<DisposableStack> {
  const opened = new DisposableStack();
  for (let count = 0; count < 8; count++) {
    const connection = opened.use(await Connection.open(url));
    expect((await connection.get('/v1/pets', key)).status).toBe(200);
    connection.write(beginPost(key, '{"name":"Ozzy","categoryId":1}', 10));
  }
  return opened;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  const define = signal === 'SIGTERM' ? workersTest : embeddedTest;
  define(
    `${signal}: the next request of each of 32 idle clients of two workers is answered, and closes the connection`,
    async (stores) => {
      const options = { clients: 32, signal, begin: stores.beginDrained };
      const { closed, failures, exitCode } = await drainUnder(options);
      expect({ closed, failures, exitCode }).toEqual({ closed: 32, failures: [], exitCode: 0 });
    },
  );
}

embeddedTest(
  'signals to every process of the service, as terminals and systemd send them, cause one drain',
  async (stores) => {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    const workers = childrenOf(service.pid);
    for (const pid of [...workers, service.pid]) process.kill(pid, 'SIGINT');
    await service.logged(stopping);
    // The supervisor logs it a moment before it informs the workers.
    let stops = 0;
    await until(async () => {
      const ready = await fetch(`${service.url}/readyz`, { keepalive: false });
      const isStopping = ready.status === 503 && (await ready.text()) === '{"status":"stopping"}';
      stops = isStopping ? stops + 1 : 0;
      return stops === 4;
    });
    expect(await service.exited).toBe(0);
    expect(service.stderr()).not.toContain('worker ended');
  },
);

embeddedTest('signals to every process during the start end it cleanly', async (stores) => {
  await using service = stores.begin();
  await until(() => childrenOf(service.pid).length === 2);
  const workers = childrenOf(service.pid);
  service.signal('SIGTERM');
  // Workers already ended by the supervisor need no signal.
  for (const pid of workers) if (isRunning(pid)) process.kill(pid, 'SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.stderr()).toContain('"msg":"stopped"');
});

embeddedTest(
  'a worker that dies during the drain is not replaced, and the others continue',
  async (stores) => {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    const [first = 0, second = 0] = childrenOf(service.pid);
    service.signal('SIGTERM');
    await service.logged(stopping);
    process.kill(first, 'SIGKILL');
    await until(() => !childrenOf(service.pid).includes(first));
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    expect(childrenOf(service.pid)).toEqual([second]);
    expect(await service.exited).toBe(0);
    expect(service.stderr()).toContain('worker did not stop cleanly');
    expect(service.stderr()).not.toMatch(/starting another|worker serving/);
  },
);

embeddedTest(
  'a worker that hangs is killed at the deadline of the stop, and the service exits with 0',
  async (stores) => {
    await using service = await stores.startInstance();
    const [hung = 0] = childrenOf(service.pid);
    process.kill(hung, 'SIGSTOP');
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    expect(service.stderr()).toContain(`"pid":${hung},"msg":"worker does not stop; killing it"`);
    await gone([hung]);
  },
);

workersTest('a second signal ends all processes immediately, with requests in progress', async (stores) => {
  await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
  const { key } = await stores.issueKey();
  using _endless = await endlessRequests(service, key);
  const workers = childrenOf(service.pid);
  service.signal('SIGTERM');
  await service.logged(stopping);
  let exitCode: number | undefined;
  void service.exited.then((code) => {
    exitCode = code;
  });
  await until(() => {
    if (exitCode === undefined) service.signal('SIGTERM');
    return exitCode !== undefined;
  });
  // 128 and the number of SIGTERM.
  expect(exitCode).toBe(143);
  await gone(workers);
});

workersTest('workers end with a killed supervisor, and the store can be served again', async (stores) => {
  {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    const { key } = await stores.issueKey();
    using _endless = await endlessRequests(service, key);
    const workers = childrenOf(service.pid);
    expect(workers).toHaveLength(2);
    service.signal('SIGKILL');
    await gone(workers);
  }
  await using again = await stores.startInstance();
  expect((await fetch(`${again.url}/livez`)).status).toBe(200);
});
