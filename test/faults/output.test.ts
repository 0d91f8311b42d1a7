/** The service while its output cannot be written. */
import { expect } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { troubles } from '../../src/domain/troubles.ts';
import { addOperatorTo, sendAdmin } from '../support/admin.ts';
import { type Client, clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  issueKey,
  makeStore,
  operatorOf,
  type Running,
  serveCommand,
  serveWith,
  settingsIn,
  start,
} from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { samplesIn } from '../support/prometheus.ts';
import { untilReady } from '../support/ready.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import { addAll, expectUnavailable, fileSizeLimits, limitFileSize } from './disk.ts';
import { StalledPipe } from './stalled-pipe.ts';

const testPipes = testWith({ name: 'mkfifo', package: 'coreutils' }, ['sh', '-c', 'test -e /dev/full']);
const testLimited = testWith(...fileSizeLimits);

interface Serving extends Running {
  readonly url: string;
  readonly client: Client;
}

/** Starts the service with its log, and its other output, redirected. Its address is read from the store, not from its output. */
async function serving(
  folder: string,
  log: string,
  environment: Readonly<Record<string, string>> = {},
  onStart: (pid: number) => Promise<void> = async () => {},
  program = serveCommand,
  output = log,
): Promise<Serving> {
  await makeStore(folder);
  const key = await issueKey(folder, 'enterprise', ample);
  const settings = { ...settingsIn(folder), DRAIN_SECONDS: '0', LOG_REQUESTS: 'all', ADMIN_PORT: 'off' };
  const script = 'output=$1; shift; exec "$@" >> "$output" 2>> "$0"';
  const command = ['sh', '-c', script, log, output, ...program];
  const running = start(command, { environment: { ...settings, ...environment } });
  await onStart(running.pid);
  await using operator = await operatorOf(folder);
  const names = async () => (await operator.storage.instances.list()).map(({ name }) => name);
  await until(async () => (await names()).length > 0);
  const url = `http://127.0.0.1:${/:(\d+)$/.exec((await names())[0] ?? '')?.[1]}`;
  return { ...running, url, client: clientOf(url, key) };
}

/** More than a pipe's buffer can hold. */
const logged = 400;

async function expectService({ url, client }: Serving): Promise<void> {
  for (let request = 0; request < logged; request++) {
    expect((await client.get('/pets?limit=1')).status).toBe(200);
  }
  expect((await client.add('Ozzy')).status).toBe(201);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready' });
}

async function stopped({ signal, exited }: Serving): Promise<number> {
  signal('SIGTERM');
  return exited;
}

for (const WORKERS of ['1', '2']) {
  const processes = WORKERS === '1' ? 'one process' : 'workers';

  testPipes(
    `with ${processes}, no request is delayed or fails if the disk that all output is written to is full`,
    async () => {
      await using folder = await temporaryFolder();
      await using service = await serving(folder.path, '/dev/full', { WORKERS });
      await expectService(service);
      expect(await stopped(service)).toBe(0);
    },
  );

  testPipes(`with ${processes}, no request is delayed or fails if the output pipe is not read`, async () => {
    await using folder = await temporaryFolder();
    using pipe = new StalledPipe(folder.path);
    pipe.fill();
    await using service = await serving(folder.path, pipe.path, { WORKERS });
    await expectService(service);
    expect(await stopped(service)).toBe(0);
  });

  testPipes(
    `with ${processes}, no request is delayed or fails if the reader of the output pipe has exited`,
    async () => {
      await using folder = await temporaryFolder();
      using pipe = new StalledPipe(folder.path, true);
      const closing = (pid: number) => pipe.closeAfter(pid);
      await using service = await serving(folder.path, pipe.path, { WORKERS }, closing);
      await expectService(service);
      expect(await stopped(service)).toBe(0);
    },
  );

  testPipes(
    `with ${processes}, no log line is lost if the output pipe fills up while the service runs and is read again`,
    async () => {
      await using folder = await temporaryFolder();
      using pipe = new StalledPipe(folder.path);
      await using service = await serving(folder.path, pipe.path, { WORKERS });
      const before = await pipe.said(/"msg":"serving"/);
      pipe.fill();
      await expectService(service);
      const after = await pipe.said(/"operation":"createPet"/, before);
      expect(after.match(/"operation":"listPets"/g)?.length).toBe(logged);
      const stopping = stopped(service);
      await pipe.said(/"msg":"stopped"/);
      expect(await stopping).toBe(0);
    },
  );

  testLimited(
    `with ${processes}, a full disk of the store and of the log is shown as a problem, and the service recovers and logs every line`,
    async () => {
      await using folder = await temporaryFolder();
      const log = join(folder.path, 'log');
      await using service = await serving(folder.path, log, { WORKERS, ADMIN_PORT: '0' });
      await untilReady(service.url);
      const admin = /^Console +(http\S+)$/m.exec(readFileSync(log, 'utf8'))?.[1] ?? '';
      await using operator = await operatorOf(folder.path);
      const { token } = await addOperatorTo(operator.storage, 'viewer');
      const dataFile = async () => {
        const metrics = await fetch(`${admin}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
        return samplesIn(await metrics.text()).get('animal_store_trouble{part="dataFile"}');
      };
      expect(await dataFile()).toBe(0);
      const pids = [service.pid, ...childrenOf(service.pid)];
      for (const pid of pids) limitFileSize(pid, 0);
      const size = statSync(log).size;
      const { refused } = await addAll(service.client, ['one', 'two']);
      for (const reply of refused) expectUnavailable(reply);
      expect(refused.length).toBe(2);
      expect((await service.client.get('/pets')).status).toBe(200);
      expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'degraded' });
      await until(async () => (await dataFile()) === 1);
      await until(async () => {
        const { body } = await sendAdmin(admin, 'GET', '/overview', { token });
        return (body as { concerns: { what: string }[] }).concerns[0]?.what === troubles.dataFile;
      });
      expect(statSync(log).size).toBe(size);
      for (const pid of pids) limitFileSize(pid, 'unlimited');
      expect((await service.client.add('healed')).status).toBe(201);
      await untilReady(service.url);
      await until(async () => (await dataFile()) === 0);
      expect(await stopped(service)).toBe(0);
      const lines = readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{'));
      const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
      const statuses = requests
        .filter(({ operation }) => operation !== undefined)
        .map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 201, 503, 503]);
    },
  );
}

testPipes(
  'a full pipe as standard output does not delay the log, even after a worker has been replaced',
  async () => {
    await using folder = await temporaryFolder();
    using pipe = new StalledPipe(folder.path);
    pipe.fill();
    const log = join(folder.path, 'log');
    const environment = { WORKERS: '2' };
    await using service = await serving(folder.path, log, environment, undefined, serveCommand, pipe.path);
    const logs = () => readFileSync(log, 'utf8');
    // Starting a process makes pipes that it inherits blocking for all processes that share them.
    for (const replaced of [1, 2]) {
      await until(() => childrenOf(service.pid).length === 2);
      process.kill(childrenOf(service.pid)[0] as number, 'SIGKILL');
      await until(() => logs().match(/"msg":"worker serving"/g)?.length === replaced);
    }
    await expectService(service);
    await until(() => logs().includes('"operation":"createPet"'));
    await pipe.said(/^Animal Store API .*\n/m);
    expect(await stopped(service)).toBe(0);
    expect(logs()).toContain('"msg":"stopped"');
  },
);

testPipes('an uncaught exception ends the process even if nobody reads its output', async () => {
  await using folder = await temporaryFolder();
  using pipe = new StalledPipe(folder.path);
  const crashing = serveWith('test/faults/crash-on-signal.ts');
  await using service = await serving(folder.path, pipe.path, {}, undefined, crashing);
  await pipe.said(/"msg":"serving"/);
  pipe.fill();
  service.signal('SIGUSR2');
  expect(await service.exited).toBe(1);
});

testPipes('an uncaught exception is the last output of the process', async () => {
  await using folder = await temporaryFolder();
  const log = join(folder.path, 'log');
  const crashing = serveWith('test/faults/crash-on-signal.ts');
  await using service = await serving(folder.path, log, {}, undefined, crashing);
  service.signal('SIGUSR2');
  expect(await service.exited).toBe(1);
  expect(readFileSync(log, 'utf8')).toMatch(/error: A fault in the service\.\n +at .*\n/);
});

testPipes(
  'a blocked pipe is shown as a problem, and lost lines are counted, and reported when the pipe is read again',
  async () => {
    await using folder = await temporaryFolder();
    using pipe = new StalledPipe(folder.path);
    await using service = await serving(folder.path, pipe.path, { ADMIN_PORT: '0' });
    const before = await pipe.said(/"msg":"serving"/);
    const admin = /^Console +(http\S+)$/m.exec(await pipe.said(/^Console .*\n/m, before))?.[1] ?? '';
    await using operator = await operatorOf(folder.path);
    const { token } = await addOperatorTo(operator.storage, 'viewer');
    const lostLines = async () => {
      const metrics = await fetch(`${admin}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
      return samplesIn(await metrics.text()).get('animal_store_log_lines_lost_total') ?? NaN;
    };
    expect(await lostLines()).toBe(0);
    pipe.fill();
    let requests = 0;
    const request = async (count: number) => {
      const replies = await Promise.all(
        Array.from({ length: count }, () => service.client.get('/pets?limit=1')),
      );
      for (const { status } of replies) expect(status).toBe(200);
      requests += count;
    };
    await request(1);
    await until(async () => {
      const { body } = await sendAdmin(admin, 'GET', '/overview', { token });
      const { concerns } = body as { concerns: readonly { what: string }[] };
      return concerns.some(({ what }) =>
        what.startsWith('The log cannot be written: its reader is too slow'),
      );
    });
    expect(await lostLines()).toBe(0);
    while ((await lostLines()) === 0) await request(200);
    const lost = await lostLines();
    expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({ status: 'ready' });
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    const text = await pipe.said(/"route":"\/livez"/);
    const lines = text.split('\n').filter((line) => line !== '');
    const parsed = lines.map((line) => JSON.parse(line) as { msg: string; route?: string; lines?: number });
    const reports = parsed.filter(({ msg }) => msg.startsWith('log lines were lost'));
    expect(reports.map((report) => report.lines)).toEqual([lost]);
    expect(parsed.filter(({ route }) => route === '/v1/pets').length).toBe(requests - lost);
    const stopping = stopped(service);
    await pipe.said(/"msg":"stopped"/);
    expect(await stopping).toBe(0);
  },
);
