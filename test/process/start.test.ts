import { describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { createSystemRuntime, startApp, startWorkers, WorkerExitedError } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import type { IssuedKey } from '../../src/operations/admin/keys.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, root, serveCommand, settingsIn, start, startService } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { testWith } from '../support/requirements.ts';
import { likelyFreePort } from '../support/server-process.ts';

testWith({ name: 'curl', package: 'curl' }, ['curl', '--version'])(
  'the first start prints the address, the API reference and a curl command that works unchanged',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path);
    const said = service.stdout();
    expect(said).toMatch(/^Animal Store API +http:\/\/127\.0\.0\.1:\d+\/v1$/m);
    expect(said).toContain(`${service.url}/docs\n`);
    const line = /^ *(curl .*)$/m.exec(said)?.[1] ?? '';
    await using pasted = start(['sh', '-c', line]);
    expect(await pasted.exited).toBe(0);
    expect(JSON.parse(pasted.stdout())).toEqual([]);
  },
);

test('without a terminal, the initial key is not logged, but written to a file that only its owner can read', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  expect(service.firstKey).toMatch(/^ask_\w{38}$/);
  expect(service.stdout() + service.stderr()).not.toContain('ask_');
  const file = `${dataFileIn(folder.path)}.first-key`;
  expect(service.stdout()).toContain(`is in ${file}; copy the key`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('the initial key is saved before the service listens, so that it exists when the service is ready', async () => {
  await using folder = await temporaryFolder();
  const port = likelyFreePort();
  const config = readConfig({ ...settingsIn(folder.path), PORT: String(port) });
  let taken: Bun.Server<undefined> | undefined;
  // Fails if the service is listening; otherwise, the service cannot listen afterwards.
  const keep = () => {
    taken = Bun.serve({ hostname: '127.0.0.1', port, fetch: () => new Response() });
  };
  const starting = startApp(config, () => '', pino({ level: 'silent' }), createSystemRuntime(), keep);
  await expect(starting).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(taken).toBeDefined();
  await taken?.stop(true);
});

test('the initial key is saved before workers listen', async () => {
  await using folder = await temporaryFolder();
  const kept: IssuedKey[] = [];
  const config = readConfig({ ...settingsIn(folder.path), WORKERS: '2' });
  // These workers end before they listen.
  const starting = startWorkers(
    config,
    {},
    () => ['false'],
    pino({ level: 'silent' }),
    createSystemRuntime(),
    (key) => {
      kept.push(key);
    },
  );
  await expect(starting).rejects.toBeInstanceOf(WorkerExitedError);
  expect(kept).toMatchObject([{ accountId: 1 }]);
});

test('if the initial key cannot be written, a command that issues another key is printed instead', async () => {
  await using folder = await temporaryFolder();
  // A folder with the name of the key file prevents the file from being written.
  mkdirSync(`${dataFileIn(folder.path)}.first-key`);
  await using service = await startService(folder.path);
  expect(service.stdout()).toContain('could not write its first API key');
  const line = /^ {2}(cd .* keys create .*)$/m.exec(service.stdout())?.[1] ?? '';
  await using pasted = start(['sh', '-c', line], { environment: settingsIn(folder.path) });
  expect(await pasted.exited).toBe(0);
  const key = /ask_\w{38}/.exec(pasted.stdout())?.[0] ?? '';
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
});

const main = join(root, 'src/main.ts');

describe.each([
  ['npm start, which uses bunfig.toml', [process.execPath, main]],
  ['npx', [main]],
])('when started by %s', (_name, command) => {
  const serveIn = async (folder: string) => {
    copyFileSync(join(root, 'bunfig.toml'), join(folder, 'bunfig.toml'));
    const PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
    const environment = { ...settingsIn(folder), PATH };
    await using service = start([...command, 'serve'], { environment, cwd: folder });
    return { exitCode: await service.exited, error: service.stderr() };
  };

  test.each([
    ['in UTF-16', Buffer.from('\ufeffPORT=80', 'utf16le')],
    ['with a line without =', 'PORT 80'],
  ])('the service does not start, and no store is created, if .env is %s', async (_name, content) => {
    await using folder = await temporaryFolder();
    await Bun.write(`${folder.path}/.env`, content);
    const { exitCode, error } = await serveIn(folder.path);
    expect(error).toStartWith('animal-store: Invalid setting:\n  .env ');
    expect([exitCode, existsSync(dataFileIn(folder.path))]).toEqual([2, false]);
  });

  test('the service reads a $ in single quotes in .env literally', async () => {
    await using folder = await temporaryFolder();
    await Bun.write(`${folder.path}/.env`, "LOG_LEVEL='lo$ud'\n");
    const { exitCode, error } = await serveIn(folder.path);
    expect([exitCode, error]).toEqual([2, expect.stringContaining('(got "lo$ud")')]);
  });
});

test('the service logs a warning for a variable that is probably a misspelled setting, once for all workers', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { LOG_REQUEST: 'all', WORKERS: '2' });
  await service.logged('"msg":"serving"');
  const warnings = service.stderr().match(/"level":40.*LOG_REQUEST is not a setting/g);
  expect(warnings).toHaveLength(1);
});

test('a second start prints no key, and the existing data and key remain valid', async () => {
  await using folder = await temporaryFolder();
  let key: string;
  {
    await using first = await startService(folder.path, { DRAIN_SECONDS: '0' });
    key = first.firstKey ?? '';
    expect((await clientOf(first.url, key).add('Ozzy')).status).toBe(201);
    first.signal('SIGTERM');
    expect(await first.exited).toBe(0);
  }
  await using second = await startService(folder.path);
  expect(second.stdout()).not.toContain('Created a new store');
  const { status, text } = await clientOf(second.url, key).get('/pets/1');
  expect([status, JSON.parse(text).name]).toEqual([200, 'Ozzy']);
});

test('starting on a port in use exits with code 1, reports the port and keeps the initial key', async () => {
  await using folder = await temporaryFolder();
  using taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const environment = { ...settingsIn(folder.path), PORT: String(taken.port) };
  await using service = start(serveCommand, { environment });
  expect(await service.exited).toBe(1);
  expect(service.stderr()).toMatch(new RegExp(`^animal-store: .*\\b${taken.port}\\b.*\n$`));
  expect(service.stdout()).not.toContain('ask_');

  await using second = start(serveCommand, { environment: settingsIn(folder.path) });
  await second.said(/^Manage .*\n/m);
});

test.each(['1', '2'])('SIGUSR1 and SIGUSR2 do not stop a service with WORKERS=%s', async (WORKERS) => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { WORKERS, DRAIN_SECONDS: '0' });
  for (const pid of [service.pid, ...childrenOf(service.pid)]) {
    process.kill(pid, 'SIGUSR1');
    process.kill(pid, 'SIGUSR2');
  }
  // The signal is delivered before this request. SIGTERM would have stopped the process.
  expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.stdout() + service.stderr()).not.toContain('worker ended; starting another');
});
