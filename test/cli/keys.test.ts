import { describe, expect, test } from 'bun:test';
import { isWellFormedKey } from '../../src/domain/key.ts';
import { scopes as allScopes } from '../../src/domain/scope.ts';
import { ended, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

interface Issued {
  readonly id: number;
  readonly accountId: number;
  readonly plan: string;
  readonly key: string;
}

interface Listed {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly lastFour: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly state: string;
}

const listed = async (id: number) =>
  (await place.json<Listed[]>('keys', 'list')).find((key) => key.id === id);

test('keys create --plan creates an account for the key, and --account uses an existing account', async () => {
  const first = await place.json<Issued>('keys', 'create', '--plan', 'pro', '--name', 'website');
  expect(Object.keys(first)).toEqual(['id', 'accountId', 'plan', 'key', 'scopes', 'expiresAt']);
  expect(first.plan).toBe('pro');
  expect(isWellFormedKey(first.key)).toBe(true);
  const second = await place.json<Issued>('keys', 'create', '--account', String(first.accountId));
  expect(second).toMatchObject({ accountId: first.accountId, plan: 'pro' });
  expect(second.key).not.toBe(first.key);
  expect(await listed(first.id)).toMatchObject({ name: 'website', state: 'live', expiresAt: null });
});

test('keys create warns that a key for a closed account is inactive until the account is reopened', async () => {
  const { accountId } = await place.json<Issued>('keys', 'create', '--plan', 'pro');
  await place.json('accounts', 'close', String(accountId));
  const { stdout } = await place.run(['keys', 'create', '--account', String(accountId)]);
  expect(stdout).toContain(`Account ${accountId} is closed. The key will work when the account is reopened.`);
});

test('a new key is printed once with an explanation, and keys list shows only its last four characters', async () => {
  const { stdout, exitCode } = await place.run(['keys', 'create', '--plan', 'free', '--name', 'seen once']);
  expect(exitCode).toBe(0);
  const [, id = '', key = ''] =
    /^Created key (\d+) for account \d+ \(plan free\)\. It is shown only once:\n {2}(ask_\w+)\nScopes: /.exec(
      stdout,
    ) ?? [];
  expect(isWellFormedKey(key)).toBe(true);
  const list = await place.run(['keys', 'list']);
  expect(list.stdout).toMatch(/^ID +ACCOUNT +NAME +KEY +CREATED +EXPIRES +STATE +LAST USED +TODAY +SCOPES\n/);
  expect(list.stdout).toMatch(
    new RegExp(
      `^${id} .* seen once +…${key.slice(-4)} .* never +live +never +0 +pets:read,pets:create$`,
      'm',
    ),
  );
  expect(list.stdout).not.toContain(key);
  expect((await place.run(['keys', 'list', '--json'])).stdout).not.toContain(key);
});

test('--expires-in accepts seconds, minutes, hours and days', async () => {
  const durations = { '30s': 30, '15m': 900, '24h': 86_400, '90d': 7_776_000 };
  const ids: number[] = [];
  for (const duration of Object.keys(durations)) {
    ids.push((await place.json<Issued>('keys', 'create', '--plan', 'free', '--expires-in', duration)).id);
  }
  const keys = (await place.json<Listed[]>('keys', 'list')).filter(({ id }) => ids.includes(id));
  const lifetimes = keys.map(
    ({ createdAt, expiresAt }) => Date.parse(expiresAt ?? '') - Date.parse(createdAt),
  );
  expect(lifetimes).toEqual(Object.values(durations).map((seconds) => seconds * 1_000));
});

test('keys rotate prints the new key, and the old key stays active for the grace period', async () => {
  const old = await place.json<Issued>('keys', 'create', '--plan', 'pro', '--name', 'rotated');
  const from = Date.now();
  const successor = await place.json<Issued>('keys', 'rotate', String(old.id), '--grace', '15m');
  const to = Date.now();
  expect(Object.keys(successor)).toEqual(['id', 'accountId', 'plan', 'key', 'scopes', 'expiresAt']);
  expect(successor).toMatchObject({ accountId: old.accountId, plan: 'pro' });
  expect(successor.key).not.toBe(old.key);
  const rotatedAt = Date.parse((await listed(old.id))?.expiresAt ?? '') - 15 * 60_000;
  expect(rotatedAt).toBeGreaterThan(from - 1_000);
  expect(rotatedAt).toBeLessThanOrEqual(to);
  expect(await listed(successor.id)).toMatchObject({ name: 'rotated', state: 'live', expiresAt: null });
});

test.each(['0', '0s'])('keys rotate --grace %s revokes the old key immediately', async (grace) => {
  const old = await place.json<Issued>('keys', 'create', '--plan', 'free');
  const { stdout } = await place.run(['keys', 'rotate', String(old.id), '--grace', grace]);
  expect(stdout).toMatch(
    /It is shown only once:\n {2}ask_\w{38}\nScopes: .*\nIt never expires .*\nKey \d+ no longer works\.\n$/,
  );
  expect((await listed(old.id))?.state).toBe('expired');
});

test('keys rotate without --grace keeps the old key active for 24 hours', async () => {
  const old = await place.json<Issued>('keys', 'create', '--plan', 'free');
  const from = Date.now();
  await place.json('keys', 'rotate', String(old.id), '--expires-in', '90d');
  const to = Date.now();
  const rotatedAt = Date.parse((await listed(old.id))?.expiresAt ?? '') - 24 * 3_600_000;
  expect(rotatedAt).toBeGreaterThan(from - 1_000);
  expect(rotatedAt).toBeLessThanOrEqual(to);
});

test('keys rotate prints the lifetime of the new key, which defaults to the lifetime of the old key', async () => {
  const old = await place.json<Issued>('keys', 'create', '--plan', 'free', '--expires-in', '1h');
  const kept = await place.run(['keys', 'rotate', String(old.id)]);
  const [, at = '', of] = /^It expires (\S+Z) \(same lifetime as key (\d+)\)\.$/m.exec(kept.stdout) ?? [];
  expect(of).toBe(String(old.id));
  const [successor] = (await place.json<Listed[]>('keys', 'list')).slice(-1);
  expect(Date.parse(successor?.expiresAt ?? '') - Date.parse(successor?.createdAt ?? '')).toBe(3_600_000);
  expect(successor?.expiresAt).toStartWith(at.slice(0, -1));
  const result = await place.run(['keys', 'rotate', String(successor?.id), '--expires-in', 'never']);
  expect(result.stdout).toMatch(/^It never expires\.$/m);
  const again = await place.run(['keys', 'rotate', String(old.id)]);
  expect(again.exitCode).toBe(1);
  expect(again.stderr).toContain(`Key ${old.id} cannot be rotated: it was already rotated.`);
});

test('a revoked key is listed as revoked, cannot be rotated, and stays revoked if it is revoked again', async () => {
  const { id, accountId } = await place.json<Issued>('keys', 'create', '--plan', 'free');
  expect(await place.json<object>('keys', 'revoke', String(id))).toEqual({ id, state: 'revoked' });
  const first = await listed(id);
  expect(first?.state).toBe('revoked');
  expect((await place.run(['keys', 'revoke', String(id)])).exitCode).toBe(0);
  expect(await listed(id)).toEqual(first as Listed);
  const { exitCode, stderr } = await place.run(['keys', 'rotate', String(id)]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`Key ${id} cannot be rotated: it is revoked.`);
  expect(stderr).toContain(`Create a new key for its account, ${accountId}.`);
});

const impossible: [what: string, args: string[], missing: string, list: string][] = [
  ['revoking an unknown key', ['keys', 'revoke', '999'], 'key', 'keys'],
  ['rotating an unknown key', ['keys', 'rotate', '999'], 'key', 'keys'],
  ['creating a key for an unknown account', ['keys', 'create', '--account', '999'], 'account', 'accounts'],
  ['changing the plan of an unknown account', ['accounts', 'set-plan', '999', 'pro'], 'account', 'accounts'],
  ['lifting a nonexistent ban', ['bans', 'lift', '999'], 'ban on key', 'bans'],
];
test.concurrent.each(impossible)('%s fails without a stack trace', async (_what, args, missing, list) => {
  expect(await place.failure(1, ...args)).toBe(
    `animal-store: There is no ${missing} 999. For a list, run "animal-store ${list} list".\n`,
  );
});

test('the stack trace of an error is shown only with LOG_LEVEL=debug', async () => {
  const wrong = ['accounts', 'create', '--name', 'A', '--plan', 'enterprise'];
  const { stderr } = await ended(place.start(wrong, { LOG_LEVEL: 'debug' }));
  expect(stderr).toContain('operations/admin/accounts.ts');
});

const wrongUses: [mistake: string, args: string[], message: RegExp][] = [
  ['neither account nor plan', ['keys', 'create'], /--account ACCOUNT-ID, or --plan PLAN/],
  ['both account and plan', ['keys', 'create', '--account', '1', '--plan', 'pro'], /--account .*, or --plan/],
  [
    'limits for an existing account',
    ['keys', 'create', '--account', '1', '--per-day', '9'],
    /accounts set-plan/,
  ],
  [
    'a duration without a unit',
    ['keys', 'create', '--plan', 'free', '--expires-in', '90'],
    /30s, 15m, 24h or 90d/,
  ],
  [
    'a duration with an unsupported unit',
    ['keys', 'create', '--plan', 'free', '--expires-in', '1y'],
    /30s, 15m, 24h or 90d/,
  ],
  ['a lifetime of 0', ['keys', 'create', '--plan', 'free', '--expires-in', '0s'], /greater than 0/],
  ['a grace period of more than ten years', ['keys', 'rotate', '1', '--grace', '3651d'], /at most 3650d/],
  ['a negative grace period', ['keys', 'rotate', '1', '--grace=-1s'], /30s, 15m, 24h or 90d/],
];
test.concurrent.each(wrongUses)(
  'a command with %s fails with a usage error that shows the correct form',
  async (_mistake, args, message) => {
    expect(await place.failure(2, ...args)).toMatch(message);
  },
);

test('an option is not accepted as a name', async () => {
  expect(await place.failure(2, 'keys', 'create', '--plan', 'free', '--name', '--json')).toContain(
    'must not begin with',
  );
});

describe('--scopes', () => {
  const all = [...allScopes];
  const create = (...args: string[]) =>
    place.json<{ id: number; scopes: string[] }>('keys', 'create', '--plan', 'free', ...args);

  test('defaults to reading and adding animals, and the output explains how to add scopes', async () => {
    expect((await create()).scopes).toEqual(['pets:read', 'pets:create']);
    const { stdout } = await place.run(['keys', 'create', '--plan', 'free']);
    expect(stdout).toMatch(
      /\nScopes: pets:read, pets:create\.\nIt can only read and add animals\. .*--scopes, or run:\n {2}animal-store keys set-scopes \d+ pets:read,orders:write \(or: all\)\n$/,
    );
  });

  test('accepts scopes in any order, or "all" for every scope, and keys list shows them', async () => {
    const { id, scopes } = await create('--scopes', 'orders:write,pets:read');
    expect(scopes).toEqual(['pets:read', 'orders:write']);
    expect((await create('--scopes', 'all')).scopes).toEqual(all);
    const said = await place.run(['keys', 'set-scopes', String(id), 'orders:read']);
    expect(said).toMatchObject({ exitCode: 0, stdout: `Key ${id} now has the scopes orders:read.\n` });
    const { stdout } = await place.run(['keys', 'list']);
    expect(stdout).toMatch(/ live +never +0 +all$/m);
    expect(stdout).toMatch(new RegExp(`^${id} .* live +never +0 +orders:read$`, 'm'));
  });

  test.each(['', 'pets', 'pets:read,', 'pets:read orders:read', 'ALL', 'all,pets:read'])(
    'rejects "%s" with a message that lists the valid scopes',
    async (scopes) => {
      const stderr = await place.failure(2, 'keys', 'create', '--plan', 'free', '--scopes', scopes);
      expect(stderr).toContain(`Scopes: ${all.join(', ')}.`);
    },
  );
});
