import { test } from 'bun:test';
import { join } from 'node:path';
import type { LimitedStore } from '../../src/app/limited-store.ts';
import { openStorage, openStore, type StorageOptions } from '../../src/app/store.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { defaultBanRules, type LimitRules } from '../../src/limits/limit.ts';
import { type Store, units } from '../../src/operations/units.ts';
import type { Units } from '../../src/storage/transaction.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';

/**
 * An initially empty location for a store. The service opens the store, and the command line may open it at the same
 * time.
 */
export interface Place extends AsyncDisposable {
  open(isServing: boolean): Promise<Store>;
  /**
   * Opens the store a second time, with a test's units of work, which run in this process. PostgreSQL cancels statements
   * after `timeoutMs`.
   */
  openWith<All extends Units>(units: All, timeoutMs?: number): Promise<LimitedStore<All>>;
}

export type MakePlace = (clock: Clock, rules: LimitRules) => Promise<Place>;

/** Rules with limits low enough for a test to reach. */
export const strictRules: LimitRules = {
  ban: { ...defaultBanRules, strikes: 3 },
  failuresPerMinute: 5,
};

/** Stores that read and write in the same thread, because starting another thread takes longer than most tests. */
export const sqlitePlace: MakePlace = (clock, rules) => sqlitePlaceWith(clock, rules, openStorage);

/** Locations whose store is written by another thread, as in the service. */
export const threadedPlace: MakePlace = (clock, rules) => sqlitePlaceWith(clock, rules, openStore);

async function sqlitePlaceWith(
  clock: Clock,
  rules: LimitRules,
  open: (options: StorageOptions<typeof units>) => Promise<Store>,
): Promise<Place> {
  const folder = await temporaryFolder();
  const options = { url: `sqlite:${join(folder.path, 'store.db')}`, clock, rules };
  return {
    open: (isServing) => open({ ...options, isServing, units }),
    openWith: (own) => openStorage({ ...options, isServing: false, units: own }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Resources of a conformance test. */
export interface Bench {
  /** The store of the service. */
  readonly store: Store;
  readonly clock: FakeClock;
  /** Opens the store as the command line does, while the service has it open. */
  beside(): Promise<Store>;
  /** Like `beside`, with a test's units of work. */
  besideWith<All extends Units>(units: All, timeoutMs?: number): Promise<LimitedStore<All>>;
  /** Closes the service's store and opens it again. */
  restart(): Promise<Store>;
}

export type StoreTest = (title: string, run: (bench: Bench) => Promise<void>) => void;

/** Declares tests, each with a separate empty store. */
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
      const besideWith = async <All extends Units>(units: All, timeoutMs?: number) =>
        opened.use(await place.openWith(units, timeoutMs));
      await run({ store, clock, beside, besideWith, restart });
    });
}

/** Waits for the next event-loop tick, because stores may check for changes once per tick. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
