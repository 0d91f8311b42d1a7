import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, readConfig } from '../../src/config.ts';
import { temporaryFolder } from '../support/folder.ts';

/** The errors reported for a folder with this `.env` file. */
async function mistakesIn(text: string, environment = {}): Promise<readonly string[]> {
  await using folder = await temporaryFolder();
  writeFileSync(join(folder.path, '.env'), text);
  return mistakesOf(environment, folder.path);
}

function mistakesOf(environment: Record<string, string>, folder?: string): readonly string[] {
  try {
    readConfig(environment, folder);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

describe('a .env file', () => {
  test.each(['.env', '.env.development', '.env.local'])('is rejected if it is a folder: %s', async (name) => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, name));
    const [mistake = '', ...more] = mistakesOf({}, folder.path);
    expect(mistake).toStartWith(`${name} in the working directory cannot be read (EISDIR`);
    expect(more).toEqual([]);
  });

  test.each([
    ['BACKUP_FODLER=/backups', 'BACKUP_FODLER', 'BACKUP_FOLDER'],
    ['# comment\n  export DATABASE_URI = sqlite:x', 'DATABASE_URI', 'DATABASE_URL'],
    ['PORTT=80', 'PORTT', 'PORT'],
    ['port=80', 'port', 'PORT'],
  ])(
    'is rejected if it contains %p, with an error that names the intended setting',
    async (text, found, meant) => {
      expect(await mistakesIn(text)).toEqual([`.env sets ${found}, which is not a setting. Use ${meant}.`]);
    },
  );

  test('may contain variables of other programs', async () => {
    expect(await mistakesIn('HOME=/\nPGPORT=1\nHOSTNAME=a\nTZ=UTC\nANIMAL_STORE_KEY=ask\nPORT=80')).toEqual(
      [],
    );
  });

  test('may be missing', async () => {
    await using folder = await temporaryFolder();
    expect(mistakesOf({}, folder.path)).toEqual([]);
  });
});

const cluster = { DATABASE_URL: 'postgres://a@127.0.0.1/b', REDIS_URL: 'redis://127.0.0.1' };

describe('contradictory settings are rejected', () => {
  test.each([
    [
      { BAN_FIRST_SECONDS: '20', BAN_LONGEST_SECONDS: '10' },
      'BAN_FIRST_SECONDS must not exceed BAN_LONGEST_SECONDS',
    ],
    [{ REDIS_URL: 'redis://127.0.0.1' }, 'REDIS_URL must not be set when DATABASE_URL is SQLite'],
    [{ DATABASE_URL: 'postgres://a@127.0.0.1/b' }, 'REDIS_URL must be set when DATABASE_URL is PostgreSQL'],
    [
      { DATABASE_REPLICA_URLS: 'postgres://a@127.0.0.1/b' },
      'DATABASE_REPLICA_URLS must not be set when DATABASE_URL is SQLite',
    ],
    [
      { ...cluster, DATABASE_REPLICA_URLS: 'postgres://a@127.0.0.2/b, postgres://a@127.0.0.1/b' },
      'DATABASE_REPLICA_URLS must not contain DATABASE_URL',
    ],
    [
      { ...cluster, DATABASE_REPLICA_URLS: 'postgres://a@127.0.0.2/b,postgres://a@127.0.0.2/b' },
      'DATABASE_REPLICA_URLS must not list the same URL twice',
    ],
    [
      { ...cluster, DATABASE_REPLICA_URLS: 'postgres://a:secret@127.0.0.2/b,mysql://a:secret@127.0.0.2/b' },
      'DATABASE_REPLICA_URLS must be a list of URLs such as postgres://USER:PASSWORD@HOST/DATABASE, not "mysql://a:***@127.0.0.2/b" (got "postgres://a:***@127.0.0.2/b,mysql://a:***@127.0.0.2/b")',
    ],
    [
      {
        ...cluster,
        DATABASE_REPLICA_URLS: 'postgres://a:secret@127.0.0.2/b;postgres://a:secret@127.0.0.3/b',
      },
      'DATABASE_REPLICA_URLS must be URLs separated by commas, not by semicolons (got "postgres:***")',
    ],
    [
      { ...cluster, DATABASE_REPLICA_URLS: 'postgres://a@127.0.0.2/b?sslmode=bogus' },
      'DATABASE_REPLICA_URLS must have a valid sslmode: disable, allow, prefer, require, verify-ca, verify-full (got',
    ],
    [
      {
        ...cluster,
        DATABASE_URL: 'postgres://a@127.0.0.1/b?search_path=shop',
        DATABASE_REPLICA_URLS: 'postgres://a@127.0.0.2/b?search_path=shops',
      },
      'DATABASE_REPLICA_URLS must have the same search_path as DATABASE_URL: set it to "shop" instead of "shops".',
    ],
    [{ BACKUP_FOLDER: import.meta.path }, 'BACKUP_FOLDER must be a folder'],
  ])('%p', (environment, message) => {
    const [mistake, ...more] = mistakesOf(environment);
    expect(mistake).toStartWith(message);
    expect(more).toEqual([]);
  });
});
