/** Units of work on PostgreSQL: effects of locks, lost connections, failing commits and timeouts on a group. */
import { expect, test } from 'bun:test';
import { ApiError } from '../../src/contract/api-error.ts';
import type { NewPet, PetStatus } from '../../src/contract/pets.ts';
import type { Awaitable } from '../../src/domain/awaitable.ts';
import type { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { lockers, openDatabase, openSession, outcomeOf, untilDone } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';

const account = {
  name: 'shop',
  plan: 'enterprise',
  quota: { perMinute: 1, perDay: 1 },
  createdAt: 1_700_000_000_000,
} as const;

/** Units of work that write to tables outside the catalog run in a transaction. */
const writes = ['pets', 'callers'] as const;

/** Units of work that all tests share. */
const common = {
  addPet: { writes, all: (by: Transaction, given: readonly NewPet[]) => by.pets.add(given) },
  addAlone: { writes, run: (by: Transaction, pet: NewPet) => by.pets.add([pet]) },
  refuse: { writes: [], run: () => Promise.reject(new ApiError('pet_not_found')) },
} as const satisfies Units;

/** Creates a unit of work that declares no writes, so it locks rows only when it changes them. */
const unlocked = <Input, Outcome>(run: (transaction: Transaction, input: Input) => Awaitable<Outcome>) =>
  ({ writes: [], run }) as const;

await describeWithServers('units of work on PostgreSQL', ({ makeSchema }) => {
  /** A store with a writer for each registry, and an additional session. */
  async function opened(registries: readonly Units[], statementTimeoutMs = 20_000) {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await makeSchema());
    const proxy = made.use(await tcpProxy(schema.url));
    const other = made.use(openSession(schema.url));
    const announcements: [string, number][] = [];
    const databases: PostgresDatabase[] = [];
    const writers: ((name: string, input?: unknown) => Promise<unknown>)[] = [];
    for (const units of registries) {
      const database = made.use(openDatabase(proxy.url, statementTimeoutMs));
      await database.migrate();
      const announce = async (resource: string, version: number) =>
        void announcements.push([resource, version]);
      const writer = new PostgresWriter(database, { ...common, ...units }, announce, { secret: 'c2VjcmV0' });
      made.defer(() => writer.idle());
      databases.push(database);
      writers.push((name, input) => writer.write(name, input));
    }
    const names = async () => {
      const rows: { name: string }[] = await other`SELECT name FROM pets ORDER BY id`;
      return rows.map(({ name }) => name);
    };
    const versionOf = async (counter: string) => {
      const [{ version }] = await other`SELECT version FROM counters WHERE name = ${counter}`;
      return Number(version);
    };
    const kept = made.move();
    return {
      write: writers[0] ?? (() => Promise.reject(new Error('There is no writer.'))),
      writers,
      database: databases[0] as PostgresDatabase,
      proxy,
      other,
      announcements,
      names,
      versionOf,
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  test('if two units lock rows in opposite orders, the unit that the server aborts runs again', async () => {
    const [one, two, over] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    let runs = 0;
    // The repeated unit waits for the other unit, to avoid a second conflict.
    const begin = () => (++runs > 2 ? over?.promise : undefined);
    const petsFirst = async ({ pets, accounts }: Transaction) => {
      await begin();
      await pets.add([newPet('one')]);
      one?.resolve();
      await two?.promise;
      await accounts.add(account);
    };
    const accountsFirst = async ({ pets, accounts }: Transaction) => {
      await begin();
      await accounts.add(account);
      two?.resolve();
      await one?.promise;
      await pets.add([newPet('two')]);
    };
    const firstUnits = {
      petsFirst: unlocked(petsFirst),
      add: unlocked(({ pets }) => pets.add([newPet('neighbour')])),
    };
    await using store = await opened([firstUnits, { accountsFirst: unlocked(accountsFirst) }]);
    const [first, second] = store.writers;
    const started = [
      outcomeOf(Promise.all([first?.('petsFirst'), first?.('add')])),
      outcomeOf(second?.('accountsFirst') ?? Promise.reject()),
    ];
    await Promise.race(started);
    over?.resolve();
    expect(await Promise.all(started)).toEqual(['done', 'done']);
    expect(runs).toBe(3);
    expect((await store.names()).toSorted()).toEqual(['neighbour', 'one', 'two']);
    const [{ accounts }] = await store.other`SELECT count(*)::integer AS accounts FROM accounts`;
    expect(accounts).toBe(2);
  });

  test('a unit that adds a row with a numeric id runs in a transaction, whichever resources it declares', async () => {
    const open = async ({ accounts, pets }: Transaction) => {
      await pets.add([newPet('first')]);
      return accounts.add(account);
    };
    await using store = await opened([{ open: { writes: ['pets'], run: open } }]);
    expect(await store.write('open')).toMatchObject({ id: 1, name: 'shop' });
    expect(await store.names()).toEqual(['first']);
  });

  test('a statement or transaction that the server aborts because of a conflict is retried once', async () => {
    const addOrRefuse = async ({ pets }: Transaction, pet: NewPet) => {
      await Promise.resolve(pets.add([pet])).catch(() => {
        throw new ApiError('pet_not_found');
      });
    };
    for (const name of ['addPet', 'addAlone', 'addOrRefuse']) {
      await using store = await opened([{ addOrRefuse: { writes, run: addOrRefuse } }]);
      await store.other.unsafe(`
        CREATE SEQUENCE tries;
        CREATE FUNCTION overtaken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('tries') IN (1, 3, 4) THEN RAISE EXCEPTION 'overtaken' USING ERRCODE = '40001'; END IF;
          RETURN NULL;
        END $$;
        CREATE TRIGGER overtaken AFTER INSERT ON pets FOR EACH STATEMENT EXECUTE FUNCTION overtaken()`);
      expect(await outcomeOf(store.write(name, newPet('second try')))).toBe('done');
      expect(await outcomeOf(store.write(name, newPet('third and fourth')))).toBe('unavailable');
      expect(await outcomeOf(store.write(name, newPet('fifth')))).toBe('done');
      expect(await store.names()).toEqual(['second try', 'fifth']);
    }
  });

  test('units that conflict twice in one transaction run again, and announce only what is committed', async () => {
    await using store = await opened([{}]);
    await store.other.unsafe(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION overtaken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') IN (2, 4) THEN RAISE EXCEPTION 'overtaken' USING ERRCODE = '40001'; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER overtaken AFTER INSERT ON pets FOR EACH STATEMENT EXECUTE FUNCTION overtaken()`);
    const group = ['one', 'two'].map((name) => store.write('addAlone', newPet(name)));
    expect(await Promise.all(group.map(outcomeOf))).toEqual(['done', 'done']);
    expect(await store.names()).toEqual(['one', 'two']);
    expect(store.announcements).toEqual([['pets', await store.versionOf('pets')]]);
  });

  test('a group that is not finished by its deadline is rolled back and releases its locks and connection', async () => {
    const over = Promise.withResolvers<unknown>();
    // Never idle, because the server would end an idle transaction.
    const never = async ({ pets }: Transaction) => {
      const goOn = async (): Promise<void> => {
        for (;;) await pets.add([newPet('never')]);
      };
      over.resolve(await rejectionOf(goOn()));
      await pets.add([newPet('late')]);
    };
    await using store = await opened([{ never: { writes, run: never } }], 2_000);
    const group = [store.write('addPet', newPet('one')), store.write('never')];
    expect(await Promise.all(group.map(outcomeOf))).toEqual(['unavailable', 'unavailable']);
    await untilDone(() => store.write('addAlone', newPet('two')));
    // A statement sent after the rollback has no effect.
    expect(await over.promise).toBeInstanceOf(Error);
    expect(await store.names()).toEqual(['two']);
    expect(store.database.trouble).toBeUndefined();
  });

  test('a group that waits for a lock until its timeout is rejected, and changes nothing', async () => {
    const openShop = async ({ pets, accounts }: Transaction) => {
      await accounts.add(account);
      await pets.add([newPet('mascot')]);
    };
    await using store = await opened([{ openShop: unlocked(openShop) }], 2_000);
    // Disables the server's timeout.
    await store.other.unsafe(`
      CREATE FUNCTION wait_for_ever() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('statement_timeout', '0', true);
        RETURN NULL;
      END $$;
      CREATE TRIGGER wait_for_ever AFTER INSERT ON accounts EXECUTE FUNCTION wait_for_ever()`);
    await store.other`BEGIN`;
    await store.other`SELECT * FROM counters WHERE name = 'pets' FOR UPDATE`;
    const group = [store.write('openShop'), store.write('addPet', newPet('one'))];
    expect(await Promise.all(group.map(outcomeOf))).toEqual(['unavailable', 'unavailable']);
    await store.other`COMMIT`;
    expect(await store.names()).toEqual([]);
    expect(store.announcements).toEqual([]);
  });

  test('a unit that rejects its request without a change does not wait for locks', async () => {
    await using store = await opened([{}]);
    await store.other`BEGIN`;
    await store.other`SELECT * FROM counters FOR UPDATE`;
    expect(await rejectionOf(store.write('refuse'))).toBeInstanceOf(ApiError);
    await store.other`COMMIT`;
  });

  test('a group whose connection is lost before the commit changes nothing, even if its units catch the error', async () => {
    const cutOff = async ({ pets }: Transaction) => {
      await pets.add([newPet('cut off')]);
      for (const pid of await lockers(store.other)) await store.other`SELECT pg_terminate_backend(${pid})`;
      await Promise.resolve(pets.add([newPet('behind')])).catch(() => {
        throw new ApiError('pet_not_found');
      });
    };
    const refuse = () => Promise.reject(new ApiError('pet_not_found'));
    await using store = await opened([
      { cutOff: { writes, run: cutOff }, refuseBehind: { writes, run: refuse } },
    ]);
    const group = [store.write('addPet', newPet('one')), store.write('cutOff'), store.write('refuseBehind')];
    expect(await Promise.all(group.map(outcomeOf))).toEqual(['unavailable', 'unavailable', 'unavailable']);
    await untilDone(() => store.write('addAlone', newPet('two')));
    expect(await store.names()).toEqual(['two']);
    expect(store.announcements.length).toBe(1);
  });

  test('if a commit gets no response, its outcome is reported as uncertain and every instance reads the data again', async () => {
    const answerLost = async ({ pets, accounts, keys }: Transaction, name: string) => {
      await pets.add([newPet(name)]);
      const { id } = await accounts.add(account);
      const shown = { name: 'till', lastFour: 'wxyz', scopes: [], createdAt: 1, expiresAt: null };
      await keys.add({ accountId: id, fingerprint: name, ...shown });
      store.proxy.hold('answers');
      void store.proxy.answerHeld().then(() => store.proxy.drop());
    };
    await using store = await opened([{ answerLost: { writes: ['callers', 'pets'], run: answerLost } }]);
    // Sent alone, so that the next message is the commit.
    expect(await outcomeOf(store.write('answerLost', 'done'))).toBe('uncertain');
    expect(store.announcements.toSorted()).toEqual([
      ['callers', 0],
      ['pets', 0],
    ]);
    expect(await store.names()).toEqual(['done']);
  });

  test('a failed commit rejects the whole group and changes nothing', async () => {
    await using store = await opened([{}]);
    await store.other.unsafe(`
      CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full';
      END $$;
      CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON pets DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION full_disk()`);
    const group = [store.write('addPet', newPet('one')), store.write('addAlone', newPet('two'))];
    expect(await Promise.all(group.map(outcomeOf))).toEqual(['unavailable', 'unavailable']);
    expect(await store.names()).toEqual([]);
    expect(store.announcements).toEqual([]);
  });

  test('only versions of committed changes are announced', async () => {
    const undone = async ({ pets }: Transaction) => {
      await pets.add([newPet('undone')]);
      throw new ApiError('pet_not_found');
    };
    await using store = await opened([{ undone: { writes, run: undone } }]);
    expect(await rejectionOf(store.write('undone'))).toBeInstanceOf(ApiError);
    expect(await rejectionOf(Promise.all([store.write('undone'), store.write('refuse')]))).toBeInstanceOf(
      ApiError,
    );
    expect(store.announcements).toEqual([]);
    await Promise.allSettled([
      store.write('addAlone', newPet('one')),
      store.write('undone'),
      store.write('addAlone', newPet('two')),
    ]);
    expect(store.announcements).toEqual([['pets', await store.versionOf('pets')]]);
  });

  test('a unit that continues after the server rejects its statement fails with that error, without affecting other units', async () => {
    const goOn = async ({ pets }: Transaction) => {
      await Promise.resolve(pets.add([newPet('lost', 'lost' as PetStatus)])).catch(() => undefined);
      return 'as if nothing had happened';
    };
    await using store = await opened([{ goOn: { writes, run: goOn } }]);
    expect(`${await rejectionOf(store.write('goOn'))}`).toContain('pets_status_check');
    const [one, failed] = await Promise.allSettled([
      store.write('addPet', newPet('one')),
      store.write('goOn'),
    ]);
    expect(one.status).toBe('fulfilled');
    expect(failed).toMatchObject({ status: 'rejected', reason: { constraint: 'pets_status_check' } });
    expect(await store.names()).toEqual(['one']);
  });

  test('a batch that calls its transaction twice is rejected', async () => {
    const twice = {
      writes: ['pets'],
      all: async ({ pets }: Transaction) => [
        await pets.add([newPet('one')]),
        await pets.add([newPet('two')]),
      ],
    } as const;
    await using store = await opened([{ twice }]);
    expect(`${await rejectionOf(store.write('twice'))}`).toContain('must call its transaction exactly once');
  });
});
