/** The address to listen on. */
import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { resolveHost } from '../../src/http/listener/host.ts';
import { startTestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';

test('HOST and ADMIN_HOST may contain an IPv6 address in brackets', async () => {
  const { host, admin } = readConfig({ HOST: '[::1]', ADMIN_HOST: '[::1]' });
  expect([host, admin?.host]).toEqual(['::1', '::1']);
  await using app = await startTestApp({ HOST: '[::1]' });
  expect(app.url).toStartWith('http://[::1]:');
  expect((await fetch(`${app.url}/livez`)).status).toBe(200);
});

test.each(['http://0.0.0.0', '0.0.0.0:3000', '[::1]:3000', '*', 'shop internal'])(
  'HOST=%s is rejected with the expected form',
  (HOST) => {
    expect(() => readConfig({ HOST })).toThrow(
      `HOST must be an IP address or a host name, without a scheme or port, such as 127.0.0.1 or ::1 (got "${HOST}").`,
    );
  },
);

describe('a host name with several addresses', () => {
  const resolve = async () => [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];

  test('is resolved to the first one, and a warning lists the others and the remedy', async () => {
    const { log, lines } = keptLog();
    expect(await resolveHost('localhost', { log, resolve })).toBe('127.0.0.1');
    expect(lines).toMatchObject([
      {
        level: 40,
        HOST: 'localhost',
        address: '127.0.0.1',
        unused: ['::1'],
        msg: 'listening on one of several addresses; to listen on all addresses, set HOST to ::',
      },
    ]);
  });
});

test.each([
  ['DATABASE_URL', 'sqlite:~/animals.db', 'use the full path, sqlite:/PATH'],
  ['DATABASE_URL', 'sqlite://~/animals.db', 'use the full path, sqlite:/PATH'],
  ['BACKUP_FOLDER', '~/backups', 'use the full path of the folder'],
])('%s=%s is rejected, because it would be a folder named "~"', (name, value, remedy) => {
  expect(() => readConfig({ [name]: value })).toThrow(
    `${name} must not begin with ~, which only shells replace: ${remedy} (got "${value}").`,
  );
  expect(() => readConfig({ [name]: value.replace('~', './~') })).not.toThrow();
});
