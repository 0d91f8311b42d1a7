import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { defaultBanRules } from '../../src/domain/limit.ts';
import { AdmissionOperations } from '../../src/operations/admission.ts';
import { KeyOperations } from '../../src/operations/keys.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { LimitStore } from '../../src/storage/storage.ts';
import { enterprise } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';

const quota = { perMinute: 100, perDay: 100 };

async function admittedAfter(changes: number) {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const url = `sqlite:${join(folder.path, 'store.db')}`;
  const rules = { ban: defaultBanRules, failuresPerMinute: 600 };
  await using storage = await openStorage({ url, clock, rules, serving: true });
  const { accounts, keys, limits } = storage;
  const { id } = await enterprise(accounts, quota);
  const { key } = await new KeyOperations(keys, accounts, limits, clock, randomBytes).create(id, 'till');
  let left = changes;
  /** The real limits, between whose looks somebody changes callers. */
  const restless: LimitStore = {
    versions: () => limits.versions(),
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    peek: (address) => limits.peek(address),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
    take: async (caller, version) => {
      if (left-- > 0) await accounts.setPlan(id, 'enterprise', { ...quota, perMinute: 50 + left });
      return limits.take(caller, version);
    },
  };
  return await new AdmissionOperations(keys, restless, clock).admit({ kind: 'key', key }, () => '192.0.2.1');
}

test('a caller that was changed meanwhile is read again, and judged as it is now', async () => {
  const admission = await admittedAfter(4);
  expect(admission.caller?.quota.perMinute).toBe(50);
});

test('while callers keep changing a request is asked to come again, not told that its key is invalid', async () => {
  await expect(admittedAfter(5)).rejects.toMatchObject({ code: 'service_unavailable' });
});
