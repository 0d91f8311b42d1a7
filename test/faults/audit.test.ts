import { expect, test } from 'bun:test';
import {
  type AuditedStore,
  acknowledgedAtKill,
  auditRounds,
  clusterStore,
  embeddedStore,
} from './audit-rounds.ts';

const stores: [string, () => Promise<AuditedStore | undefined>][] = [
  ['the embedded store', embeddedStore],
  ['PostgreSQL and Redis', clusterStore],
];

test.each(stores)(
  'kill -9 while operators work leaves an audit entry for each change and a change for each entry (%s)',
  async (_name, open) => {
    await using store = await open();
    if (store === undefined) return;
    const { acknowledged, entries } = await auditRounds(store, { rounds: 2, seed: 20_270_115 });
    expect(acknowledged).toBeGreaterThanOrEqual(2 * acknowledgedAtKill.least);
    // Those made before the kills: accounts and keys to ban.
    expect(entries).toBeGreaterThan(acknowledged);
  },
);
