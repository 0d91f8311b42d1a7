import { expect, test } from 'bun:test';
import { sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

interface Account {
  readonly id: number;
  readonly name: string;
  readonly plan: string;
  readonly perMinute: number;
  readonly perDay: number;
  readonly createdAt: string;
  readonly closedAt: string | null;
}

test('accounts create --json prints the id, quota and creation time of the account', async () => {
  const before = Date.now();
  const account = await place.json<Account>('accounts', 'create', '--name', 'Søren & Co', '--plan', 'pro');
  expect(Object.keys(account)).toEqual([
    'id',
    'name',
    'plan',
    'perMinute',
    'perDay',
    'createdAt',
    'closedAt',
    'note',
  ]);
  expect(account).toMatchObject({ name: 'Søren & Co', plan: 'pro', perMinute: 300, perDay: 10_000 });
  expect(account.createdAt).toBe(new Date(account.createdAt).toISOString());
  expect(Date.parse(account.createdAt)).toBeGreaterThanOrEqual(before - 1_000);
});

test('an enterprise account is created with custom limits, which set-plan can change', async () => {
  const quota = ['--per-minute', '5000', '--per-day', '1000000'];
  const made = await place.json<Account>(
    'accounts',
    'create',
    '--name',
    'E',
    '--plan',
    'enterprise',
    ...quota,
  );
  expect(made).toMatchObject({ plan: 'enterprise', perMinute: 5_000, perDay: 1_000_000 });
  const changed = await place.json<Account>('accounts', 'set-plan', String(made.id), 'business');
  expect(changed).toEqual({ ...made, plan: 'business', perMinute: 1_000, perDay: 100_000 });
  const back = await place.json<Account>('accounts', 'set-plan', String(made.id), 'enterprise', ...quota);
  expect(back).toEqual(made);
});

test('accounts list shows all accounts, as a table and as JSON', async () => {
  const made = await place.json<Account>('accounts', 'create', '--name', 'Listed', '--plan', 'free');
  const accounts = await place.json<Account[]>('accounts', 'list');
  expect(accounts).toContainEqual(expect.objectContaining(made));
  const { stdout, exitCode } = await place.run(['accounts', 'list']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ID +NAME +PLAN +PER MINUTE +PER DAY +CREATED +STATE\n/);
  expect(stdout).toMatch(new RegExp(`^${made.id} +Listed +free +60 +1,000 +\\d{4}-.*Z +open$`, 'm'));
  expect(stdout).not.toContain('\x1b');
});

test('accounts show prints the limits of an account', async () => {
  const { stdout } = await place.run(['accounts', 'create', '--name', 'Told', '--plan', 'free']);
  expect(stdout).toMatch(/^Account \d+ \(Told\), plan free: 60 requests per minute, 1,000 per day\.\n$/);
});

const wrongUses: [mistake: string, args: string[], message: RegExp][] = [
  [
    'an enterprise plan without limits',
    ['accounts', 'create', '--name', 'N', '--plan', 'enterprise'],
    /requires a limit per minute and a limit per day/,
  ],
  [
    'a higher limit per minute than per day',
    ['accounts', 'create', '--name', 'N', '--plan', 'enterprise', '--per-minute', '100', '--per-day', '10'],
    /per minute \(100\) must not exceed the limit per day \(10\)/,
  ],
  [
    'custom limits for the pro plan',
    ['accounts', 'create', '--name', 'N', '--plan', 'pro', '--per-day', '5'],
    /are fixed/,
  ],
  ['an extra argument', ['accounts', 'list', 'all'], /too many arguments/],
];
test.concurrent.each(wrongUses)(
  'a command with %s fails with a usage error that states the reason',
  async (_mistake, args, message) => {
    const stderr = await place.failure(2, ...args);
    expect(stderr).toMatch(/^animal-store: /);
    expect(stderr).toMatch(message);
  },
);
