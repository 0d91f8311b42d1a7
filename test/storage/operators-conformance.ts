import { expect } from 'bun:test';
import type { NewOperator, Session } from '../../src/tables/operators.ts';
import type { StoreTest } from './place.ts';

const createdAt = 1_700_000_000_000;

function newOperator(name: string, fingerprint = name): NewOperator {
  return { name, role: 'admin', fingerprint, lastFour: 'wxyz', createdAt };
}

function newSession(fingerprint: string, given: Partial<Session> = {}): Session {
  return {
    fingerprint,
    operatorId: undefined,
    actor: 'console:root',
    role: 'viewer',
    usedAt: createdAt,
    expiresAt: createdAt + 1_000,
    ...given,
  };
}

/** Additional input for creating a session. */
const added = { idleMs: 500, lastFour: 'wxyz' };

export function operatorsConform(check: StoreTest): void {
  check(
    'names of active operators are unique, even for concurrent requests, and can be reused after a revocation',
    async (bench) => {
      const { store, beside } = bench;
      const other = await beside();
      const asked = [store, other, store].map(({ write }, index) =>
        write('createOperator', newOperator('anna', `${index}`)),
      );
      const settled = await Promise.allSettled(asked);
      const [first, ...more] = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(more).toEqual([]);
      for (const one of settled) if (one.status === 'rejected') expect(one.reason.code).toBe('name_taken');
      expect(await store.write('createOperator', newOperator('Anna'))).toBeDefined();
      await store.write('revokeOperator', { id: first?.id ?? 0, at: createdAt });
      const next = await store.write('createOperator', newOperator('anna', 'next'));
      expect((await store.operators.list()).filter(({ name }) => name === 'anna')).toEqual([
        { ...(first as typeof next), revokedAt: createdAt },
        next,
      ]);
    },
  );
}

export function sessionsConform(check: StoreTest): void {
  check(
    'an operator has at most 100 sessions, and another sign-in ends the least recently used one',
    async ({ store }) => {
      const { id: operatorId } = await store.write('createOperator', newOperator('anna'));
      const other = await store.write('createOperator', newOperator('ben'));
      const addAt = (operator: number, number: number) => {
        const session = newSession(`${number}`, { operatorId: operator, usedAt: createdAt + number });
        return store.write('addSession', { session, ...added });
      };
      await addAt(other.id, 0);
      for (let number = 1; number <= 102; number++) await addAt(operatorId, number);
      const left = (await store.sessions.list()).map(({ usedAt }) => usedAt - createdAt);
      expect(left.toSorted((a, b) => a - b)).toEqual([0, ...Array.from({ length: 100 }, (_, at) => at + 3)]);
    },
  );

  check('a session is returned unchanged until it is removed', async ({ store, beside }) => {
    const { id } = await store.write('createOperator', newOperator('anna'));
    const whole = newSession('one', { operatorId: id, actor: 'operator:anna', role: 'admin' });
    const bare = newSession('two');
    for (const session of [whole, bare]) await store.write('addSession', { session, ...added });
    const other = await beside();
    expect(await other.sessions.find('one')).toEqual(whole);
    expect(await other.sessions.find('two')).toEqual(bare);
    expect(await other.sessions.find('ONE')).toBeUndefined();
    await other.write('removeSession', 'one');
    await other.write('removeSession', 'three');
    expect(await store.sessions.find('one')).toBeUndefined();
    expect(await store.sessions.find('two')).toEqual(bare);
  });

  check('the time of the last use is recorded, and an earlier use does not replace it', async ({ store }) => {
    await store.write('addSession', { session: newSession('one'), ...added });
    await store.write('useSession', { fingerprint: 'one', at: createdAt + 200 });
    await store.write('useSession', { fingerprint: 'one', at: createdAt + 100 });
    await store.write('useSession', { fingerprint: 'two', at: createdAt });
    expect((await store.sessions.find('one'))?.usedAt).toBe(createdAt + 200);
    expect(await store.sessions.find('two')).toBeUndefined();
  });

  check(
    'creating a session removes sessions that have expired or have been idle too long',
    async ({ store }) => {
      const sessions = [
        newSession('expired', { expiresAt: createdAt + 400 }),
        newSession('unused', { usedAt: createdAt - 101 }),
        newSession('kept', { usedAt: createdAt - 100, expiresAt: createdAt + 401 }),
        newSession('new', { usedAt: createdAt + 400 }),
      ];
      for (const session of sessions) await store.write('addSession', { session, ...added });
      const found = await Promise.all(sessions.map(({ fingerprint }) => store.sessions.find(fingerprint)));
      expect(found).toEqual([undefined, undefined, sessions[2], sessions[3]]);
    },
  );
}
