/** Concurrent requests of many kinds do not cause a deadlock, even with few connections to PostgreSQL. */
import { expect, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';
import { ownPgBouncer, pgBouncerProgram, throughPgBouncer } from '../support/pgbouncer.ts';

/** More clients than connections, each with a request in flight. */
const clients = 24;
const roundsPerClient = 4;

await describeWithServers('with few PostgreSQL connections', ({ makeDatabase, makePrefix, redisUrl }) => {
  for (const [name, poolSize, isBehind] of [
    ['1', 1],
    ['2', 2],
    ['4', 4],
    ['2, through PgBouncer with one session', 2, true],
  ] as const) {
    test.skipIf(isBehind === true && pgBouncerProgram() === undefined)(
      `every request of a mixed load succeeds: pool size ${name}`,
      async () => {
        await using database = await makeDatabase();
        await using bouncer = isBehind
          ? await ownPgBouncer(database.url, { settings: { default_pool_size: 1 } })
          : undefined;
        await using app = await startTestApp({
          DATABASE_URL: bouncer === undefined ? database.url : throughPgBouncer(bouncer, database.url),
          REDIS_URL: redisUrl,
          REDIS_PREFIX: makePrefix(),
          POSTGRES_POOL_SIZE: String(poolSize),
          // These timeouts are so long that only a deadlock exceeds them.
          ...patientSettings,
        });
        const statuses: number[] = [];
        const buyers = await Promise.all(Array.from({ length: clients }, () => buyerOf(app)));
        const sold = await Promise.all(
          buyers.map((buyer, client) => mixedLoad(app, client, buyer, statuses)),
        );
        expect(statuses.filter((status) => status >= 300)).toEqual([]);
        const { available, sold: counted } = (await app.call('GET', '/inventory')).json as Record<
          string,
          bigint
        >;
        const orders = sold.reduce((total, each) => total + each, 0);
        expect([Number(available), Number(counted)]).toEqual([clients * roundsPerClient, orders]);
        const facts = await app.operator.storage.facts();
        expect(Number(facts.poolConnections)).toBeLessThanOrEqual(poolSize);
      },
    );
  }
});

/**
 * Sends the requests of a client (reads, catalog changes and transactions) and, for the first client, of an operator.
 * Returns the number of orders.
 */
async function mixedLoad(app: TestApp, client: number, buyer: Buyer, statuses: number[]): Promise<number> {
  const send = async (...request: Parameters<Buyer['call']>) => {
    const answer = await buyer.call(...request);
    statuses.push(answer.status);
    return answer;
  };
  for (let round = 0; round < roundsPerClient; round++) {
    const pets = await Promise.all([buyer.addPet('available'), buyer.addPet('available')]);
    const [petId, bought] = pets;
    const order = { body: JSON.stringify({ petId: Number(bought) }) };
    const headers = { 'Idempotency-Key': `${client}-${round}` };
    const [placed] = await Promise.all([
      send('POST', '/orders', { ...order, headers }),
      send('GET', `/pets?id=${petId}`),
      send('GET', '/pets?status=available&limit=20'),
      send('GET', '/inventory'),
      send('PUT', `/categories/${client}`, { body: JSON.stringify({ name: `category ${round}` }) }),
      send('PATCH', `/pets/${petId}`, { body: JSON.stringify({ name: `renamed ${round}` }) }),
      send('GET', '/events?limit=10'),
      // Only one client creates keys: requests fail if callers change during all four attempts to read them.
      ...(client === 0 ? [app.operator.keys.create(buyer.account.id, `key ${round}`)] : []),
      app.operator.storage.accounts.list(undefined, 20),
    ]);
    const { id } = placed.json as { id: bigint };
    await send('POST', `/orders/${id}/approve`);
    await Promise.all([
      send('POST', `/orders/${id}/deliver`),
      send('POST', '/pets', { body: newPet('passing') }).then((added) =>
        send('DELETE', `/pets/${(added.json as { id: bigint }).id}`),
      ),
    ]);
  }
  return roundsPerClient;
}
