/** Commands on PostgreSQL and Redis: copying a store in use, and a missing database, role or server. */
import { afterAll, describe, expect, test } from 'bun:test';
import { openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import { startTestApp } from '../support/app.ts';
import { newWorkplace } from '../support/cli.ts';
import { testServers } from '../support/servers.ts';
import { newReport } from '../support/usage.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test("errors from copy refer to its options, not to the service's settings", async () => {
  await using place = await newWorkplace();
  const from = await place.failure(1, 'copy', '--from', 'sqlite:./none.db', '--to', 'sqlite:./copy.db');
  expect(from).toContain(`No store found at ${place.path('none.db')}. Check --from (`);
  const to = await place.failure(1, 'copy', '--from', 'sqlite:./store.db', '--to', 'sqlite:.');
  expect(to).toContain('is a folder. Set --to to a file in it.');
  expect(from + to).not.toContain('DATABASE_URL');
});

describe.skipIf(servers === undefined)('on PostgreSQL', () => {
  const settingsOf = (url: string) => ({
    DATABASE_URL: url,
    REDIS_URL: servers?.redisUrl ?? '',
    REDIS_PREFIX: servers?.makePrefix() ?? '',
  });
  const makeSchema = () => servers?.makeSchema() ?? expect.unreachable();

  test('copy prints a warning while instances use the source', async () => {
    await using place = await newWorkplace({ store: false });
    await using schema = await makeSchema();
    const environment = settingsOf(schema.url);
    await place.run(['import', await place.write('pets.csv', 'name,categoryId\nA,1\n')], { environment });
    const report = async (seenAt: number) => {
      await using operator = await openAdminServices(readConfig(environment));
      const instance = { name: 'one', version: '1.1.0', startedAt: 1_000, seenAt };
      const rows = { minutes: [], keys: [], latencies: [] };
      await operator.storage.write('recordUsage', { ...rows, number: newReport(seenAt), instance });
    };
    const copy = (to: string) => place.run(['copy', '--from', schema.url, '--to', `sqlite:./${to}`]);
    await report(Date.now());
    const served = await copy('first.db');
    expect([served.exitCode, served.stderr]).toEqual([
      0,
      expect.stringContaining('animal-store: The source is being served (one). Stop these instances'),
    ]);
    // A time in the future belongs to an instance that ended before the clock was set back.
    for (const [index, seenAt] of [0, Date.now() + 3_600_000].entries()) {
      await report(seenAt);
      expect((await copy(`next${index}.db`)).stderr).not.toContain('served');
    }
  });

  test('the error for a missing database or role includes the command that creates it', async () => {
    await using place = await newWorkplace({ store: false });
    await using schema = await makeSchema();
    const url = new URL(schema.url);
    const server = `-h ${url.hostname} -p ${url.port || 5432} -U postgres`;
    url.pathname = '/absent_database';
    const list = (environment: Readonly<Record<string, string>>) =>
      place.run(['accounts', 'list'], { environment });
    const database = await list(settingsOf(url.href));
    expect(database.exitCode).toBe(1);
    const owner = url.username === '' ? '' : `-O ${url.username} `;
    expect(database.stderr).toContain(
      `administrator of the server: createdb ${server} ${owner}absent_database\n`,
    );
    const other = new URL(schema.url);
    other.username = 'absent_role';
    const role = await list(settingsOf(other.href));
    // A server that requires passwords does not reveal that a role is missing.
    if (role.stderr.includes('does not exist'))
      expect(role.stderr).toContain(`createuser ${server} --pwprompt absent_role\n`);
  });

  test('a database whose encoding lacks characters is rejected, with the command that creates one in UTF-8', async () => {
    const makeDatabase = servers?.makeDatabase ?? expect.unreachable();
    await using place = await newWorkplace();
    await using latin = await makeDatabase('LATIN1');
    await using bytes = await makeDatabase('SQL_ASCII');
    const name = await place.write('pets.csv', 'name,categoryId\n🐶,1\n');
    const environment = settingsOf(latin.url);
    for (const args of [
      ['migrate'],
      ['import', name],
      ['copy', '--from', 'sqlite:store.db', '--to', latin.url],
    ]) {
      const { exitCode, stderr } = await place.run(args, { environment });
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('database is LATIN1, which cannot')]);
      expect(stderr).toContain('createdb --encoding=UTF8 ');
    }
    await expect(startTestApp(environment)).rejects.toThrow('database is LATIN1');
    expect(await place.run(['import', name], { environment: settingsOf(bytes.url) })).toMatchObject({
      exitCode: 0,
    });
  });

  test('a command that cannot reach Redis prints one plain line instead of a runtime warning', async () => {
    await using place = await newWorkplace({ store: false });
    await using schema = await makeSchema();
    const environment = settingsOf(schema.url);
    await place.run(['import', await place.write('pets.csv', 'name,categoryId\nA,1\n')], { environment });
    const { stderr } = await place.run(['keys', 'list'], {
      environment: { ...environment, REDIS_URL: 'redis://127.0.0.1:1' },
    });
    expect(stderr).toMatch(/^animal-store: .*Redis/);
    expect(stderr).not.toContain('Warning:');
  });
});
