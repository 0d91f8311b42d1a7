/**
 * Produces many events during kills and outages. Each reader of the feed or the stream must receive every event exactly
 * once and in order, and a copy built from the events must equal the store.
 */
import { join } from 'node:path';
import { caughtUp, differenceOf } from '../support/copy.ts';
import { temporaryFolder } from '../support/folder.ts';
import { start } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { EventReader, readFeed } from './event-readers.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import { openOrThrow, type StressOptions, type StressResult, type StressTest } from './stress-test.ts';

const writers = 16;
/** Number of animals that each writer creates before it changes them repeatedly. */
const animalsEach = 50;
const eventsPerKill = 25_000;
const readersOfEach = 3;
const caughtUpWithinMs = 600_000;
const untilKillMs = 3_600_000;

/** Adds and changes animals until there are enough events, and records the acknowledged changes. */
class Writing {
  readonly acknowledged: string[] = [];
  unanswered = 0;
  readonly #place: ShopPlace;
  readonly #isEnough: () => boolean;

  constructor(place: ShopPlace, isEnough: () => boolean) {
    this.#place = place;
    this.#isEnough = isEnough;
  }

  async write(writer: number, chance: Chance): Promise<void> {
    const ids: string[] = [];
    for (let number = 0; !this.#isEnough(); number++) {
      const name = `${writer}-${number}`;
      const id = ids.length < animalsEach ? undefined : chance.pick(ids);
      const text = await this.#send(id, name, chance);
      if (text === undefined) continue;
      this.acknowledged.push(name);
      if (id === undefined) ids.push(/^\{"id":(\d+)/.exec(text)?.[1] ?? '');
    }
  }

  async #send(id: string | undefined, name: string, chance: Chance): Promise<string | undefined> {
    const [url] = chance.shuffled(this.#place.urls());
    const method = id === undefined ? 'POST' : 'PATCH';
    const body = JSON.stringify(id === undefined ? { name, categoryId: 1 } : { name });
    const headers = { Authorization: `Bearer ${this.#place.key}`, 'Content-Type': 'application/json' };
    try {
      const response = await fetch(`${url}/v1/pets${id === undefined ? '' : `/${id}`}`, {
        method,
        headers,
        body,
      });
      const text = await response.text();
      if (response.ok) return text;
      if (response.status !== 503) throw new Error(`${method}: ${response.status} ${text}`);
    } catch (error) {
      if ((error as Error).message.startsWith(method)) throw error;
    }
    this.unanswered++;
    await Bun.sleep(50);
    return undefined;
  }
}

export async function everyEvent(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
): Promise<StressResult> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'copy.db');
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1), { part: 0, fates: [], lateMs: 0 });
  await using mirror = start([process.execPath, 'examples/mirror.ts', file], {
    environment: { API: proxy.url, KEY: place.key },
  });
  const failures = new Failures(seed);
  let last = Number.POSITIVE_INFINITY;
  // This reader starts at the first event, so its position is the number of events.
  const first = new EventReader(place, 'feed', 0, seed);
  const readers = [first];
  const readings = [failures.guard('feed from 0', () => first.read(() => last, failures))];
  const writing = new Writing(place, () => first.position >= rounds || failures.count > 0);
  const written = Array.from({ length: writers }, (_, writer) =>
    failures.guard(`writer ${writer}`, () => writing.write(writer, new Chance(seed, writer))),
  );
  const chance = new Chance(seed, -2);
  const faults = kill(place, chance, () => first.position, { rounds, progress, failures });
  for (const reads of ['feed', 'stream'] as const) {
    for (let number = 0; number < readersOfEach; number++) {
      await Bun.sleep(chance.int(0, 300));
      const reader = new EventReader(place, reads, chance.int(0, first.position), seed + number);
      readers.push(reader);
      readings.push(failures.guard(`${reads} from ${reader.start}`, () => reader.read(() => last, failures)));
    }
  }
  await Promise.all(written);
  const tally = await faults;
  const [url = ''] = place.urls();
  last = await endOf(url, place.key, first.position);
  await Promise.all(readings);
  failures.end();
  checkRead(readers, first, last);
  const names = await namesOf(url, place.key, last);
  same(
    'an acknowledged write without an event',
    writing.acknowledged.find((name) => !names.has(name)),
    undefined,
  );
  await caughtUp(file, { url, key: place.key }, caughtUpWithinMs);
  same(
    'the difference between the copy and the store',
    JSON.stringify(await differenceOf(file, { url, key: place.key })),
    undefined,
  );
  mirror.signal('SIGTERM');
  return {
    events: last,
    'events received by all readers': readers.reduce((sum, { hashes }) => sum + hashes.length, 0),
    'disconnections of readers': readers.reduce((sum, { breaks }) => sum + breaks, 0),
    'writes without a response': writing.unanswered,
    ...tally,
  };
}

/**
 * Checks that every reader, from its starting position to the end, received the same events as the first reader.
 */
function checkRead(readers: readonly EventReader[], first: EventReader, last: number): void {
  for (const { start: from, hashes } of readers) {
    same('the number of events', hashes.length, last - from);
    const differing = hashes.findIndex((hash, at) => hash !== first.hashes[from + at]);
    same('the first difference', differing, -1);
  }
}

interface Killing {
  readonly rounds: number;
  readonly progress: (line: string) => void;
  readonly failures: Failures;
}

async function kill(
  place: ShopPlace,
  chance: Chance,
  events: () => number,
  { rounds, progress, failures }: Killing,
): Promise<Record<string, number>> {
  const tally: Record<string, number> = {};
  const per = Math.min(eventsPerKill, rounds / 8);
  for (let next = per; next < rounds && failures.count === 0; next += per) {
    await until(() => events() >= next || failures.count > 0, untilKillMs);
    progress(`${events()} of ${rounds} events`);
    await failures.guard('kill', async () => {
      const takesAway = place.takeAway !== undefined && chance.often(0.5);
      const what = takesAway ? await place.takeAway?.(chance) : await place.kill(chance);
      tally[`faults: ${what}`] = (tally[`faults: ${what}`] ?? 0) + 1;
    });
  }
  return tally;
}

async function endOf(url: string, key: string, from: number): Promise<number> {
  for (let after = from; ; ) {
    const { texts, next } = await readFeed(url, key, after);
    if (texts.length === 0) return next;
    after = next;
  }
}

/** All animal names that occur in events. */
async function namesOf(url: string, key: string, last: number): Promise<Set<string>> {
  const names = new Set<string>();
  for (let after = 0; after < last; ) {
    const { texts, next } = await readFeed(url, key, after);
    for (const text of texts) names.add(/"name":"([^"]+)"/.exec(text)?.[1] ?? '');
    after = next;
  }
  return names;
}

export const eventTests: readonly StressTest[] = shopKinds.map(({ name, title, open }) => ({
  name: `events${name}`,
  promise:
    'every reader of the feed and the stream gets each event exactly once, in commit order, from any starting position; every ' +
    'acknowledged change has an event; and the copy that examples/mirror.ts keeps equals the store byte for byte, despite ' +
    `kill -9 and outages, ${title} (rounds: events)`,
  rounds: 1_000_000,
  async run(options) {
    await using place = await openOrThrow(open);
    return await everyEvent(place, options);
  },
}));
