import { expect } from 'bun:test';
import type { Store } from '../../src/operations/units.ts';
import type { AuditFilter } from '../../src/storage/admin.ts';
import type { AuditEntry, NewAuditEntry } from '../../src/tables/operators.ts';
import type { StoreTest } from './place.ts';
import { enterprise } from './samples.ts';

const start = 1_700_000_000_000;

function entry(at: number, given: Partial<NewAuditEntry> = {}): NewAuditEntry {
  return {
    at: start + at,
    actor: 'operator:anna',
    operation: 'updateAccount',
    object: 'account:1',
    before: null,
    after: null,
    ...given,
  };
}

/** Reads all entries in pages of at most `limit`. */
async function walk({ audit }: Store, limit: number, filter: AuditFilter): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  for (;;) {
    const page = await audit.list(found.at(-1)?.id, limit, filter);
    expect(page.length).toBeLessThanOrEqual(limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

function fits(found: AuditEntry, { since, until, actor, object }: AuditFilter): boolean {
  return (
    (since === undefined || found.at >= since) &&
    (until === undefined || found.at < until) &&
    (actor === undefined || found.actor === actor) &&
    (object === undefined || found.object === object)
  );
}

export function auditConforms(check: StoreTest): void {
  check('an entry is returned unchanged', async ({ store, beside }) => {
    const whole = entry(0, { before: '{"name":"Käthe"}', after: '{"name":"\\u0000 猫"}' });
    const bare = entry(1);
    await store.write('recordAudit', whole);
    await (await beside()).write('recordAudit', bare);
    const [latest, first] = await store.audit.list(undefined, 9, {});
    expect(first).toEqual({ id: first?.id ?? 0n, ...whole });
    expect(latest).toEqual({ id: latest?.id ?? 0n, ...bare });
    expect(first?.id).toBeLessThan(latest?.id ?? 0n);
  });

  check(
    'pages of any length, with any filter, contain every matching entry exactly once, newest first',
    async (bench) => {
      const { store } = bench;
      const actors = ['operator:anna', 'operator:bob', 'cli:root'];
      const objects = ['account:1', 'account:11', 'key:1'];
      // Some entries have the same time, and the clock is set back twice.
      const times = [0, 5, 5, 5, 9, 3, 3, 20, 20, 8, 30, 31];
      for (const [index, at] of times.entries()) {
        const [actor = '', object = ''] = [actors[index % 3], objects[Math.floor(index / 2) % 3]];
        await store.write('recordAudit', entry(at, { actor, object }));
      }
      const all = await store.audit.list(undefined, 99, {});
      expect(all.length).toBe(times.length);
      const sorted = all.toSorted((one, other) => other.at - one.at || Number(other.id - one.id));
      expect(all).toEqual(sorted);
      for (const actor of [undefined, ...actors, 'operator:ann']) {
        for (const object of [undefined, ...objects, 'account']) {
          for (const [since, until] of [[], [5], [5, 20], [0, 5], [6, 6]] as [number?, number?][]) {
            const filter: AuditFilter = {
              actor,
              object,
              since: since === undefined ? undefined : start + since,
              until: until === undefined ? undefined : start + until,
            };
            const expected = all.filter((one) => fits(one, filter));
            for (const limit of [1, 3, 99]) expect(await walk(store, limit, filter)).toEqual(expected);
          }
        }
      }
    },
  );

  check(
    'a page whose cursor is after the end of the time range starts with the last entry in the range',
    async ({ store }) => {
      for (const at of [1, 2, 2, 2]) await store.write('recordAudit', entry(at));
      const [latest, , , first] = await store.audit.list(undefined, 9, {});
      expect(await store.audit.list(latest?.id, 9, { until: start + 2 })).toEqual([first as AuditEntry]);
      expect(await store.audit.list(first?.id, 9, { until: start + 2 })).toEqual([]);
    },
  );

  check('a change and its entry are stored atomically', async ({ store }) => {
    const { id } = await enterprise(store, { perMinute: 1, perDay: 2 }, 'old');
    const change = { unit: 'updateAccount', actor: 'cli:root', at: start } as const;
    await store.write('audited', { ...change, input: { id, name: 'new' } });
    // Changes without effect are not recorded.
    await store.write('audited', { ...change, input: { id, name: 'new' } });
    const failing = { ...change, input: { id, name: null as unknown as string, limits: { plan: 'none' } } };
    // The log rejects entries without an actor.
    const nobody = { ...change, actor: null as unknown as string, input: { id, name: 'nobody' } };
    for (const refused of [failing, nobody]) {
      const [failed] = await Promise.allSettled([store.write('audited', refused)]);
      expect(failed?.status).toBe('rejected');
    }
    const entries = await store.audit.list(undefined, 9, {});
    expect(entries).toMatchObject([
      { actor: 'cli:root', operation: 'updateAccount', object: `account:${id}` },
    ]);
    expect(JSON.parse(entries[0]?.before ?? '')).toMatchObject({ name: 'old' });
    expect(JSON.parse(entries[0]?.after ?? '')).toMatchObject({ name: 'new' });
    expect(await store.accounts.find(id)).toMatchObject({ name: 'new', plan: 'enterprise' });
  });
}
