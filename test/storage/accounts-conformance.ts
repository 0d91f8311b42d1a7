import { expect } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import type { Store } from '../../src/operations/units.ts';
import type { AccountFilter } from '../../src/storage/storage.ts';
import type { Account } from '../../src/tables/accounts.ts';
import { foldCase } from '../../src/tables/accounts.ts';
import type { StoreTest } from './place.ts';
import { many, newKey } from './samples.ts';
import { raisedBy } from './shop-units.ts';

const closedAt = 1_750_000_000_000;

function make(store: Store, name: string): Promise<Account> {
  return store.write('createAccount', {
    name,
    plan: 'free',
    quota: plans.free,
    createdAt: 1_700_000_000_000,
  });
}

/** Reads all accounts in pages of at most `limit`. */
async function walk({ accounts }: Store, limit: number, filter: AccountFilter = {}): Promise<Account[]> {
  const found: Account[] = [];
  for (;;) {
    const page = await accounts.search(found.at(-1), limit, filter);
    expect(page.length).toBeLessThanOrEqual(limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

/** Expected result of a filter, computed independently and sorted by name, then id. */
function selected(all: readonly Account[], { name, isClosed }: AccountFilter): Account[] {
  const fits = all
    .filter((account) => name === undefined || foldCase(account.name).startsWith(foldCase(name)))
    .filter((account) => isClosed === undefined || (account.closedAt !== null) === isClosed);
  if (name === undefined) return fits;
  const bytes = (account: Account) => Buffer.from(foldCase(account.name));
  return fits.toSorted((one, other) => Buffer.compare(bytes(one), bytes(other)) || one.id - other.id);
}

/** Account names, including duplicates and names that differ only in case. */
const names = [
  'Shop',
  'shop',
  'SHOP 2',
  'shop',
  'sho',
  'shoq',
  'Käthe',
  'käthe & co',
  'Ka\u0308the',
  'Kathe',
  '猫の店',
  '🐕 dogs',
  '🐕',
  '100% pets',
  '100_pets',
  '\\',
  "'",
  'ﬁsh',
  'Fish and chips',
  'z',
  'Ωmega',
];

export function accountPagesConform(check: StoreTest): void {
  check(
    'pages of any length, with any filter, contain every matching account exactly once',
    async ({ store }) => {
      const all: Account[] = [];
      for (const [index, name] of names.entries()) {
        const account = await make(store, name);
        if (index % 3 === 0) await store.write('closeAccount', { id: account.id, closedAt });
        all.push(index % 3 === 0 ? { ...account, closedAt } : account);
      }
      const prefixes = [
        undefined,
        '',
        'S',
        'shop',
        'SHOP ',
        'kä',
        'ka',
        '猫',
        '🐕',
        '100_',
        '%',
        '\\',
        'FI',
        'ω',
        'zz',
      ];
      for (const name of prefixes) {
        for (const isClosed of [undefined, true, false]) {
          const filter = { name, isClosed };
          const expected = selected(all, filter);
          for (const limit of [1, 2, many]) {
            expect({ filter, limit, found: await walk(store, limit, filter) }).toEqual({
              filter,
              limit,
              found: expected,
            });
          }
        }
      }
    },
  );

  check('a renamed account is found only by its new name', async ({ store }) => {
    const account = await make(store, 'Old name');
    const renamed = { ...account, name: 'NEW name' };
    expect(await store.write('updateAccount', { id: account.id, name: 'NEW name' })).toEqual(renamed);
    expect(await store.accounts.search(undefined, many, { name: 'old' })).toEqual([]);
    expect(await store.accounts.search(undefined, many, { name: 'new N' })).toEqual([renamed]);
  });

  check('accounts and keys are found by id, and keys by account as well', async ({ store }) => {
    const { accounts, keys } = store;
    const [one, two] = [await make(store, 'one'), await make(store, 'two')];
    const made = [];
    for (const [index, { id }] of [one, two, one, two, one].entries()) {
      made.push(await store.write('createKey', newKey(id, `${index}`)));
    }
    const byId = <Row extends { id: number }>(rows: Row[]) => rows.toSorted((a, b) => a.id - b.id);
    expect(byId(await accounts.findMany([two.id, two.id + 9, one.id]))).toEqual([one, two]);
    expect(await accounts.findMany([])).toEqual([]);
    const [first, second, third] = made.map(({ id }) => id) as [number, number, number];
    expect(byId(await keys.findMany([third, first, third + 99]))).toEqual([made[0], made[2]] as never);
    expect(await keys.findMany([])).toEqual([]);
    expect((await keys.list(0, 2)).map(({ id }) => id)).toEqual([first, second]);
    expect(await keys.list(second, many)).toEqual(made.slice(2));
    expect(await keys.list(0, 2, { accountId: one.id })).toEqual([made[0], made[2]] as never);
    expect(await keys.list(third, many, { accountId: one.id })).toEqual([made[4]] as never);
    expect(await keys.list(0, many, { accountId: two.id + 9 })).toEqual([]);
  });
}

export function closingConforms(check: StoreTest): void {
  check(
    'the keys of a closed account identify no caller until the account is reopened',
    async ({ store, beside }) => {
      const [closed, open] = [await make(store, 'closed'), await make(store, 'open')];
      await store.write('createKey', newKey(closed.id, 'closed'));
      await store.write('createKey', newKey(open.id, 'open'));
      const other = await beside();
      const close = () => other.write('closeAccount', { id: closed.id, closedAt });
      expect(await raisedBy(store, close)).toEqual(['callers']);
      expect(await store.keys.findCaller('closed')).toBeUndefined();
      expect(await store.keys.findCaller('open')).toBeDefined();
      expect(await store.accounts.find(closed.id)).toEqual({ ...closed, closedAt });
      const reopen = () => other.write('reopenAccount', { id: closed.id, closedAt: null });
      expect(await raisedBy(store, reopen)).toEqual(['callers']);
      expect(await store.keys.findCaller('closed')).toBeDefined();
      expect(await store.accounts.find(closed.id)).toEqual(closed);
    },
  );
}
