import { expect } from 'bun:test';
import type { Store } from '../../src/operations/units.ts';
import type { Instance } from '../../src/tables/usage.ts';
import { newReport } from '../support/usage.ts';
import type { StoreTest } from './place.ts';

const day = 20_000 * 24 * 3_600_000;

const instance: Instance = { name: 'one', version: '2.0.0', startedAt: day, seenAt: day };

async function report(store: Store, given: { readonly instance?: Instance }): Promise<void> {
  const none = { minutes: [], latencies: [], keys: [] };
  await store.write('recordUsage', { ...none, number: newReport(day), instance, ...given });
}

export function instancesConform(check: StoreTest): void {
  check('only the latest report of each instance name is kept', async ({ store, beside }) => {
    await report(store, {});
    const started = { ...instance, version: '2.0.1', startedAt: day + 1, seenAt: day + 2 };
    await report(await beside(), { instance: started });
    const other = { ...instance, name: 'Älteste' };
    await report(store, { instance: other });
    const found = await store.instances.list();
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining([started, other]));
  });

  check('a store reports its engine, its format and the number of commits', async ({ store }) => {
    await report(store, {});
    const facts = await store.facts();
    expect(facts.format).toBeGreaterThan(0);
    expect(facts.engine).toMatch(/^(SQLite|PostgreSQL)/);
    expect(facts.groups).toBeGreaterThan(0);
    expect(facts.units).toBeGreaterThan(0);
    expect(facts.seconds).toBeNumber();
    expect(facts.waiting).toBe(0);
    for (const fact of Object.values(facts)) {
      expect(fact === null || ['string', 'number', 'boolean'].includes(typeof fact)).toBe(true);
    }
  });
}
