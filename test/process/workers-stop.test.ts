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

/** Resolves when all these processes have exited. */
async function gone(pids: readonly number[]): Promise<void> {
  await until(() => !pids.some(isRunning));
}

/** Opens connections with a request whose body never ends. */
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
    `with ${signal}, each of 32 idle clients of two workers gets a response to its next request, and its connection is closed`,
    async (stores) => {
      const options = { clients: 32, signal, begin: stores.beginDrained };
      const { closed, failures, exitCode } = await drainUnder(options);
      expect({ closed, failures, exitCode }).toEqual({ closed: 32, failures: [], exitCode: 0 });
    },
  );
}

embeddedTest(
  'signals to every process of the service, as terminals and systemd send them, cause a single drain',
  async (stores) => {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    const workers = childrenOf(service.pid);
    for (const pid of [...workers, service.pid]) process.kill(pid, 'SIGINT');
    await service.logged(stopping);
    // The supervisor logs this message shortly before it informs the workers.
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

embeddedTest('signals to every process during startup stop the service cleanly', async (stores) => {
  await using service = stores.begin();
  await until(() => childrenOf(service.pid).length === 2);
  const workers = childrenOf(service.pid);
  service.signal('SIGTERM');
  // Workers that the supervisor has already stopped need no signal.
  for (const pid of workers) if (isRunning(pid)) process.kill(pid, 'SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.stderr()).toContain('"msg":"stopped"');
});

embeddedTest(
  'a worker that dies during the drain is not replaced, and the other workers continue',
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
  'a hung worker is killed at the shutdown deadline, and the service exits with 0',
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

workersTest(
  'a second signal stops all processes immediately, even with requests in progress',
  async (stores) => {
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
    // 128 plus the signal number of SIGTERM (15).
    expect(exitCode).toBe(143);
    await gone(workers);
  },
);

workersTest('workers exit if the supervisor is killed, and the store can be served again', async (stores) => {
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
