/** Sessions that are started while their operator changes, on PostgreSQL. */
import { expect, test } from 'bun:test';
import { openCatalogue } from '../storage/catalogue-kit.ts';
import { lockAwaited } from '../storage/postgres-kit.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';

const createdAt = 1_700_000_000_000;

await describeWithServers('a session on PostgreSQL', ({ makeSchema }) => {
  test("is not started with a token that is replaced at the same time, which ends the operator's sessions", async () => {
    await using store = await openCatalogue(makeSchema, {}, 1);
    const operator = { name: 'anna', role: 'admin', fingerprint: 'old', lastFour: 'old1', createdAt };
    const { id } = (await store.first.write('createOperator', operator as never)) as { id: number };
    const times = { usedAt: createdAt, expiresAt: createdAt + 1_000 };
    const session = { fingerprint: 'one', operatorId: id, actor: 'operator:anna', role: 'admin', ...times };
    await store.session`BEGIN`;
    await store.session`UPDATE operators SET fingerprint = 'new', last_four = 'new1' WHERE id = ${id}`;
    const rejection = rejectionOf(
      store.first.write('addSession', { session, idleMs: 1_000, lastFour: 'old1' } as never),
    );
    await lockAwaited(store.session);
    await store.session`DELETE FROM sessions WHERE operator_id = ${id}`;
    await store.session`COMMIT`;
    expect(await rejection).toMatchObject({ code: 'sign_in_failed' });
    expect([...(await store.session`SELECT fingerprint FROM sessions`)]).toEqual([]);
  });
});
