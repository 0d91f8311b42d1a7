import { describe, expect, test } from 'bun:test';
import { commandLine, newWorkplace, type Workplace } from '../support/cli.ts';
import { type Running, serveCommand, settingsIn, start, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';

interface StartedByShell extends AsyncDisposable {
  readonly shell: Running;
  readonly url: string;
  readonly pid: number;
}

/** Starts the service as npx does, from a shell that does not forward signals. */
async function startedByShell(place: Workplace, npmCommand: string): Promise<StartedByShell> {
  const [bun, main] = commandLine;
  const shell = start(['sh', '-c', '"$0" "$1" serve & echo "pid $!"; wait', bun, main], {
    environment: { ...settingsIn(place.folder), npm_command: npmCommand, DRAIN_SECONDS: '0' },
    cwd: place.folder,
  });
  await shell.said(/^ *curl .*\n/m);
  const pid = Number(/^pid (\d+)$/m.exec(shell.stdout())?.[1]);
  return {
    shell,
    url: /(http:\S+)\/docs\n/.exec(shell.stdout())?.[1] ?? '',
    pid,
    // A service that fails to stop must not outlive the test.
    [Symbol.asyncDispose]: async () => {
      await shell[Symbol.asyncDispose]();
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    },
  };
}

/** Resolves when the service has stopped cleanly, even if the shell that started it has exited. */
async function stopped(shell: Running): Promise<void> {
  await until(() => /"msg":"stopping"[\s\S]*"msg":"stopped"/.test(shell.stderr()));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('when the process that started the service has exited', () => {
  test('a service started by npx stops gracefully, because npx does not forward signals', async () => {
    await using place = await newWorkplace();
    await using started = await startedByShell(place, 'exec');
    const { shell, url } = started;
    shell.signal('SIGTERM');
    await stopped(shell);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  test('a service not started by npx keeps running', async () => {
    await using place = await newWorkplace();
    await using started = await startedByShell(place, 'start');
    const { shell, url, pid } = started;
    shell.signal('SIGTERM');
    await until(() => !isAlive(shell.pid));
    // A second service is started by npx and stops when its parent exits. By then, the first service has had enough
    // time to detect that its own parent has exited.
    await using otherPlace = await newWorkplace();
    await using ofNpx = await startedByShell(otherPlace, 'exec');
    ofNpx.shell.signal('SIGTERM');
    await stopped(ofNpx.shell);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    process.kill(pid, 'SIGTERM');
    await stopped(shell);
  });
});

test('signals within a second count as one signal, and a later signal stops the service immediately', async () => {
  await using place = await newWorkplace();
  let exitCode: number | undefined = 0;
  let tookMs = 0;
  // Tries again if the exit code is 0, which means that the drain ended before this process sent the next signal.
  while (exitCode === 0) {
    exitCode = undefined;
    await using service = await place.serve({ DRAIN_SECONDS: '5' });
    const from = performance.now();
    void service.exited.then((code) => {
      exitCode = code;
    });
    await until(() => {
      service.signal('SIGINT');
      return exitCode !== undefined;
    });
    tookMs = performance.now() - from;
  }
  expect(exitCode).toBe(130);
  expect(tookMs).toBeGreaterThan(1_000);
});

test('SIGHUP from a closing terminal stops the service gracefully', async () => {
  await using place = await newWorkplace();
  await using service = await place.serve();
  service.signal('SIGHUP');
  expect(await service.exited).toBe(0);
  expect(service.stderr()).toContain('"msg":"stopped"');
});

testWith({ name: 'nohup on Linux', package: 'coreutils' }, ['nohup', 'test', '-e', '/proc/self/status'])(
  'a service started with nohup ignores SIGHUP',
  async () => {
    await using place = await newWorkplace();
    await using service = await startService(place.folder, {}, ['nohup', ...serveCommand]);
    service.signal('SIGHUP');
    for (let look = 0; look < 10; look++) {
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    }
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
  },
);

test('the service does not start if HOST is not an address of this machine, and the error names HOST', async () => {
  await using place = await newWorkplace();
  for (const [HOST, reason] of [
    ['192.0.2.1', 'this machine has no such address. Set HOST to one of its addresses.'],
    [
      'nowhere.invalid',
      'the name cannot be resolved. Set HOST to an address of this machine, such as 0.0.0.0 or ::.',
    ],
  ] as const) {
    const { exitCode, stdout, stderr } = await place.run(['serve'], { environment: { HOST } });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe(`animal-store: Cannot listen on ${HOST}: ${reason}\n`);
  }
});

test("a command exits with code 1 and prints the store's path if the store cannot be opened", async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('folder/is-a-file'), 'no database');
  for (const args of [['serve'], ['keys', 'list'], ['export', '-', '--format', 'csv']]) {
    const environment = { DATABASE_URL: `sqlite:${place.path('folder/is-a-file')}` };
    const { exitCode, stdout, stderr } = await place.run(args, { environment });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^animal-store: .*is-a-file.*\n$/);
  }
});
