import { expect, setDefaultTimeout } from 'bun:test';
import type { Service } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { testTimeoutMs, until } from '../support/wait.ts';
import { beginPost, Connection } from './connection.ts';
import { drainUnder } from './drain.ts';
import { embeddedTests, workersTests } from './worker-stores.ts';

setDefaultTimeout(testTimeoutMs);

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
    `${signal}: 32 keep-alive clients of two workers see none fail, and are told to close`,
    async (stores) => {
      const { answered, told, failures, exitCode } = await drainUnder({
        ...{ clients: 32, seed: 20_261_121, signal, drainSeconds: 5 },
        begin: stores.beginDrained,
      });
      expect(failures).toEqual([]);
      expect([told, exitCode]).toEqual([32, 0]);
      expect(answered).toBeGreaterThanOrEqual(32);
    },
  );
}

embeddedTest(
  'signals to every process of the service, as terminals and systemd send them, drain it once',
  async (stores) => {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    const workers = childrenOf(service.pid);
    for (const pid of [...workers, service.pid]) process.kill(pid, 'SIGINT');
    await service.logged(stopping);
    // The workers hear of it a moment after the supervisor says so.
    let told = 0;
    await until(async () => {
      const ready = await fetch(`${service.url}/readyz`, { keepalive: false });
      const isTold = ready.status === 503 && (await ready.text()) === '{"status":"stopping"}';
      told = isTold ? told + 1 : 0;
      return told === 8;
    });
    expect(await service.exited).toBe(0);
    expect(service.stderr()).not.toContain('worker ended');
  },
);

embeddedTest('signals to every process during the start end it in good order', async (stores) => {
  for (let start = 0; start < 3; start++) {
    await using service = stores.begin();
    await until(() => childrenOf(service.pid).length === 2);
    for (const pid of [service.pid, ...childrenOf(service.pid)]) process.kill(pid, 'SIGTERM');
    expect(await service.exited).toBe(0);
    expect(service.stderr()).toContain('"msg":"stopped"');
  }
});

embeddedTest('a worker that dies during the drain is not replaced, and the others go on', async (stores) => {
  await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
  const [first = 0, second = 0] = childrenOf(service.pid);
  service.signal('SIGTERM');
  await service.logged(stopping);
  process.kill(first, 'SIGKILL');
  await until(() => !childrenOf(service.pid).includes(first));
  expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  expect(childrenOf(service.pid)).toEqual([second]);
  expect(await service.exited).toBe(0);
  expect(service.stderr()).toContain('worker did not stop in good order');
  expect(service.stderr()).not.toMatch(/starting another|worker serving/);
});

embeddedTest(
  'a worker that hangs is killed at the end of the time a stop has, and the service exits with 0',
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

workersTest('a second signal ends all at once, with requests under way', async (stores) => {
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

workersTest('workers do not outlive a supervisor that is killed, and the port is free', async (stores) => {
  let port: string;
  {
    await using service = await stores.startInstance({ DRAIN_SECONDS: '5' });
    port = new URL(service.url).port;
    const { key } = await stores.issueKey();
    using _endless = await endlessRequests(service, key);
    const workers = childrenOf(service.pid);
    expect(workers).toHaveLength(2);
    service.signal('SIGKILL');
    await gone(workers);
  }
  await using again = await stores.startInstance({ PORT: port });
  expect((await fetch(`${again.url}/livez`)).status).toBe(200);
});
