/** The admin listener of a service process: with workers, in a terminal, and disabled. */

import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createOperator } from '../../src/operations/admin/operators.ts';
import { addOperatorTo, sendAdmin } from '../support/admin.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  consoleOf,
  makeStore,
  operatorOf,
  serveCommand,
  settingsIn,
  start,
  startService,
} from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import { workersTests } from './worker-stores.ts';

const workersTest = workersTests();

workersTest("every worker applies an operator's changes", async (stores) => {
  await using service = await stores.startInstance();
  const url = await consoleOf(service);
  const { token } = await addOperatorTo(stores.operator.storage, 'admin');
  const { key, accountId } = await stores.issueKey();
  const statusOf = async () => (await clientOf(service.url, key).get('/pets')).status;
  expect(await statusOf()).toBe(200);
  const closed = await sendAdmin(url, 'POST', `/accounts/${accountId}/close`, { token });
  expect(closed.status).toBe(200);
  for (let request = 0; request < 16; request++) expect(await statusOf()).toBe(401);
  expect((await sendAdmin(url, 'POST', `/accounts/${accountId}/reopen`, { token })).status).toBe(200);
  await until(async () => (await statusOf()) === 200);
});

workersTest('a long poll of the admin API receives events from every worker', async (stores) => {
  await using service = await stores.startInstance();
  const url = await consoleOf(service);
  const { token } = await addOperatorTo(stores.operator.storage, 'viewer');
  const { key } = await stores.issueKey();
  for (let event = 1; event <= 4; event++) {
    const waiting = sendAdmin(url, 'GET', `/events?after=${event - 1}&wait=30`, { token });
    expect((await clientOf(service.url, key).add('Ozzy')).status).toBe(201);
    expect((await waiting).body).toEqual([expect.objectContaining({ id: event, type: 'pet.created' })]);
  }
});

workersTest(
  'SIGTERM stops the admin listener and the workers even while a request waits for events',
  async (stores) => {
    await using service = await stores.startInstance();
    const url = await consoleOf(service);
    const { token } = await addOperatorTo(stores.operator.storage, 'viewer');
    expect((await sendAdmin(url, 'GET', '/pets', { token })).status).toBe(200);
    const waiting = sendAdmin(url, 'GET', '/events?wait=30', { token }).catch(() => undefined);
    await sendAdmin(url, 'GET', '/session', { token });
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    await waiting;
    expect(await fetch(url).catch(() => undefined)).toBeUndefined();
  },
);

test('the admin listener of a service with workers creates a backup in a separate process', async () => {
  await using folder = await temporaryFolder();
  const backups = join(folder.path, 'backups');
  await using service = await startService(folder.path, {
    WORKERS: '2',
    ADMIN_PORT: '0',
    BACKUP_FOLDER: backups,
  });
  const url = await consoleOf(service);
  await using operator = await operatorOf(folder.path);
  const { token } = await addOperatorTo(operator.storage, 'admin');
  const made = await sendAdmin(url, 'POST', '/backups', { token });
  expect([made.status, readdirSync(backups)]).toEqual([201, [(made.body as { name: string }).name]]);
  const verified = await sendAdmin(url, 'POST', '/backups/verify', {
    token,
    body: { name: readdirSync(backups)[0] },
  });
  expect(verified.status).toBe(200);
});

test("without a terminal, the service prints the console's address without a sign-in code", async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const url = /^Console {12}(http:\/\/127\.0\.0\.1:\d+)$/m.exec(service.stdout())?.[1] ?? '';
  expect((await fetch(`${url}/admin/v1/session`)).status).toBe(401);
  expect(service.stdout()).not.toContain('code');
});

test('without a terminal, the log shows a command that creates a token for the console', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  await service.logged('the console needs an operator token');
  const line =
    service
      .stderr()
      .split('\n')
      .find((each) => each.includes('the console needs an operator token')) ?? '{}';
  const { console: url, create } = JSON.parse(line) as { console: string; create: string };
  const command = ['sh', '-c', create.replace('NAME', 'anna')];
  await using pasted = start(command, { environment: settingsIn(folder.path) });
  expect(await pasted.exited).toBe(0);
  const [token = ''] = /aso_\w+/.exec(pasted.stdout()) ?? [];
  expect((await sendAdmin(url, 'GET', '/session', { token })).body).toMatchObject({ role: 'admin' });
});

test('a service with an operator does not log that the console needs a token', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  {
    await using admin = await operatorOf(folder.path);
    await createOperator(admin, 'anna', 'viewer');
  }
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  service.signal('SIGTERM');
  await service.logged('"msg":"stopped"');
  expect(service.stderr()).not.toContain('operator token');
});

testWith({ name: 'script', package: 'bsdutils' }, ['script', '--version'])(
  'in a terminal, the service prints a link with a code that can be used only once and is not logged',
  async () => {
    await using folder = await temporaryFolder();
    const quoted = serveCommand.map((word) => `'${word}'`).join(' ');
    const command = ['script', '--quiet', '--return', '--command', quoted, '/dev/null'];
    await using terminal = start(command, { environment: settingsIn(folder.path) });
    await terminal.said(/Console +\S+#code=\S+\s/);
    const [, url = '', code = ''] = /Console +(\S+)\/#code=([\w-]{32})/.exec(terminal.stdout()) ?? [];
    const redeem = () => sendAdmin(url, 'POST', '/session', { body: { code } });
    expect((await redeem()).body).toMatchObject({
      operator: expect.stringMatching(/^console:./),
      role: 'admin',
    });
    expect((await redeem()).code).toBe('sign_in_failed');
    // The terminal also shows the log, so the code must occur only once.
    expect(terminal.stdout().split(code)).toHaveLength(2);
  },
);

test('ADMIN_PORT=off disables the admin listener, and no console URL is printed', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { ADMIN_PORT: 'off' });
  expect(service.stdout()).not.toContain('Console');
});

test('the service does not start if ADMIN_HOST is not an address of this machine, and the error names ADMIN_HOST', async () => {
  await using folder = await temporaryFolder();
  const environment = {
    ...settingsIn(folder.path),
    ADMIN_HOST: '192.0.2.1',
    ADMIN_ORIGIN: 'https://admin.example.com',
  };
  await using service = start(serveCommand, { environment });
  expect(await service.exited).toBe(1);
  expect(service.stderr()).toContain(
    'Cannot listen on 192.0.2.1: this machine has no such address. Set ADMIN_HOST',
  );
});
