import { test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { defaultBanRules, type LimitRules } from '../../src/domain/limit.ts';
import { type Store, units } from '../../src/operations/units.ts';
import { openStorage, type StorageOptions } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Units } from '../../src/storage/transaction.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';

/** Somewhere a store can be: empty at first, opened by the service and beside it by the command line. */
export interface Place extends AsyncDisposable {
  open(serving: boolean): Promise<Store>;
  /** Opens it beside the service, with units of work of a test's own that are run here. */
  openWith<All extends Units>(units: All): Promise<Storage<All>>;
}

export type MakePlace = (clock: Clock, rules: LimitRules) => Promise<Place>;

/** Rules that a test reaches the end of. */
export const strictRules: LimitRules = {
  ban: { ...defaultBanRules, strikes: 3 },
  failuresPerMinute: 5,
};

/** Stores that write in the reading thread, because a separate thread takes longer to start than most tests. */
export const sqlitePlace: MakePlace = (clock, rules) => sqlitePlaceWith(clock, rules, openStorage);

/** Places whose store is written in another thread, as a service does it. */
export const threadedPlace: MakePlace = (clock, rules) => sqlitePlaceWith(clock, rules, openStore);

async function sqlitePlaceWith(
  clock: Clock,
  rules: LimitRules,
  open: (options: StorageOptions<typeof units>) => Promise<Store>,
): Promise<Place> {
  const folder = await temporaryFolder();
  const options = { url: `sqlite:${join(folder.path, 'store.db')}`, clock, rules };
  return {
    open: (serving) => open({ ...options, serving, units }),
    openWith: (own) => openStorage({ ...options, serving: false, units: own }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Resources of a conformance test. */
export interface Bench {
  /** The store as the service has it. */
  readonly store: Store;
  readonly clock: FakeClock;
  /** The store as the command line opens it, beside the service. */
  beside(): Promise<Store>;
  /** The same with units of work of a test's own. */
  besideWith<All extends Units>(units: All): Promise<Storage<All>>;
  /** Closes the service's store and opens it again. */
  restart(): Promise<Store>;
}

export type StoreTest = (title: string, run: (bench: Bench) => Promise<void>) => void;

/** Tests with a separate empty store each. */
export function storeTests(makePlace: MakePlace): StoreTest {
  return (title, run) =>
    test(title, async () => {
      const clock = new FakeClock();
      await using opened = new AsyncDisposableStack();
      const place = opened.use(await makePlace(clock, strictRules));
      let store = await place.open(true);
      opened.defer(() => store[Symbol.asyncDispose]());
      const restart = async () => {
        await store[Symbol.asyncDispose]();
        store = await place.open(true);
        return store;
      };
      const beside = async () => opened.use(await place.open(false));
      const besideWith = async <All extends Units>(units: All) => opened.use(await place.openWith(units));
      await run({ store, clock, beside, besideWith, restart });
    });
}

/** Waits for the next event-loop tick, because stores may check for changes once per tick. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
