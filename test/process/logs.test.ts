import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeKey } from '../../src/domain/key.ts';
import { fileSizeLimits, limitFileSize } from '../faults/disk.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, operatorOf, type Service, startService } from '../support/process.ts';
import { breakOff, exchange } from '../support/raw.ts';
import { testWith } from '../support/requirements.ts';

/** Calls in every way a key may arrive, right and wrong; most of these are refused. */
async function callEverywhere(url: string, key: string): Promise<void> {
  const client = clientOf(url, key);
  const targets = [
    '/pets',
    '/pets/1',
    `/pets/${key}`,
    `/${key}`,
    `/pets?api_key=${key}`,
    `/pets?cursor=${key}`,
  ];
  for (const target of targets) await client.get(target);
  await client.add('Ozzy');
  const posts = ['', '{', `{"api_key":"${key}"}`, 'x'.repeat(20_000)];
  for (const body of posts) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    await fetch(`${url}/v1/pets`, { method: 'POST', body, headers });
  }
  for (const authorization of [key, `Basic ${btoa(`${key}:`)}`, `Bearer ${key} ${key}`, `bearer  ${key}x`]) {
    await fetch(`${url}/v1/pets`, { headers: { authorization } });
  }
  await fetch(`${url}/docs?key=${key}`, { headers: { authorization: `Bearer ${key}` } });
}

async function keysOfEveryKind(folder: string, service: Service): Promise<string[]> {
  await using operator = await operatorOf(folder);
  const { id } = await operator.accounts.create('shop', 'free');
  const [revoked, rotated] = [await operator.keys.create(id, 'a'), await operator.keys.create(id, 'b')];
  await operator.keys.revoke(revoked.id);
  const successor = await operator.keys.rotate(rotated.id, 0);
  const expired = await operator.keys.create(id, 'c', -1);
  const unknown = makeKey((count) => crypto.getRandomValues(new Uint8Array(count)));
  const unlimited = await issueKey(folder, 'enterprise', ample);
  const issued = [revoked, rotated, successor, expired].map(({ key }) => key);
  return [service.firstKey ?? '', ...issued, unknown, `${unknown.slice(0, -1)}_`, unlimited];
}

testWith(...fileSizeLimits)(
  'no key is ever in a log line, in an answer to others or in a file of the store',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, {
      LOG_LEVEL: 'trace',
      LOG_REQUESTS: 'all',
      DRAIN_SECONDS: '0',
    });
    const keys = await keysOfEveryKind(folder.path, service);
    // As the greeting asks the operator to.
    await rm(`${dataFileIn(folder.path)}.first-key`);
    for (const key of keys) await callEverywhere(service.url, key);
    limitFileSize(service.pid, 0);
    for (const key of keys) await callEverywhere(service.url, key);
    limitFileSize(service.pid, 'unlimited');
    for (const key of keys) await clientOf(service.url, key).add('Ozzy');

    const filesNow = () =>
      readdirSync(folder.path).map(
        (name) => [name, readFileSync(join(folder.path, name), 'latin1')] as const,
      );
    const whileServing = filesNow();
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);

    const places = [
      ['standard output', service.stdout()],
      ['standard error', service.stderr()],
      ...whileServing,
      ...filesNow(),
    ];
    for (const key of keys) {
      const secret = key.slice('ask_'.length, -6);
      expect(secret.length).toBe(32);
      expect(places.filter(([, text]) => text?.includes(secret)).map(([name]) => name)).toEqual([]);
    }
    expect(service.stderr()).toContain('request refused');
    for (const line of service.stderr().trimEnd().split('\n')) {
      expect(JSON.parse(line)).toEqual(
        expect.objectContaining({
          level: expect.any(Number),
          time: expect.any(String),
          msg: expect.any(String),
        }),
      );
    }
  },
);

test('a failure is logged with its route, and not with the address, where a key may stand', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  {
    using database = new Database(dataFileIn(folder.path));
    database.run('DROP TABLE keys');
  }
  const client = clientOf(service.url, service.firstKey ?? '');
  const secret = service.firstKey?.slice('ask_'.length, -6) ?? '';
  // What is the client's mistake is no failure.
  expect((await fetch(`${service.url}/v1/pets`)).status).toBe(401);
  for (const target of [`/pets?api_key=${secret}`, `/pets/${secret}`, `/${secret}`]) {
    expect((await client.get(target)).status).toBe(500);
  }
  service.signal('SIGTERM');
  await service.exited;
  const lines = service.stderr().trim().split('\n');
  const failures = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed');
  expect(failures.map(({ route }) => route)).toEqual(['/v1/pets', '/v1/pets/:petId', undefined]);
  for (const { level, code, err } of failures) {
    // 50 is an error in pino's count.
    expect([level, code]).toEqual([50, 'internal_error']);
    expect(err.message).toContain('no such table: keys');
  }
  expect(service.stderr()).not.toContain(secret);
});

test('a client whose body breaks off or is garbled leaves nothing in the log: it is no failure of the service', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  const key = await issueKey(folder.path, 'pro');
  const head =
    `POST /v1/pets HTTP/1.1\r\nHost: animals.example\r\nAuthorization: Bearer ${key}\r\n` +
    'Content-Type: application/json\r\n';
  await exchange(service.url, `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
  await breakOff(service.url, `${head}Content-Length: 50\r\n\r\n{"name"`);
  // What was logged is read once the process has ended, so that nothing comes after the look.
  service.signal('SIGTERM');
  await service.exited;
  expect(service.stderr()).toContain('"msg":"stopping"');
  expect(service.stderr()).not.toMatch(/request (failed|refused)/);
});
