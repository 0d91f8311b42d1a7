import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { firstKeyPath } from '../../src/cli/serve/first-key.ts';

test('the file with the first key is stored next to the data file; on PostgreSQL, its name contains the host and database', () => {
  expect(firstKeyPath('sqlite:/var/lib/store.db')).toBe('/var/lib/store.db.first-key');
  const ofServer = (url: string) => firstKeyPath(url).slice(join(process.cwd(), 'data').length + 1);
  expect(ofServer('postgres://store:secret@db.example.com:5432/animals?sslmode=require')).toBe(
    'db.example.com-animals.first-key',
  );
  expect(ofServer('postgres://[::1]/a%2Fb%20c')).toBe('-1-a-b-c.first-key');
});
