/** The power goes at any call of a recorded run; every state the disk may then be in has to open whole. */
import { Database } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultBanRules } from '../../src/domain/limit.ts';
import { openStore } from '../../src/store.ts';
import { clientOf } from '../support/client.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, makeStore } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { Disk, type Loss, losses } from './disk-model.ts';
import { type AnsweredPet, type Recording, record } from './recording.ts';

export interface PowerOptions {
  readonly states: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

export interface PowerFigures {
  /** Moments at which the power went. */
  cuts: number;
  states: number;
  acknowledged: number;
  /** Animals found though nobody had been told of them yet. */
  unacknowledged: number;
}

/** Most animals that are sent at once: they are committed together. */
const largestBurst = 40;
/** How many animals the first key of a new store may surely add within a minute. */
const freeAnimals = 50;

async function storeWithKey(folder: string): Promise<string> {
  await makeStore(folder);
  return issueKey(folder, 'enterprise', ample);
}

export interface AnimalRecording extends Recording {
  /** Animals that were sent: no other may be found. */
  readonly sent: ReadonlySet<string>;
}

/** Records a service that is sent that many animals, one by one and in bursts; few of them on a new store. */
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
    load: async (url, key) => {
      const client = clientOf(url, key);
      while (sent.size < animals) {
        const burst = random() < 0.05 ? Math.min(largestBurst, animals - sent.size) : 1;
        await Promise.all(Array.from({ length: burst }, () => client.add(nextName())));
      }
    },
  });
  return { ...recording, sent };
}

/** Replays a recording and checks that many states, spread over all its calls. Throws at the first broken one. */
export async function powerLosses(
  { initial, events, sent }: AnimalRecording,
  { states, seed, progress }: PowerOptions,
): Promise<PowerFigures> {
  const random = randomFrom(seed);
  const disk = new Disk(initial);
  const figures: PowerFigures = { cuts: 0, states: 0, acknowledged: 0, unacknowledged: 0 };
  const acknowledged: AnsweredPet[] = [];
  let owed = 0;
  for (const [index, event] of events.entries()) {
    if (event.kind === 'answer') acknowledged.push(event.pet);
    else disk.apply(event);
    owed += states / events.length;
    // Where nothing waits for a sync there is one state only; the turns go to the calls that follow.
    const turns = Math.min(Math.floor(owed), disk.hasPending ? states : 1);
    owed -= turns;
    if (turns > 0) figures.cuts++;
    for (let turn = 0; turn < turns; turn++) {
      const loss = losses[figures.states++ % losses.length] as Loss;
      const found = await checked(disk.afterLoss(loss, random), acknowledged, sent).catch((error) => {
        throw new Error(`seed ${seed}, call ${index} (${event.kind}), ${loss}: ${(error as Error).message}`);
      });
      figures.unacknowledged += found - acknowledged.length;
    }
    if (index % 100 === 0) progress?.(`call ${index} of ${events.length}, ${figures.states} states`);
  }
  figures.acknowledged = acknowledged.length;
  return figures;
}

/** Opens the files as the service does after the power is back, and returns how many animals it finds. */
async function checked(
  files: ReadonlyMap<string, Buffer>,
  acknowledged: readonly AnsweredPet[],
  sent: ReadonlySet<string>,
): Promise<number> {
  await using folder = await temporaryFolder();
  for (const [path, bytes] of files) {
    // The index of the write-ahead log is memory, and memory is gone.
    if (!path.endsWith('-shm')) writeFileSync(join(folder.path, path), bytes);
  }
  await using storage = await openStore({
    url: `sqlite:${dataFileIn(folder.path)}`,
    clock: new FakeClock(),
    rules: { ban: defaultBanRules, failuresPerMinute: 600 },
    serving: true,
    notice: () => {},
  });
  expectSound(dataFileIn(folder.path));
  using database = new Database(dataFileIn(folder.path), { readonly: true });
  const rows = database.query<AnsweredPet, []>('SELECT id, name FROM pets').all();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  for (const { id, name } of acknowledged) {
    if (names.get(id) !== name) throw new Error(`"${name}", acknowledged as ${id}, is ${names.get(id)}`);
  }
  const strange = rows.find(({ name }) => !sent.has(name));
  if (strange !== undefined) throw new Error(`nobody sent "${strange.name}"`);
  if (new Set(names.values()).size !== rows.length) throw new Error('an animal is stored twice');
  const { id } = await storage.write('createPet', {
    name: 'afterwards',
    categoryId: 1n,
    status: 'available',
  });
  if (id <= BigInt(acknowledged.at(-1)?.id ?? 0)) throw new Error(`id ${id} is given again`);
  return rows.length;
}

function expectSound(path: string): void {
  using database = new Database(path, { readonly: true });
  const soundness = JSON.stringify(database.query('PRAGMA integrity_check').all());
  if (soundness !== '[{"integrity_check":"ok"}]') throw new Error(`a file is damaged: ${soundness}`);
}
