/**
 * Keeps an exact copy of a store in an SQLite file: animals, categories and, if the key may read them,
 * orders.
 *
 *   API=http://127.0.0.1:3000 KEY=ask_your_key npx bun examples/mirror.ts copy.db
 *
 * The key needs the events:read and pets:read scopes. You can stop the program at any time. When you start it again, it
 * resumes where it stopped.
 *
 * Why the copy is exact:
 * - The position is read before the lists. A list shows each resource as it was at some time after the position, and
 *   every change after the position has an event. Each event contains the whole resource, so the copy matches the
 *   store once each resource's last event is applied.
 * - An event older than a listed resource restores an older state, which later events correct. Other programs never
 *   see the older state, because the lists are stored in one transaction with the events that occur during the read.
 * - An event and its position are stored in one transaction.
 */
import { Database } from 'bun:sqlite';
import {
  AnimalStore,
  type Event,
  EventsExpiredError,
  PermissionError,
  stringify,
} from '@animal-store/client';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: npx bun examples/mirror.ts copy.db');
const store = new AnimalStore({
  key: process.env.KEY,
  url: process.env.API,
  maxWaitSeconds: 86_400,
  onRetry: ({ error, waitMs }) =>
    console.error(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`),
});

const copy = new Database(file, { safeIntegers: true });
copy.run('PRAGMA journal_mode = WAL');
copy.run(`CREATE TABLE IF NOT EXISTS resources (
  kind TEXT NOT NULL, id INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID`);
copy.run(
  'CREATE TABLE IF NOT EXISTS position (only INTEGER PRIMARY KEY CHECK (only = 1), event INTEGER NOT NULL)',
);
const put = copy.query('INSERT OR REPLACE INTO resources VALUES (?, ?, ?)');
const remove = copy.query('DELETE FROM resources WHERE kind = ? AND id = ?');
const move = copy.query('INSERT OR REPLACE INTO position VALUES (1, ?)');
const saved = copy.query<{ event: bigint }, []>('SELECT event FROM position');

/** Types of resources to copy. Newer versions of the service may have additional types. */
const copied = ['pet', 'category', 'order'];

interface Resource {
  readonly id: bigint;
}

function keep(kind: string, resources: readonly Resource[]): void {
  for (const resource of resources) put.run(kind, resource.id, stringify(resource));
}

/** Applies an event to the copy. */
async function apply(event: Event): Promise<void> {
  const [kind = '', change] = event.type.split('.');
  if (event.type === 'pets.imported') {
    const { firstId: minId, lastId: maxId } = event.data;
    const imported = await store.pets.list({ minId, maxId }).toArray();
    copy.transaction(() => {
      keep('pet', imported);
      move.run(event.id);
    })();
  } else if (copied.includes(kind)) {
    copy.transaction(() => {
      if (change === 'deleted') remove.run(kind, event.data.id);
      else keep(kind, [event.data]);
      move.run(event.id);
    })();
  }
}

/** Reads all resources. If the program is interrupted, the file stays unchanged. */
async function readAll(): Promise<void> {
  const { next: start } = await store.events.list({ order: 'desc', limit: 1 });
  copy.run('BEGIN IMMEDIATE');
  try {
    copy.run('DELETE FROM resources');
    for await (const { data } of store.pets.list().pages()) keep('pet', data);
    for await (const { data } of store.categories.list().pages()) keep('category', data);
    try {
      for await (const { data } of store.orders.list().pages()) keep('order', data);
    } catch (error) {
      if (!(error instanceof PermissionError)) throw error;
    }
    const { next: end } = await store.events.list({ order: 'desc', limit: 1 });
    for (let after = start; after < end; ) {
      const { events, next } = await store.events.list({ after });
      for (const event of events) await apply(event);
      after = next;
    }
    move.run(end);
    copy.run('COMMIT');
  } catch (error) {
    copy.run('ROLLBACK');
    throw error;
  }
  console.log(`Copied everything up to event ${saved.get()?.event}.`);
}

for (;;) {
  try {
    if (saved.get() === null) await readAll();
    const after = saved.get()?.event;
    for await (const event of store.events.follow({ after, onPosition: (id) => move.run(id) }))
      await apply(event);
  } catch (error) {
    if (!(error instanceof EventsExpiredError)) throw error;
    console.error(`${error.message} Reading everything again.`);
    copy.run('DELETE FROM position');
  }
}
