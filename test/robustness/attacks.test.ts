/** The attack tests of `npm run stress`, with small counts. */
import { expect, test } from 'bun:test';
import { fileSizeLimits } from '../faults/disk.ts';
import { hostileJson } from '../stress/hostile-json.ts';
import { rawAttacks } from '../stress/raw-attacks.ts';
import { noKeyAnywhere } from '../stress/secrets.ts';
import { slowClients } from '../stress/slow-clients.ts';
import { testWith } from '../support/requirements.ts';

const seed = 20_301_205;
const progress = () => undefined;

test('HTTP framing attacks do not corrupt counts or mix up keys', async () => {
  const { attacks } = await rawAttacks({ rounds: 1, seed, progress }, []);
  expect(attacks).toBeGreaterThanOrEqual(250);
});

test('hostile JSON is rejected or parsed exactly', async () => {
  const { bodies } = await hostileJson({ rounds: 1, seed, progress }, Number.POSITIVE_INFINITY);
  expect(bodies).toBeGreaterThanOrEqual(400);
});

test('slow connections do not delay other clients', async () => {
  const figures = await slowClients({ rounds: 100, seed, progress }, false);
  expect(figures['most at the same time']).toBeGreaterThan(80);
});

testWith(...fileSizeLimits)('no part of a key appears in a log, a file or a response', async () => {
  expect((await noKeyAnywhere({ rounds: 20, seed, progress })).answers).toBeGreaterThan(600);
});
