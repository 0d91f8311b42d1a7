/** Instances that change the catalog of the same PostgreSQL store. */

import type { Pet } from '../../src/contract/representations.ts';
import { units } from '../../src/operations/units.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import type { testServers } from '../support/servers.ts';
import { openDatabase, openSession, openWriters } from './postgres-kit.ts';
import { newPet } from './samples.ts';

type TestServers = NonNullable<Awaited<ReturnType<typeof testServers>>>;

export const now = 1_800_000_000_000;

/** Input of `updatePet` that renames an animal. */
export const rename = (petId: bigint, name: string) => ({
  params: { petId },
  body: { name },
  preconditions: {},
  now,
});

/** Opens instances with the service's units of work and those of a test. */
export async function openCatalogue<All extends Units>(
  makeSchema: TestServers['makeSchema'],
  registry: All,
  instances = 2,
  announced?: (index: number) => Promise<void>,
) {
  await using made = new AsyncDisposableStack();
  const schema = made.use(await makeSchema());
  const store = made.use(
    await openWriters(schema.url, { ...units, ...registry }, instances, undefined, announced),
  );
  const session = made.use(openSession(schema.url));
  const database = made.use(openDatabase(schema.url));
  const [first, second = first] = store.writers;
  if (first === undefined || second === undefined) throw new Error('There is no writer.');
  const add = async (...names: string[]) => {
    const added = names.map((name) => first.write('createPet', { body: newPet(name), now } as never));
    return ((await Promise.all(added)) as Pet[]).map(({ id }) => id);
  };
  const reads = createReads({ run: (statement) => database.read(statement) });
  const kept = made.move();
  return {
    first,
    second,
    session,
    reads,
    add,
    announcements: store.announcements,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A unit of work whose first run pauses between its reads and its changes. */
export function pausing<Input>(
  run: (by: Transaction, input: Input, pause: () => Promise<void>) => Promise<unknown>,
) {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let runs = 0;
  const pause = () => {
    runs++;
    reached.resolve();
    return goOn.promise;
  };
  const unit = {
    writes: ['pets', 'orders', 'categories'],
    run: (by: Transaction, input: Input) => run(by, input, pause),
  } as const;
  return { unit, reached: reached.promise, goOn: goOn.resolve, runs: () => runs };
}
