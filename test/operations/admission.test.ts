import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { generateKey } from '../../src/domain/key.ts';
import { defaultBanRules } from '../../src/limits/limit.ts';
import type { LimitStore } from '../../src/limits/limit-store.ts';
import { KeyOperations } from '../../src/operations/admin/keys.ts';
import { AdmissionOperations } from '../../src/operations/admission/admission.ts';
import type { KeyStore } from '../../src/storage/storage.ts';
import { clusterPlaces } from '../storage/cluster-place.ts';
import { type MakePlace, nextTurn, sqlitePlace } from '../storage/place.ts';
import { enterprise } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';

const actor = { kind: 'cli', name: 'test' } as const;
const quota = { perMinute: 100, perDay: 100 };

async function admittedAfter(changes: number) {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  const url = `sqlite:${join(folder.path, 'store.db')}`;
  const rules = { ban: defaultBanRules, failuresPerMinute: 600 };
  await using storage = await openStore({ url, clock, rules, isServing: true });
  const { keys, limits } = storage;
  const { id } = await enterprise(storage, quota);
  const { key } = await new KeyOperations({ store: storage, clock, actor }, randomBytes).create(id, 'till');
  let left = changes;
  /** Behaves like the real limit store, but changes the caller between calls. */
  const restless: LimitStore = {
    banRules: limits.banRules,
    versions: () => limits.versions(),
    knownVersions: () => limits.knownVersions(),
    refund: (caller, taken) => limits.refund(caller, taken),
    fail: (address) => limits.fail(address),
    failUnder: (address, version) => limits.failUnder(address, version),
    peek: (address) => limits.peek(address),
    standing: (caller) => limits.standing(caller),
    bans: () => limits.bans(),
    lift: (keyId) => limits.lift(keyId),
    take: async (caller, version) => {
      if (left-- > 0) {
        const changed = { ...quota, perMinute: 50 + left };
        await storage.write('updateAccount', { id, limits: { plan: 'enterprise', quota: changed } });
      }
      return limits.take(caller, version);
    },
  };
  return await new AdmissionOperations(keys, restless, clock).admit({ kind: 'key', key }, () => '192.0.2.1');
}

test("a caller's record is reloaded if it changes during admission", async () => {
  const admission = await admittedAfter(4);
  expect(admission.caller?.quota.perMinute).toBe(50);
});

test('admission fails with service_unavailable, not invalid_api_key, while callers keep changing', async () => {
  await expect(admittedAfter(5)).rejects.toMatchObject({ code: 'service_unavailable' });
});

/** The real key store, with a count of lookups. */
function counted(keys: KeyStore) {
  const asked = { lookUps: 0, readings: 0 };
  const counting: KeyStore = {
    list: (...page) => keys.list(...page),
    listNewest: (...page) => keys.listNewest(...page),
    find: (id) => keys.find(id),
    findBy: (...lookup) => keys.findBy(...lookup),
    findMany: (ids) => keys.findMany(ids),
    findCaller: (print) => {
      asked.lookUps++;
      return keys.findCaller(print);
    },
    fingerprints: (fromId, limit) => {
      asked.readings++;
      return keys.fingerprints(fromId, limit);
    },
  };
  return { asked, counting };
}

const places: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

for (const [name, makePlace] of Object.entries(places)) {
  describe(`invalid keys, on ${name}`, () => {
    async function open() {
      await using opened = new AsyncDisposableStack();
      const clock = new FakeClock();
      const rules = { ban: defaultBanRules, failuresPerMinute: 5 };
      const place = opened.use(await makePlace(clock, rules));
      const store = opened.use(await place.open(true));
      const { asked, counting } = counted(store.keys);
      const operator = opened.use(await place.open(false));
      const admin = new KeyOperations({ store: operator, clock, actor }, randomBytes);
      const { id } = await enterprise(store, quota);
      const { key } = await admin.create(id, 'till');
      const admission = new AdmissionOperations(counting, store.limits, clock);
      const admit = async (sent: string) => {
        await nextTurn();
        const admitted = await admission.admit({ kind: 'key', key: sent }, () => '192.0.2.1');
        return admitted.caller === undefined ? admitted.errorCode : 'admitted';
      };
      // The first request loads the list of keys.
      expect(await admit(key)).toBe('admitted');
      await nextTurn();
      const kept = opened.move();
      return { asked, admit, admin, accountId: id, [Symbol.asyncDispose]: () => kept.disposeAsync() };
    }

    test('that are unknown never reach the store', async () => {
      await using bench = await open();
      const { lookUps } = bench.asked;
      for (let failure = 0; failure < 5; failure++) {
        expect(await bench.admit(generateKey(randomBytes))).toBe('invalid_api_key');
      }
      for (let failure = 0; failure < 20; failure++) {
        expect(await bench.admit(generateKey(randomBytes))).toBe('too_many_failed_authentications');
      }
      expect(bench.asked).toEqual({ lookUps, readings: 1 });
    });

    test('do not block valid keys from the same address, even new ones', async () => {
      await using bench = await open();
      for (let failure = 0; failure < 6; failure++) await bench.admit(generateKey(randomBytes));
      const { key, id } = await bench.admin.create(bench.accountId, 'new');
      expect(await bench.admit(key)).toBe('admitted');
      const { key: successor } = await bench.admin.rotate(id, 0);
      expect(await bench.admit(successor)).toBe('admitted');
      expect(await bench.admit(key)).toBe('too_many_failed_authentications');
    });

    test('that were revoked are looked up only once until a caller changes', async () => {
      await using bench = await open();
      const { key, id } = await bench.admin.create(bench.accountId, 'leaked');
      await bench.admin.revoke(id);
      const { lookUps } = bench.asked;
      for (let failure = 0; failure < 5; failure++) expect(await bench.admit(key)).toBe('invalid_api_key');
      expect(bench.asked.lookUps).toBe(lookUps + 1);
      await bench.admin.create(bench.accountId, 'another');
      for (let failure = 0; failure < 5; failure++) await bench.admit(key);
      expect(bench.asked.lookUps).toBe(lookUps + 2);
    });
  });
}
