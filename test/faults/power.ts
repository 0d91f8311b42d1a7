/**
 * Simulates power loss at any system call of a recorded run. For every possible state of the disk, the store must open
 * without losing acknowledged data.
 */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { openStore } from '../../src/app/store.ts';
import { plans, type Quota } from '../../src/domain/plan.ts';
import type { Versions } from '../../src/domain/resources.ts';
import { defaultBanRules } from '../../src/limits/limit.ts';
import type { Admission } from '../../src/limits/limit-store.ts';
import type { Store } from '../../src/operations/units.ts';
import { callerWith } from '../storage/samples.ts';
import { clientOf } from '../support/client.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, limitFileIn, makeStore } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { Disk, type Loss, losses } from './disk-model.ts';
import { type Recording, record } from './recording.ts';
import { type Acknowledged, checkStored, storedAnimals } from './stored.ts';

interface PowerOptions {
  readonly states: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

interface PowerLossResult {
  /** Number of simulated power losses. */
  cuts: number;
  states: number;
  acknowledged: number;
  /** Number of stored animals that had not been acknowledged yet. */
  unacknowledged: number;
  /** Number of states in which limits could not be read and were therefore treated as exhausted. */
  strict: number;
  /** Maximum number of counted requests that were lost in any state. */
  mostUncounted: number;
}

/** Maximum number of animals sent concurrently and committed as one group. */
const largestBurst = 40;
const limitFile = basename(limitFileIn(''));
/** Number of animals that a new store's initial key can add within a minute. */
const freeAnimals = 50;

async function storeWithKey(folder: string): Promise<string> {
  await makeStore(folder);
  return issueKey(folder, 'enterprise', ample);
}

interface AnimalRecording extends Recording {
  /** Names of all animals that were sent. The store must not contain other names. */
  readonly sent: ReadonlySet<string>;
  /** Quota of the account that added the animals. */
  readonly quota: Quota;
}

/**
 * Records a service while animals are added, one at a time and in bursts. With at most `freeAnimals` animals, the
 * recording also covers the creation of the store.
 */
export async function recordAnimals(animals: number, seed: number): Promise<AnimalRecording> {
  const sent = new Set<string>();
  const random = randomFrom(seed);
  const nextName = () => {
    const name = `animal ${sent.size + 1} ${'x'.repeat(random() * 200)}`;
    sent.add(name);
    return name;
  };
  const recording = await record({
    ...(animals > freeAnimals && { prepare: storeWithKey }),
    load: async (url, key, limits) => {
      const client = clientOf(url, key);
      let isSynced = false;
      while (sent.size < animals) {
        const burst = random() < 0.05 ? Math.min(largestBurst, animals - sent.size) : 1;
        await Promise.all(Array.from({ length: burst }, () => client.add(nextName())));
        limits.look(sent.size);
        // Waits for a sync, because a short run would otherwise end before the first sync.
        if (!isSynced && sent.size >= animals / 2) {
          await limits.synced();
          isSynced = true;
        }
      }
    },
  });
  return { ...recording, sent, quota: animals > freeAnimals ? ample : plans.free };
}

/** Expected state after a power loss. */
interface Expected {
  readonly acknowledged: readonly Acknowledged[];
  readonly sent: ReadonlySet<string>;
  readonly quota: Quota;
  /** Number of requests counted in the limit file at its last sync and at its last read. */
  readonly counted: { readonly synced: number; readonly seen: number };
}

/**
 * Replays a recording and checks `states` disk states, spread over all system calls. Throws at the first broken state.
 */
export async function powerLosses(
  { initial, events, sent, quota }: AnimalRecording,
  { states, seed, progress }: PowerOptions,
): Promise<PowerLossResult> {
  const random = randomFrom(seed);
  const disk = new Disk(initial);
  const figures: PowerLossResult = {
    cuts: 0,
    states: 0,
    acknowledged: 0,
    unacknowledged: 0,
    strict: 0,
    mostUncounted: 0,
  };
  const acknowledged: Acknowledged[] = [];
  const counted = { synced: 0, seen: 0 };
  let owed = 0;
  for (const [index, event] of events.entries()) {
    if (event.kind === 'answer') acknowledged.push(event.pet);
    else disk.apply(event);
    if (event.kind === 'mapped') counted.seen = event.answered;
    if (event.kind === 'sync' && event.path === limitFile) counted.synced = counted.seen;
    owed += states / events.length;
    // If no changes are pending, the disk has only one possible state. The remaining checks are saved for later calls.
    const turns = Math.min(Math.floor(owed), disk.hasPending ? states : 1);
    owed -= turns;
    if (turns > 0) figures.cuts++;
    for (let turn = 0; turn < turns; turn++) {
      const loss = losses[figures.states++ % losses.length] as Loss;
      const expected = { acknowledged, sent, quota, counted };
      await checked(disk.afterLoss(loss, random), expected, figures).catch((error) => {
        throw new Error(`seed ${seed}, call ${index} (${event.kind}), ${loss}: ${(error as Error).message}`);
      });
    }
    if (index % 100 === 0) progress?.(`call ${index} of ${events.length}, ${figures.states} states`);
  }
  figures.acknowledged = acknowledged.length;
  return figures;
}

/** Opens the files as the service does after a power loss, and checks the contents. */
async function checked(
  files: ReadonlyMap<string, Buffer>,
  expected: Expected,
  figures: PowerLossResult,
): Promise<void> {
  await using folder = await temporaryFolder();
  for (const [path, bytes] of files) {
    // The WAL index is in shared memory and therefore lost.
    if (!path.endsWith('-shm')) writeFileSync(join(folder.path, path), bytes);
  }
  await using storage = await openStore({
    url: `sqlite:${dataFileIn(folder.path)}`,
    // Uses the current time, which is still within the recorded limit windows.
    clock: new FakeClock(new Date().toISOString()),
    rules: { ban: defaultBanRules, failuresPerMinute: 600 },
    isServing: true,
    notice: () => {},
  });
  const stored = storedAnimals(dataFileIn(folder.path));
  checkStored(stored, expected.acknowledged, (name) => expected.sent.has(name));
  figures.unacknowledged += stored.size - expected.acknowledged.length;
  checkCount(storage, expected, figures);
  const { id } = await storage.write('createPet', {
    now: 0,
    body: {
      name: 'afterwards',
      categoryId: 1n,
      status: 'available',
    },
  });
  if (id <= BigInt(expected.acknowledged.at(-1)?.id ?? 0)) throw new Error(`id ${id} was assigned again`);
}

/**
 * Throws unless all requests counted before the last sync are still counted, because a power loss must not raise a
 * limit.
 */
function checkCount(storage: Store, { quota, counted }: Expected, figures: PowerLossResult): void {
  const { callers } = storage.limits.versions() as Versions;
  const caller = callerWith({ quota });
  const { verdict } = storage.limits.take(caller, callers) as Admission;
  if (verdict === undefined) throw new Error('the request was not counted');
  if (verdict.errorCode === 'daily_quota_exceeded') {
    figures.strict++;
    return;
  }
  if (verdict.errorCode !== undefined) throw new Error(`the account was rejected: ${verdict.errorCode}`);
  const found = quota.perDay - verdict.day.remaining - 1;
  if (found < counted.synced || found > counted.seen) {
    throw new Error(
      `${found} requests are counted, ${counted.synced} were synced, ${counted.seen} got responses`,
    );
  }
  figures.mostUncounted = Math.max(figures.mostUncounted, counted.seen - found);
}
