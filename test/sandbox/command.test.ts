/** The command `animal-store sandbox`. A normal service has none of its code and routes. */
import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestApp } from '../support/app.ts';
import { commandLine } from '../support/cli.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Running, root, settingsIn, start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';

interface Ready {
  readonly url: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly pid: number;
}

function startIn(
  folder: string,
  args: readonly string[] = [],
  environment: Record<string, string> = {},
): Running {
  return start([...commandLine, 'sandbox', '--port', '0', ...args], {
    environment: { TMPDIR: folder, ...environment },
    cwd: folder,
  });
}

/** Contents of a folder, except for the runtime's cache, which is there only if HOME is unset. */
async function madeIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== '.bun');
}

async function readyOf(running: Running): Promise<Ready> {
  await running.said('\n');
  return JSON.parse(running.stdout());
}

test('a sandbox prints its URL as one line of JSON, reads no settings and leaves no files', async () => {
  await using folder = await temporaryFolder();
  const settings = {
    DATABASE_URL: 'postgres://unused@127.0.0.1:1/real',
    REDIS_URL: 'redis://127.0.0.1:1',
    PORT: 'nonsense',
    ADMIN_PORT: '1',
    GET_PET_SUNSET: '2020-01-01T00:00:00Z',
  };
  await using running = startIn(folder.path, ['--json'], settings);
  const { url, keys, pid } = await readyOf(running);
  expect(pid).toBe(running.pid);
  expect(Object.keys(keys)).toEqual(['free', 'pro', 'business', 'enterprise']);
  for (const key of Object.values(keys)) {
    const response = await fetch(`${url}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
  }
  expect(await madeIn(folder.path)).toHaveLength(1);
  // Faults are not logged as failures.
  for (const fault of ['status=500', 'status=503', 'cut=before']) {
    const headers = { Authorization: `Bearer ${keys.free}`, 'X-Sandbox': fault };
    await fetch(`${url}/v1/pets`, { method: 'POST', headers }).catch(() => undefined);
  }
  // A delayed response does not delay the shutdown.
  const held = fetch(`${url}/v1/pets`, {
    headers: { Authorization: `Bearer ${keys.free}`, 'X-Sandbox': 'delay=10m' },
  }).then(
    () => 'answered',
    () => 'cut',
  );
  const asked = async () => (await (await fetch(`${url}/sandbox/requests`)).text()).includes('delay=10m');
  await until(asked);
  running.signal('SIGTERM');
  expect(await running.exited).toBe(0);
  expect(await held).toBe('cut');
  expect(await madeIn(folder.path)).toEqual([]);
  expect(running.stderr()).toBe('');
});

test('a sandbox deletes the folders of killed sandboxes, but not the folders of running ones', async () => {
  await using folder = await temporaryFolder();
  await using killed = startIn(folder.path, ['--json']);
  await readyOf(killed);
  const left = await madeIn(folder.path);
  killed.signal('SIGKILL');
  await killed.exited;
  expect(await madeIn(folder.path)).toEqual(left);

  await using one = startIn(folder.path, ['--json']);
  await readyOf(one);
  const [ofOne] = await madeIn(folder.path);
  expect(left).not.toContain(ofOne ?? '');
  await using other = startIn(folder.path, ['--json']);
  await readyOf(other);
  expect(await madeIn(folder.path)).toContain(ofOne ?? '');
  for (const running of [one, other]) running.signal('SIGINT');
  expect(await Promise.all([one.exited, other.exited])).toEqual([0, 0]);
  expect(await madeIn(folder.path)).toEqual([]);
});

test('a sandbox starts with the animals from a file, and a reset restores them', async () => {
  await using folder = await temporaryFolder();
  await Bun.write(join(folder.path, 'animals.csv'), 'name,categoryId,status\nOzzy,1,available\nRex,2,sold\n');
  await using running = startIn(folder.path, ['--import', 'animals.csv', '--json']);
  const { url, keys } = await readyOf(running);
  const headers = { Authorization: `Bearer ${keys.free}`, 'Content-Type': 'application/json' };
  const names = async () =>
    ((await (await fetch(`${url}/v1/pets`, { headers })).json()) as { name: string }[]).map(
      ({ name }) => name,
    );
  expect(await names()).toEqual(['Ozzy', 'Rex']);
  await fetch(`${url}/v1/pets`, { method: 'POST', headers, body: '{"name":"Tom","categoryId":1}' });
  expect(await names()).toEqual(['Ozzy', 'Rex', 'Tom']);
  await fetch(`${url}/sandbox/reset`, { method: 'POST' });
  expect(await names()).toEqual(['Ozzy', 'Rex']);
  const inventory = await fetch(`${url}/v1/inventory`, { headers });
  expect(await inventory.json()).toEqual({ available: 1, pending: 0, sold: 1 });
});

test('a sandbox that cannot start suggests a remedy and leaves no files', async () => {
  await using folder = await temporaryFolder();
  await Bun.write(join(folder.path, 'wrong.csv'), 'name,categoryId\nOzzy,one\n');
  using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const attempts: [string[], RegExp][] = [
    [['--import', 'wrong.csv'], /wrong\.csv, line 2: .*Correct the file/],
    [['--import', 'none.csv'], /File not found: none\.csv/],
    [['--port', String(taken.port)], /already in use.*--port \(0 for any free port\)/],
    [['--port', '70000'], /a whole number from 0 to 65535/],
    [['--host', '192.0.2.1'], /Set --host to one of its addresses/],
  ];
  const ended = attempts.map(async ([args, message]) => {
    await using running = startIn(folder.path, args);
    expect(await running.exited).toBeGreaterThan(0);
    expect(running.stderr()).toMatch(message);
  });
  await Promise.all(ended);
  expect(await madeIn(folder.path)).toEqual(['wrong.csv']);
});

test('a normal service loads no sandbox modules', async () => {
  await using folder = await temporaryFolder();
  const report = join(folder.path, 'report.ts');
  await Bun.write(
    report,
    "process.on('exit', () => { require('node:fs').writeFileSync('loaded.json', JSON.stringify(Object.keys(require.cache))); });\n",
  );
  // The help of the program lists the command, so every process loads the command's description.
  const ofSandbox = /^sandbox\/(?!command\.ts$)/;
  const loadedBy = async (args: readonly string[], ready: RegExp): Promise<string[]> => {
    const [runtime = '', program = ''] = commandLine;
    const environment = {
      ...settingsIn(folder.path),
      ADMIN_PORT: 'off',
      DRAIN_SECONDS: '0',
      TMPDIR: folder.path,
    };
    await using running = start([runtime, '--preload', report, program, ...args], {
      environment,
      cwd: folder.path,
    });
    await running.said(ready);
    running.signal('SIGTERM');
    await running.exited;
    const all: string[] = await Bun.file(join(folder.path, 'loaded.json')).json();
    return all.filter((path) => path.startsWith(root)).map((path) => path.slice(root.length));
  };
  const byService = await loadedBy(['serve'], /^Manage /m);
  expect(byService).toContain('src/http/pipeline/pipeline.ts');
  expect(byService.filter((path) => ofSandbox.test(path))).toEqual([]);
  const bySandbox = await loadedBy(['sandbox', '--port', '0'], /^Try it:/m);
  expect(bySandbox.filter((path) => ofSandbox.test(path))).toContain('sandbox/control.ts');
});

test("a normal service does not support the sandbox's paths or header", async () => {
  await using app = await startTestApp();
  for (const path of ['', '/faults', '/clock', '/reset', '/requests', '/accounts']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect((await fetch(`${app.url}/sandbox${path}`, { method })).status).toBe(404);
    }
  }
  const answer = await app.call('GET', '/pets', { headers: { 'X-Sandbox': 'status=503' } });
  expect(answer.status).toBe(200);
});

testWith({ name: 'npx', package: 'npm' }, ['npx', '--version'])(
  'npx animal-store sandbox starts a sandbox from a clone, which ends with npx',
  async () => {
    await using folder = await temporaryFolder();
    await using npx = start(['npx', 'animal-store', 'sandbox', '--port', '0', '--json'], {
      environment: { TMPDIR: folder.path, npm_config_cache: join(folder.path, 'npm') },
    });
    const { url, pid } = await readyOf(npx);
    expect((await fetch(`${url}/sandbox`)).status).toBe(200);
    npx.signal('SIGTERM');
    await npx.exited;
    await until(() => !existsSync(`/proc/${pid}`));
    const left = (await madeIn(folder.path)).filter((name) => name.startsWith('animal-store'));
    expect(left).toEqual([]);
  },
);
