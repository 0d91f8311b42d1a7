/** Copies between two files. Copies between engines are tested in test/storage/copy.test.ts. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openAdminServices, openCopyStores } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { temporaryFolder } from '../support/folder.ts';

async function filled(url: string): Promise<void> {
  await using admin = await openAdminServices(readConfig({ DATABASE_URL: url }), undefined, { create: true });
  const { id } = await admin.accounts.create('shop', 'free');
  for (const name of ['one', 'two']) await admin.keys.create(id, name);
}

test('the error for a source that changes during the copy names the source', async () => {
  await using folder = await temporaryFolder();
  const [from, to] = ['from', 'to'].map((name) => join(folder.path, `${name}.db`)) as [string, string];
  await filled(`sqlite:${from}`);
  await using copy = await openCopyStores(`sqlite:${from}`, `sqlite:${to}`);
  await Array.fromAsync(copy.copy());
  {
    using database = new Database(from);
    database.run("UPDATE keys SET name = 'three' WHERE name = 'two'");
  }
  const verified = Array.fromAsync(copy.verify());
  await expect(verified).rejects.toThrow(
    /"keys" differs, first at id 2: .*The source changed during the copy/,
  );
  await expect(verified).rejects.not.toThrow(/The target was written/);
});

test('an in-memory store is rejected as the source or the target of a copy', async () => {
  await using folder = await temporaryFolder();
  const from = `sqlite:${join(folder.path, 'from.db')}`;
  await filled(from);
  await expect(openCopyStores(from, 'sqlite::memory:')).rejects.toBeInstanceOf(StoreUnusableError);
  await expect(openCopyStores('sqlite://:memory:', from)).rejects.toBeInstanceOf(StoreUnusableError);
});
