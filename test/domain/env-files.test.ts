import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvFiles } from '../../src/config/env-files.ts';
import { settings } from '../../src/config/settings.ts';
import { ConfigError, readConfig } from '../../src/config.ts';
import { temporaryFolder } from '../support/folder.ts';

/** The variables and mistakes that are read from a folder with this `.env` file. */
async function reading(content: string | Uint8Array, environment: Record<string, string> = {}) {
  await using folder = await temporaryFolder();
  writeFileSync(join(folder.path, '.env'), content);
  return readIn(folder.path, environment);
}

const readIn = (folder: string, environment: Record<string, string> = {}) =>
  readEnvFiles(folder, environment, Object.keys(settings));

const mistakesIn = async (content: string | Uint8Array) => (await reading(content)).mistakes;

describe('a .env file', () => {
  test.each(['.env', '.env.development', '.env.local'])('is rejected if it is a folder: %s', async (name) => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, name));
    const [mistake = '', ...more] = readIn(folder.path).mistakes;
    expect(mistake).toStartWith(`${name} in the working directory cannot be read: EISDIR`);
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

  const utf16 = 'it is UTF-16 text. Save it as UTF-8.';
  const littleEndian = Buffer.from('PORT=80\r\n', 'utf16le');
  test.each([
    [
      'UTF-16 with a byte order mark, as PowerShell writes it',
      Buffer.from('\ufeffPORT=80', 'utf16le'),
      utf16,
    ],
    ['UTF-16 without a byte order mark', littleEndian, utf16],
    ['big-endian UTF-16', Buffer.from('\ufeffPORT=80', 'utf16le').swap16(), utf16],
    [
      'a file with NUL bytes',
      Buffer.from('PORT=80\0\0\0\n'),
      'it contains NUL bytes. Save it as UTF-8 text.',
    ],
    ['Latin-1', Buffer.from('# für\nPORT=80', 'latin1'), 'it is not UTF-8 text. Save it as UTF-8.'],
  ])('is rejected if it is %s', async (_name, bytes, mistake) => {
    expect(await mistakesIn(bytes)).toEqual([`.env in the working directory cannot be read: ${mistake}`]);
  });

  const noAssignment = 'must be NAME=value, or begin with # if it is a comment.';
  const unset =
    'refers to a variable that is not set. If the $ belongs to the value, put the value in single quotes.';
  const otherForm = `contains $\{…} that is neither $\{NAME} nor $\{NAME:-default} with a default without $. If the $ belongs to the value, put the value in single quotes.`;
  const openQuote = 'must end with the quote that it begins with.';
  test.each([
    ['PORT=80\n\nHOST 0.0.0.0\nWORKERS: 2', [`line 3 ${noAssignment}`, `line 4 ${noAssignment}`]],
    ['PORT=80\rHOST', [`line 2 ${noAssignment}`]],
    ['DATABASE_URL=postgres://a:pa$word@b/c', [`line 1: the value of DATABASE_URL ${unset}`]],
    [`A="x\ny"\nB="$\{A}$\{C}"`, [`line 3: the value of B ${unset}`]],
    ['A=${B', [`line 1: the value of A ${otherForm}`]],
    [`A=$\{B:-$\{C:-d}}`, [`line 1: the value of A ${otherForm}`]],
    [`A="$\{B:-$C}"`, [`line 1: the value of A ${otherForm}`]],
    [`A=$\{B-d}`, [`line 1: the value of A ${otherForm}`]],
    ['PORT=80\nA=1\nA=2\n\nPORT=81', ['lines 1 and 5 both set PORT. Remove one of them.']],
    ["A='x\nPORT=80", [`line 1: the value of A ${openQuote}`]],
    ['A="x"y', [`line 1: the value of A ${openQuote}`]],
  ])('is rejected if it contains %p, without showing any value', async (text, mistakes) => {
    expect(await mistakesIn(text)).toEqual(mistakes.map((mistake) => `.env ${mistake}`));
  });

  test('contains literal values in single quotes, and resolves variables and escapes elsewhere', async () => {
    const text = `
      # comment
      SINGLE='pa$word \\n "#1"'
      BACKTICK=\`it's $5 "a"\` # comment
      DOUBLE="\\"a\\"\\n\\$b $\{SINGLE}"
      BARE = a#b $OUTER \\$c C:\\new # comment
      export DEFAULT=$\{NOTHING:-x}$\{EMPTY:-y}
      EMPTY=
      PRICE=$5
      LINES="a
      b"
      OUTER=inner
      foo.bar-baz=1`;
    const { values, mistakes } = await reading(`\ufeff${text.replace(/\n +/g, '\r\n')}`, { OUTER: 'outer' });
    expect(mistakes).toEqual([]);
    expect(values).toEqual({
      SINGLE: 'pa$word \\n "#1"',
      BACKTICK: 'it\'s $5 "a"',
      DOUBLE: '"a"\n$b pa$word \\n "#1"',
      BARE: 'a#b outer $c C:\\new',
      DEFAULT: 'xy',
      EMPTY: '',
      PRICE: '$5',
      LINES: 'a\nb',
      'foo.bar-baz': '1',
    });
  });

  test("is overridden by later files in Bun's order: .env, .env.production, .env.local", async () => {
    await using folder = await temporaryFolder();
    writeFileSync(join(folder.path, '.env'), 'A=1\nB=1\nC=1');
    writeFileSync(join(folder.path, '.env.production'), 'B=2\nC=2');
    writeFileSync(join(folder.path, '.env.local'), 'C=$B$C');
    writeFileSync(join(folder.path, '.env.development'), 'D=1');
    expect(readIn(folder.path, { NODE_ENV: 'production' }).values).toEqual({ A: '1', B: '2', C: '22' });
  });

  test('may contain variables of other programs', async () => {
    expect(await mistakesIn('HOME=/\nPGPORT=1\nHOSTNAME=a\nTZ=UTC\nANIMAL_STORE_KEY=ask\nPORT=80')).toEqual(
      [],
    );
  });

  test('may be missing', async () => {
    await using folder = await temporaryFolder();
    expect(readIn(folder.path)).toEqual({ values: {}, mistakes: [] });
  });
});

function mistakesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

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
