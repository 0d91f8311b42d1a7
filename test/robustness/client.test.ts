/** The tests of `npm run stress` about the TypeScript client, with small counts. */
import { expect, test } from 'bun:test';
import { embeddedStores } from '../process/worker-stores.ts';
import { clientOnceKinds, eachOnceByClient } from '../stress/client-once.ts';
import { embeddedWalk, importAnimals, walkWithClient } from '../stress/client-walk.ts';
import { work } from '../stress/client-workers.ts';
import { clientOf } from '../support/client.ts';
import { passSeconds } from '../support/limit-file.ts';
import { limitFileIn } from '../support/process.ts';

/** The same cases in every run; `npm run stress` takes others. */
const seed = 20_301_205;
const progress = () => undefined;
/** How much of the first minute has passed when clients begin: they need not wait for all of it. */
const passedSeconds = 57;

test.each(clientOnceKinds)('a write of the client is done once, $title', async ({ open }) => {
  await using place = await open();
  if (place === undefined) return;
  const figures = await eachOnceByClient(place, { rounds: 30, seed, progress });
  expect(figures['writes, each done once']).toBeGreaterThanOrEqual(30);
});

test('many calls of one client wait together: none is sent during a wait, and there is no strike', async () => {
  await using stores = await embeddedStores();
  const service = await stores.startInstance();
  const spread = { title: 'calls', processes: 1, clientsEach: 1, callsEach: 64, askMs: 100 };
  const quota = { perMinute: 6, perDay: 1_000 };
  const options = { quota, passedSeconds, admitted: 8, progress };
  const figures = await work(stores, service.url, spread, options);
  expect(figures).toMatchObject({ 'calls: strikes': 0 });
});

test('a paced walk resumes in the next minute, is never rejected and returns each animal once', async () => {
  await using place = await embeddedWalk();
  const options = { rounds: 400, seed, progress };
  await importAnimals(place, options);
  const { key, accountId } = await place.issueKey({ perMinute: 4, perDay: 1_000 });
  await clientOf(place.urls[0] ?? '', key).get('/inventory');
  passSeconds(limitFileIn(place.folder), accountId, passedSeconds);
  expect(await walkWithClient(place, key, options)).toMatchObject({ pages: 4 });
});
