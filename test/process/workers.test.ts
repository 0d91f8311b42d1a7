import { expect, test } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { program, type Service, serveCommand, settingsIn, start } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { likelyFreePort } from '../support/server-process.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';
import { EachWorker, headerOf } from './each-worker.ts';
import { killWorkers } from './worker-kills.ts';
import { embeddedTests, workersTests } from './worker-stores.ts';

const workersTest = workersTests();
const embeddedTest = embeddedTests();

const linesOf = (service: Pick<Service, 'stderr'>) =>
  service
    .stderr()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

workersTest(
  "a start is reported only once, every worker serves, and each of a worker's log lines has the worker's number",
  async (stores) => {
    await using service = await stores.startInstance({ WORKERS: '3', LOG_REQUESTS: 'all' });
    const { key } = await stores.issueKey();
    await service.logged('"msg":"serving"');
    expect(service.stdout().match(/^Animal Store API /gm)).toHaveLength(1);
    expect(linesOf(service).filter(({ msg }) => msg === 'serving')).toEqual([
      expect.objectContaining({ workers: 3, url: service.url }),
    ]);
    expect(childrenOf(service.pid)).toHaveLength(3);
    using each = await EachWorker.meet(service, key, 3);
    const ids = (await each.ask('/v1/pets', key)).map((reply) => headerOf(reply, 'x-request-id'));
    expect(new Set(ids).size).toBe(ids.length);
    const requests = () => linesOf(service).filter(({ requestId }) => ids.includes(String(requestId)));
    await until(() => requests().length === ids.length);
    expect(new Set(requests().map(({ worker }) => worker))).toEqual(new Set([1, 2, 3]));
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    const said = linesOf(service).map(({ msg }) => msg);
    expect(said.filter((msg) => msg === 'stopping' || msg === 'stopped')).toEqual(['stopping', 'stopped']);
  },
);

workersTest(
  'another service, with or without workers, cannot use the port of a service with workers',
  async (stores) => {
    await using folder = await temporaryFolder();
    await using first = await stores.startInstance();
    const { port } = new URL(first.url);
    const message = `animal-store: Port ${port} on 127.0.0.1 is already in use.`;
    await expect(stores.startInstance({ PORT: port })).rejects.toThrow(message);
    await using alone = start(serveCommand, { environment: { ...settingsIn(folder.path), PORT: port } });
    expect(await alone.exited).toBe(1);
    expect(alone.stderr()).toStartWith(message);
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  },
);

embeddedTest('a port in use by another program is reported only once, with exit code 1', async (stores) => {
  // The port is in use even if the other process is willing to share it.
  using taken = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: true, fetch: () => new Response() });
  await using service = stores.begin({ PORT: String(taken.port) });
  expect(await service.exited).toBe(1);
  expect(service.stderr()).toMatch(new RegExp(`^animal-store: Port ${taken.port} .* in use\\..*\n$`));
  expect(service.stdout()).toBe('');
});

embeddedTest(
  'when two services start concurrently on one port, one of them serves and the other reports that the port is in use',
  async (stores) => {
    let refused: string[] = [];
    // Retries, because neither service starts if another process is using the port. If 100 of the 20,000 ports are in
    // use, five attempts in a row fail with a probability of 3e-12.
    for (let attempt = 0; attempt < 5 && refused.length !== 1; attempt++) {
      const PORT = String(likelyFreePort());
      const both = await Promise.allSettled([1, 2].map(() => stores.startInstance({ PORT })));
      refused = both.flatMap((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : []));
    }
    expect(refused).toEqual([expect.stringContaining('is already in use')]);
  },
);

workersTest(
  'a killed worker is replaced, its signal is logged, and only its connections are aborted',
  async (stores) => {
    await using service = await stores.startInstance();
    const kills = 3;
    const { failures, acknowledged } = await killWorkers({ service, stores, kills, seed: 20_261_121 });
    expect(failures).toEqual([]);
    expect(acknowledged).toBeGreaterThan(kills);
    const ended = linesOf(service).filter(({ msg }) => msg === 'worker ended; starting another');
    expect(ended.map(({ signal }) => signal)).toEqual(Array.from({ length: kills }, () => 'SIGKILL'));
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  },
);

embeddedTest('MAX_CONNECTIONS is split among the workers', async (stores) => {
  await using service = await stores.startInstance({ MAX_CONNECTIONS: '40' });
  const { key } = await stores.issueKey();
  using open = new DisposableStack();
  // One of the two workers gets at least 30 of the 60 connections, but may have only 20 (half of MAX_CONNECTIONS). If
  // each worker allowed 40 connections, the limit would usually not be reached.
  for (let count = 0; count < 60; count++) {
    const connection = open.use(await Connection.open(service.url));
    connection.write(`GET /v1/pets HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  }
  await service.logged(/too many connections/);
});

test('a worker without a supervisor does not start', async () => {
  await using worker = start([...program, 'serve-worker', '1']);
  expect(await worker.exited).toBe(1);
  expect(worker.stderr()).toBe('animal-store: Workers can be started only by animal-store serve.\n');
});
