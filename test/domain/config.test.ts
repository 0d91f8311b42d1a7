import { describe, expect, test } from 'bun:test';
import { availableParallelism } from 'node:os';
import fc from 'fast-check';
import { workerCount } from '../../src/config/parsers.ts';
import { settings } from '../../src/config/settings.ts';
import { type Config, ConfigError, readConfig } from '../../src/config.ts';
import { maxWorkers } from '../../src/domain/workers.ts';
import { always } from '../support/property.ts';

/** Invalid values for each setting. Settings that accept any text are omitted. */
const wrong: Readonly<Record<string, readonly string[]>> = {
  PORT: ['-1', '65536', '3000.0', '0x50', 'http', '1e3', '99999999999999999999'],
  WORKERS: ['0', '-1', '257', '2.0', 'AUTO', 'all'],
  MAX_CONNECTIONS: ['-1', 'all', '1000001'],
  IDLE_TIMEOUT_SECONDS: ['0', 'off', '256'],
  DATABASE_URL: [
    ...['./data/store.db', 'sqlite:', 'sqlite://', 'sqlite::memory:', 'sqlite://:memory:'],
    ...['mysql://localhost/pets', 'postgres:', 'postgres://localhost/pets?sslmode=bogus'],
  ],
  REDIS_URL: ['localhost:6379', 'http://127.0.0.1', 'redis:'],
  PUBLIC_URL: ['example.com', 'ftp://example.com', 'https://a.example/v1', 'https://a.example/?x=1'],
  OPERATOR_URL: ['example.com', 'mailto:api@example.com'],
  OPERATOR_EMAIL: ['api', 'api @example.com'],
  STAGING_URL: ['staging', 'https://a.example/#x', 'https://user:word@a.example'],
  TRUSTED_PROXIES: [
    'localhost',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/8/8',
    '10.0.0.1, proxy',
    '10.0.0.0/',
    '0.0.0.0/0',
    '::/0',
  ],
  WEBHOOK_ALLOWED_NETWORKS: ['localhost', '10.0.0.0/33', '0.0.0.0/0', '::/0'],
  SECRETS_KEY: [
    ...['secret', `${'A'.repeat(43)}`, `${'A'.repeat(42)}B=`, 'A'.repeat(44), `${'A'.repeat(44)}=`],
    Array.from({ length: 3 }, () => `${'A'.repeat(43)}=`).join(),
  ],
  CORS_ORIGINS: ['*', 'shop.example.com', 'https://shop.example.com/', 'https://a.example, null'],
  GET_PET_SUNSET: [
    ...['soon', '2027-02-30', '2030', '2030-13-01', '05.12.2030', '2030-12-05T00:00:00', '1922659200'],
  ],
  ADMIN_PORT: ['65536', '-1', 'on', 'OFF', '3001x'],
  ADMIN_ORIGIN: [
    ...['http://admin.example.com', 'https://admin.example.com/console', 'admin.example.com', 'https://'],
    'https://anna:secret@admin.example.com',
  ],
  AUTH_FAILURES_PER_MINUTE: ['0', '-5', '1.5', 'many', 'Infinity'],
  PUBLIC_REQUESTS_PER_MINUTE: ['0', 'few'],
  BAN_STRIKES: ['0', 'x', '1001'],
  BAN_WITHIN_SECONDS: ['0', '10m'],
  BAN_FIRST_SECONDS: ['0', '99999999999'],
  BAN_LONGEST_SECONDS: ['0', '-'],
  BAN_FORGIVEN_AFTER_SECONDS: ['0', ' 1 2 '],
  DRAIN_SECONDS: ['-1', '6', '0.5'],
  LOG_LEVEL: ['INFO', 'verbose', 'off'],
  LOG_REQUESTS: ['ALL', 'none', 'true'],
  LOG_SLOW_MS: ['0', '-1', '0.5', '1s'],
};

function mistakesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const mistake of error.mistakes) expect(error.message).toContain(mistake);
    return error.mistakes;
  }
}

describe('the configuration', () => {
  test('requires no environment variables', () => {
    expect(mistakesOf({})).toEqual([]);
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 3_000,
      publicUrl: undefined,
      logLevel: 'info',
    });
  });

  test('ignores empty settings and whitespace around values', () => {
    const empty = Object.fromEntries(Object.keys(settings).map((name) => [name, ' ']));
    expect(readConfig(empty)).toEqual(readConfig({}));
    expect(readConfig({ PORT: ' 8080 ' }).port).toBe(8_080);
  });

  test.each(Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
    'rejects %s=%s with an error that begins with the name',
    (name, value) => {
      const [mistake, ...more] = mistakesOf({ [name]: value });
      expect(mistake).toStartWith(`${name} must `);
      expect(more).toEqual([]);
    },
  );

  test('reports exactly the invalid settings, all at once', () => {
    const anyWrong = fc.record(
      Object.fromEntries(Object.entries(wrong).map(([name, values]) => [name, fc.constantFrom(...values)])),
      { requiredKeys: [] },
    );
    always(anyWrong, (environment) => {
      const named = mistakesOf(environment as Record<string, string>).map((mistake) => mistake.split(' ')[0]);
      expect(named.sort()).toEqual(Object.keys(environment).sort());
    });
  });

  test.each([
    ['PORT', '0', 'port', 0],
    ['PORT', '65535', 'port', 65_535],
    ['DRAIN_SECONDS', '5', 'drainSeconds', 5],
    ['PUBLIC_URL', 'https://animals.example.com/', 'publicUrl', 'https://animals.example.com'],
    ['PUBLIC_URL', 'http://localhost:3000/store//', 'publicUrl', 'http://localhost:3000/store'],
    ['GET_PET_SUNSET', '2030-12-05T01:00:00+01:00', 'getPetSunset', Date.parse('2030-12-05T00:00:00Z')],
    ['GET_PET_SUNSET', '2030-12-05', 'getPetSunset', Date.parse('2030-12-05T00:00:00Z')],
    [
      'CORS_ORIGINS',
      'https://a.example,http://b.example:81',
      'corsOrigins',
      new Set(['https://a.example', 'http://b.example:81']),
    ],
  ])('reads %s=%s', (name, value, key, expected) => {
    expect(readConfig({ [name]: value })[key as keyof Config]).toEqual(expected as never);
  });

  test('treats auto as one worker per core, or a single worker on systems where processes cannot share a port', () => {
    expect(workerCount('auto', 'linux')).toBe(Math.min(maxWorkers, availableParallelism()));
    for (const platform of ['darwin', 'freebsd', 'win32'] as const) {
      expect([workerCount('auto', platform), workerCount('1', platform)]).toEqual([1, 1]);
      expect(() => workerCount('2', platform)).toThrow('must be 1 on this system: only Linux');
    }
  });

  test('ignores other environment variables', () => {
    expect(mistakesOf({ PATH: '/bin', port: 'x', PORTS: 'x' })).toEqual([]);
  });

  test('is immutable', () => {
    const config = readConfig({});
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.limits)).toBe(true);
    expect(Object.isFrozen(config.limits.ban)).toBe(true);
  });
});
