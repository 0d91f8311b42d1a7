import { expect, setDefaultTimeout, test } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { type AuditedStore, auditRounds, clusterStore, embeddedStore } from './audit-rounds.ts';

setDefaultTimeout(testTimeoutMs);

const stores: [string, () => Promise<AuditedStore | undefined>][] = [
  ['the embedded store', embeddedStore],
  ['PostgreSQL and Redis', clusterStore],
];

test.each(stores)(
  'kill -9 while operators work: each change has its entry in the log, and each entry its change (%s)',
  async (_name, open) => {
    await using store = await open();
    if (store === undefined) return;
    const { acknowledged, entries } = await auditRounds(store, { rounds: 2, seed: 20_270_115 });
    expect(acknowledged).toBeGreaterThan(0);
    expect(entries).toBeGreaterThan(acknowledged);
  },
);
