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

test('attacks on the framing of HTTP do not confuse counts or keys', async () => {
  const { attacks } = await rawAttacks({ rounds: 1, seed, progress }, []);
  expect(attacks).toBeGreaterThanOrEqual(250);
});

test('hostile JSON is rejected or read exactly', async () => {
  const { bodies } = await hostileJson({ rounds: 1, seed, progress }, Number.POSITIVE_INFINITY);
  expect(bodies).toBeGreaterThanOrEqual(400);
});

test('slow connections do not delay others', async () => {
  const figures = await slowClients({ rounds: 100, seed, progress }, false);
  expect(figures['at most at once']).toBeGreaterThan(80);
});

testWith(...fileSizeLimits)('no part of a key is in a log, a file or a response', async () => {
  expect((await noKeyAnywhere({ rounds: 20, seed, progress })).answers).toBeGreaterThan(600);
});
