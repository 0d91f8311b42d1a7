/** A data file in which another program or the disk has damaged a page. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { closeSync, openSync, writeSync } from 'node:fs';
import { troubles } from '../../src/domain/troubles.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  dataFileIn,
  finished,
  issueKey,
  makeStore,
  serveCommand,
  settingsIn,
  startService,
} from '../support/process.ts';
import { until } from '../support/wait.ts';
import { expectUnavailable } from './disk.ts';

const pageBytes = 4_096;

/** Overwrites the start of the first page of a table in a store that is not open. */
function damage(path: string, table: string): void {
  const data = new Database(path, { readonly: true });
  const select = data.query<{ page: number }, [string]>(
    'SELECT rootpage AS page FROM sqlite_schema WHERE name = ?',
  );
  const page = select.all(table)[0]?.page as number;
  data.close(true);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, (page - 1) * pageBytes);
  closeSync(file);
}

test.each(['accounts', 'keys'])(
  'if a page of %s is damaged, the error of the service and of commands names the data file and the remedy',
  async (table) => {
    await using folder = await temporaryFolder();
    await makeStore(folder.path);
    const path = dataFileIn(folder.path);
    damage(path, table);
    for (const words of [['serve'], [table, 'list']]) {
      const { exitCode, stderr } = await finished([...serveCommand.slice(0, -1), ...words], {
        environment: settingsIn(folder.path),
      });
      expect([words, exitCode]).toEqual([words, 1]);
      expect(stderr).toContain(`the data file ${path} is damaged (`.slice(4));
      expect(stderr).toContain('animal-store restore FILE --replace');
      expect(stderr).not.toContain('store.limits');
    }
  },
);

test('a page that is found damaged while serving causes 503, a problem in /readyz and one log line', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  const key = await issueKey(folder.path, 'enterprise', ample);
  damage(dataFileIn(folder.path), 'pets');
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, key);
  for (let attempt = 0; attempt < 3; attempt++) {
    expectUnavailable(await client.get('/pets'));
    expectUnavailable(await client.add('lost'));
  }
  expect((await client.get('/categories')).status).toBe(200);
  await until(async () =>
    (await (await fetch(`${service.url}/readyz`)).text()).includes(troubles.dataDamaged),
  );
  const reported = () => service.stderr().match(/degraded: the data file [^"\n]+store\.db is damaged/g) ?? [];
  await until(() => reported().length > 0);
  expect(reported()).toHaveLength(1);
});
