import { expect, test } from 'bun:test';
import { sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

test('a command prints a warning for a variable that is probably a misspelled setting, unless it prints JSON', async () => {
  const environment = { DATABASE_URI: 'postgres://shop' };
  const { exitCode, stderr } = await place.run(['accounts', 'list'], { environment });
  const warning = 'The environment variable DATABASE_URI is not a setting. Similar settings: DATABASE_URL.';
  expect([exitCode, stderr]).toEqual([0, `animal-store: ${warning}\n`]);
  expect((await place.run(['accounts', 'list', '--json'], { environment })).stderr).toBe('');
});
