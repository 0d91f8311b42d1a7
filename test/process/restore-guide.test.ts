/** Runs the commands for backup and restore from the operator guide. */
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SQL } from 'bun';
import { quoteForShell } from '../../src/cli/terminal.ts';
import { commandLine } from '../support/cli.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { finished, root, serveCommand, settingsIn, start, startService } from '../support/process.ts';
import { missing } from '../support/requirements.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());
const hasTools = ['psql', 'pg_dump', 'pg_restore'].every((name) => Bun.which(name) !== null);
if (!hasTools) missing({ name: 'pg_dump', package: 'postgresql-client' });

/** The code blocks of a section in docs/backup.md, modified to run the program from this checkout. */
async function commandsOf(heading: string): Promise<string[]> {
  const page = await Bun.file(join(root, 'docs/backup.md')).text();
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const blocks = section.slice(0, section.indexOf('\n## ')).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  const program = commandLine.map(quoteForShell).join(' ');
  const texts = [...blocks].map(([, text = '']) => text.replaceAll('npx animal-store', program));
  expect(texts).not.toEqual([]);
  return texts;
}

/** Runs a section's commands on the store in this folder, and returns the output. */
async function run(heading: string, folder: string): Promise<string> {
  let said = '';
  for (const commands of await commandsOf(heading)) {
    const environment = settingsIn(folder);
    const { stdout, ...ended } = await finished(['sh', '-e', '-c', commands], { cwd: folder, environment });
    expect({ commands, ...ended }).toEqual({ commands, exitCode: 0, stderr: '' });
    said += stdout;
  }
  return said;
}

test('the documented commands back up a running service and restore its animals, keys and counts', async () => {
  await using folder = await temporaryFolder();
  let key = '';
  {
    await using service = await startService(folder.path);
    key = service.firstKey ?? '';
    const client = clientOf(service.url, key);
    expect((await client.add('Before')).status).toBe(201);
    expect(await run('Create a backup', folder.path)).toContain('Backed up 1 animal ');
    expect((await client.add('After')).status).toBe(201);
  }
  expect(await run('Verify', folder.path)).toContain('friday.backup is intact.');
  expect(await run('Restore', folder.path)).toContain('Restored 1 animal,');
  expect(await run('Restore drills', folder.path)).toContain('1');
  expect(existsSync(join(folder.path, 'drill/animal-store.db'))).toBe(true);

  await using service = await startService(folder.path);
  const client = clientOf(service.url, key);
  expect(JSON.parse((await client.get('/pets')).text)).toMatchObject([{ id: 1, name: 'Before' }]);
  const { day } = JSON.parse((await client.get('/rate-limit')).text);
  expect(day.limit - day.remaining).toBe(2);
  // A new event must not reuse the id of an event in the replaced store, because a client may have read it.
  expect((await client.add('Later')).status).toBe(201);
  expect((await client.get('/events?after=2')).status).toBe(410);
});

test('the service creates backups as documented', async () => {
  await using folder = await temporaryFolder();
  const backups = join(folder.path, 'backups');
  await mkdir(backups);
  const [commands = ''] = await commandsOf('Scheduled backups');
  const settings = Object.fromEntries(
    [...commands.matchAll(/(BACKUP_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  expect(Object.keys(settings)).toEqual(['BACKUP_FOLDER', 'BACKUP_EVERY', 'BACKUP_KEEP']);
  await using service = await startService(folder.path, { ...settings, BACKUP_FOLDER: backups });
  await service.logged('backup made');
});

const [dump = '', restore = '', serve = '', upgrade = ''] = await commandsOf('PostgreSQL');
const newPrefix = /^REDIS_PREFIX=(\S+) npm start$/m.exec(serve)?.[1] ?? 'not documented';

/** A database, and a folder for its dump. */
async function newDatabase() {
  if (servers === undefined) return expect.unreachable();
  await using made = new AsyncDisposableStack();
  const { url } = made.use(await servers.makeDatabase());
  const folder = made.use(await temporaryFolder());
  const sql = made.use(new SQL(url, { max: 1 }));
  const former = servers.makePrefix();
  const environment = { DATABASE_URL: url, REDIS_URL: servers.redisUrl, REDIS_PREFIX: former, PORT: '0' };
  // Other tests use the same Redis.
  const restored = { ...environment, REDIS_PREFIX: `${former}${newPrefix}` };
  const place = { cwd: folder.path, environment };
  const kept = made.move();
  return {
    ...{ sql, former, cwd: folder.path },
    runInstance: () =>
      sql`INSERT INTO instances (name, version, started_at, seen_at) VALUES ('one', '1.1.0', 0, ${Date.now() + 20_000})`,
    async shell(commands: string) {
      const own = commands.replaceAll(`REDIS_PREFIX=${newPrefix}`, `REDIS_PREFIX=${restored.REDIS_PREFIX}`);
      return { commands, ...(await finished(['sh', '-e', '-c', own], place)) };
    },
    /** Runs a command with the former or the new prefix. */
    async command(prefix: 'former' | 'new', ...words: string[]) {
      const settings = prefix === 'new' ? restored : environment;
      return { words, ...(await finished([...commandLine, ...words], { ...place, environment: settings })) };
    },
    /** Starts and stops an instance with the new prefix. */
    async serve() {
      await using service = start(serveCommand, { ...place, environment: restored });
      await service.said(/^Reference .*\n/m);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const succeeds = { exitCode: 0 };

describe.skipIf(servers === undefined || !hasTools)('after the documented restore of a dump', () => {
  const create = ['accounts', 'create', '--name', 'Shop', '--plan', 'free'] as const;
  const idsIn = async (sql: SQL) =>
    [...(await sql`SELECT id FROM accounts ORDER BY id`)].map(({ id }) => Number(id));

  test('commands and instances use the new prefix, even if the dump shows running instances', async () => {
    await using place = await newDatabase();
    await Bun.write(join(place.cwd, 'pets.csv'), 'name,categoryId\nA,1\n');
    expect(await place.command('former', 'import', 'pets.csv')).toMatchObject(succeeds);
    await place.sql`UPDATE store SET redis_prefix = ${place.former}`;
    await place.runInstance();
    expect(await place.command('former', ...create)).toMatchObject(succeeds);
    const refused = await place.command('new', ...create);
    expect(refused.stderr).toContain(`Set REDIS_PREFIX=${place.former}.`);
    expect(await place.shell(dump)).toMatchObject(succeeds);
    expect(await place.shell(restore)).toMatchObject(succeeds);
    expect(await place.command('new', ...create)).toMatchObject(succeeds);
    expect(await place.command('new', 'keys', 'list')).toMatchObject(succeeds);
    await place.serve();
    const [first, second = 0] = await idsIn(place.sql);
    expect([first, second > 1_000_000_000]).toEqual([1, true]);
    // Now the store has the new prefix.
    expect((await place.command('former', ...create)).stderr).toContain(`:${newPrefix}. `);
    // A restored store can be dumped and restored in the same way.
    expect(await place.shell(dump)).toMatchObject(succeeds);
    await place.sql.unsafe('DROP SCHEMA before_restore CASCADE');
    expect(await place.shell(restore)).toMatchObject(succeeds);
  });

  describe('of version 1.1.0', () => {
    /** Dumps a store of that version with an account, and upgrades it. */
    async function upgraded() {
      const place = await newDatabase();
      await place.sql.unsafe(await Bun.file(join(root, 'test/storage/store-1.1.0/postgres.sql')).text());
      await place.sql`UPDATE store SET redis_prefix = ${place.former}`;
      await place.runInstance();
      expect(await place.shell(dump)).toMatchObject(succeeds);
      expect(await place.command('former', 'migrate')).toMatchObject(succeeds);
      return place;
    }

    test('the documented commands upgrade it and raise the ids', async () => {
      await using place = await upgraded();
      expect(await place.shell(restore)).toMatchObject(succeeds);
      expect(await place.shell(upgrade)).toMatchObject(succeeds);
      expect(await place.command('new', ...create)).toMatchObject(succeeds);
      await place.serve();
      expect((await idsIn(place.sql))[0]).toBeGreaterThan(1_000_000_000);
    });

    test('after a restore over the upgraded store, the command in the error message makes the upgrade possible', async () => {
      await using place = await upgraded();
      const options = '--clean --if-exists --no-owner --exit-on-error --single-transaction';
      const over = `pg_restore ${options} --dbname="$DATABASE_URL" animal-store.dump`;
      expect(await place.shell(over)).toMatchObject(succeeds);
      const { exitCode, stderr } = await place.command('new', 'migrate');
      const [, drop = ''] = /try again: (DROP TABLE .*;)$/m.exec(stderr) ?? [];
      expect([exitCode, drop]).toEqual([1, expect.stringContaining('public.usage_reports')]);
      expect(
        await place.shell(`psql --dbname="$DATABASE_URL" --command=${quoteForShell(drop)}`),
      ).toMatchObject(succeeds);
      expect(await place.shell(upgrade)).toMatchObject(succeeds);
      await place.serve();
    });
  });
});
