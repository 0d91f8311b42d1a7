import { afterAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { memoryOptions } from '../../src/cli/memory-options.ts';
import { buildProgram } from '../support/built-program.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  consoleOf,
  finished,
  root,
  type Service,
  settingsIn,
  start,
  startService,
} from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { testWith } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { bareRoot, bareRoots, dataFolder } from './bare-root.ts';
import { EmptyPlace } from './executable.ts';

const testBareRoot = testWith(...bareRoots);

const executable = await buildProgram();
afterAll(() => executable[Symbol.asyncDispose]());

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

/** Runs a command that must succeed, and returns the command's output. */
async function said(place: EmptyPlace, words: readonly string[], environment = {}): Promise<string> {
  await using running = place.run(words, { environment: { ...settingsIn(place.folder), ...environment } });
  expect([await running.exited, running.stderr()]).toEqual([0, '']);
  return running.stdout();
}

async function stop(service: Service): Promise<void> {
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
}

/** The URLs of the page's script and style sheet. */
async function assetsOf(page: string): Promise<string[]> {
  const html = await (await fetch(page)).text();
  return [...html.matchAll(/ (?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path = '']) => path);
}

async function statusAndType(url: string): Promise<string> {
  const response = await fetch(url);
  const bytes = await response.bytes();
  return bytes.length === 0 ? 'empty' : `${response.status} ${response.headers.get('content-type')}`;
}

test('the build prints the path and size of the executable and the build time, and leaves no other files', () => {
  expect(executable.said).toMatch(/^\/.*\/animal-store {3}\d+\.\d MB {3}built in \d+\.\d s\n$/);
  expect(readdirSync(join(executable.path, '..'))).toEqual(['animal-store']);
});

test('the executable contains no traces of the build machine', () => {
  expect(readFileSync(executable.path).includes(root)).toBe(false);
});

test('the executable, run in an empty folder without Node.js or any other program, serves the API, all pages and the console, and persists data', async () => {
  await using place = await EmptyPlace.make(executable);
  let key: string;
  {
    await using service = await place.serve();
    key = service.firstKey ?? '';
    expect((await clientOf(service.url, key).add('Ozzy')).status).toBe(201);
    const environment = readFileSync(`/proc/${service.pid}/environ`, 'utf8').split('\0');
    for (const [name, value] of Object.entries(memoryOptions))
      expect(environment).toContain(`${name}=${value}`);
    const pages = {
      '/livez': '200 application/json',
      '/readyz': '200 application/json',
      '/openapi.json': '200 application/json',
      '/client-1.1.0.tgz': '200 application/gzip',
      '/client.tgz': '200 application/gzip',
      '/docs': '200 text/html; charset=utf-8',
      '/docs/scalar.js': '200 text/javascript; charset=utf-8',
      '/docs/guides': '200 text/html; charset=utf-8',
      '/docs/guides/orders': '200 text/html; charset=utf-8',
      '/docs/errors': '200 text/html; charset=utf-8',
      '/docs/examples/mirror.ts': '200 text/plain; charset=utf-8',
      '/docs/icon.svg': '200 image/svg+xml',
      '/docs/style.css': '200 text/css; charset=utf-8',
      '/docs/site.js': '200 text/javascript; charset=utf-8',
      '/docs/search.json': '200 application/json',
    };
    for (const [path, expected] of Object.entries(pages)) {
      expect([path, await statusAndType(service.url + path)]).toEqual([path, expected]);
    }
    const admin = await consoleOf(service);
    expect(await statusAndType(`${admin}/`)).toBe('200 text/html;charset=utf-8');
    const assets = await assetsOf(`${admin}/`);
    expect(assets).toHaveLength(2);
    for (const asset of assets) expect(await statusAndType(admin + asset)).toStartWith('200 text/');
    await stop(service);
  }
  await using again = await place.serve();
  expect(JSON.parse((await clientOf(again.url, key).get('/pets/1')).text).name).toBe('Ozzy');
  await stop(again);
  const files = readdirSync(place.folder);
  expect(files.filter((name) => !name.startsWith('store.'))).toEqual([]);
});

testBareRoot('the executable runs with only a C library and one writable folder', async () => {
  await using folder = await temporaryFolder();
  const command = await bareRoot(folder.path, executable.path);
  const environment = { PATH: process.env.PATH ?? '', WORKERS: '2', DRAIN_SECONDS: '0' };
  await using service = await startService(dataFolder, environment, command(['serve']));
  expect((await clientOf(service.url, service.firstKey ?? '').add('Ozzy')).status).toBe(201);
  const console = await consoleOf(service);
  // Runs in the root folder of the service, as `docker exec` does.
  const enter = ['nsenter', `--target=${service.pid}`, '--user', '--preserve-credentials', '--mount'];
  const created = await finished(
    [
      ...enter,
      findProgram('chroot') ?? 'chroot',
      folder.path,
      '/animal-store',
      'operators',
      'create',
      'importer',
      '--role',
      'admin',
      '--json',
    ],
    { environment: settingsIn(dataFolder) },
  );
  expect(created.stderr).toBe('');
  const { token } = JSON.parse(created.stdout) as { token: string };
  const imported = await fetch(`${console}/admin/v1/pets/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'text/csv' },
    body: 'name,categoryId\nOzzy,1\n',
  });
  expect([imported.status, await imported.json()]).toEqual([200, expect.objectContaining({ added: 1 })]);
  await stop(service);
});

test("the executable's workers run the same file, serve writes, and exit with the service", async () => {
  await using place = await EmptyPlace.make(executable);
  await using service = await place.serve({ WORKERS: '2' });
  const workers = childrenOf(service.pid);
  expect(workers).toHaveLength(2);
  if (process.platform === 'linux') {
    const programs = workers.map((worker) => readlinkSync(`/proc/${worker}/exe`));
    expect(new Set(programs)).toEqual(new Set([realpathSync(executable.path)]));
  }
  expect((await clientOf(service.url, service.firstKey ?? '').add('Ozzy')).status).toBe(201);
  await stop(service);
  await until(() => !workers.some(isRunning));
});

test('the executable can run a sandbox, which leaves no files behind', async () => {
  await using place = await EmptyPlace.make(executable);
  const environment = { TMPDIR: place.folder };
  await using sandbox = place.run(['sandbox', '--port', '0', '--json'], { environment });
  await sandbox.said('\n');
  const { url, keys } = JSON.parse(sandbox.stdout());
  expect((await clientOf(url, keys.free).add('Ozzy')).status).toBe(201);
  sandbox.signal('SIGTERM');
  expect(await sandbox.exited).toBe(0);
  expect(readdirSync(place.folder)).toEqual([]);
});

test('the executable prints its version and help, and rejects unknown commands', async () => {
  await using place = await EmptyPlace.make(executable);
  expect(await said(place, ['--version'])).toBe(`${packageJson.version}\n`);
  expect(await said(place, ['--help'])).toContain('Usage: animal-store [options] [command]');
  await using wrong = place.run(['sreve']);
  expect([await wrong.exited, wrong.stdout()]).toEqual([2, '']);
  expect(wrong.stderr()).toContain("unknown command 'sreve'");
});

test("the executable's commands, including the command it prints, work while the service is running", async () => {
  await using place = await EmptyPlace.make(executable);
  await using service = await place.serve();
  const line = /^ {2}(cd .* --help)$/m.exec(service.stdout())?.[1] ?? '';
  await using pasted = start(['/bin/sh', '-c', line], { environment: { PATH: '' } });
  expect([await pasted.exited, pasted.stderr()]).toEqual([0, '']);
  const { key } = JSON.parse(await said(place, ['keys', 'create', '--account', '1', '--json']));
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
  await Bun.write(join(place.folder, 'animals.csv'), 'name,categoryId,status\nOzzy,1,available\n');
  await said(place, ['import', 'animals.csv', '--json']);
  expect(JSON.parse((await clientOf(service.url, key).get('/pets')).text)).toHaveLength(1);
  await said(place, ['backup', 'copy.db', '--json']);
  await said(place, ['backup', 'verify', 'copy.db', '--json']);
  expect(await said(place, ['ready'], { PORT: new URL(service.url).port })).toBe('{"status":"ready"}\n');
});

test('`ready` fails with the reason when the service is not running', async () => {
  await using place = await EmptyPlace.make(executable);
  const port = 1;
  await using asking = place.run(['ready'], { environment: { PORT: String(port) } });
  expect([await asking.exited, asking.stdout()]).toEqual([1, '']);
  expect(asking.stderr()).toStartWith(`animal-store: No response from http://127.0.0.1:${port}/readyz: `);
});

test('the executable reads a .env file in the working directory, and ignores a bunfig.toml', async () => {
  await using place = await EmptyPlace.make(executable);
  await Bun.write(join(place.folder, '.env'), "LOG_LEVEL='lo$ud'\n");
  await Bun.write(join(place.folder, 'bunfig.toml'), 'preload = ["./stranger.ts"]\n');
  await Bun.write(join(place.folder, 'stranger.ts'), 'console.log("a stranger was here");\n');
  await using service = place.run(['serve']);
  expect([await service.exited, service.stdout()]).toEqual([2, '']);
  expect(service.stderr()).toContain('(got "lo$ud")');
});

test.skipIf(servers === undefined)(
  'the executable copies a store to PostgreSQL and serves the copy, with limits in Redis',
  async () => {
    if (servers === undefined) return;
    await using place = await EmptyPlace.make(executable);
    await using schema = await servers.makeSchema();
    let key: string;
    {
      await using embedded = await place.serve();
      key = embedded.firstKey ?? '';
      expect((await clientOf(embedded.url, key).add('Ozzy')).status).toBe(201);
      await stop(embedded);
    }
    const cluster = {
      DATABASE_URL: schema.url,
      REDIS_URL: servers.redisUrl,
      REDIS_PREFIX: servers.makePrefix(),
    };
    const from = settingsIn(place.folder).DATABASE_URL ?? '';
    await said(place, ['copy', '--json'], { FROM_DATABASE_URL: from, TO_DATABASE_URL: schema.url });
    await using service = await place.serve(cluster);
    const { status, remaining } = await clientOf(service.url, key).get('/pets/1');
    expect([status, remaining]).toEqual([200, 59]);
    await stop(service);
  },
);
