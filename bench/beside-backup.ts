/**
 * Measures how much a backup slows down the service under full load.
 *
 * bun bench/beside-backup.ts [--animals 1000000] [--rounds 4] [--seconds 4]
 *
 * Each round applies each load before, during and after backups of the embedded store. The ratio compares the rate
 * during the backups with the mean of the rates before and after them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { randomFrom } from '../test/support/random.ts';
import { get, post } from './contender.ts';
import { applyLoad, type LoadResult, type PlannedRequest, planPath, writePlan } from './load.ts';
import { newPet } from './scenarios.ts';
import {
  createAddressing,
  embeddedStore,
  fill,
  issueKeys,
  type StoreSettings,
  startService,
} from './service.ts';
import { median } from './statistics.ts';
import { waitUntilQuiet } from './wait-until-quiet.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const planLength = 20_000;
const quietTimeoutMs = 5_000;

const { values } = parseArgs({
  options: {
    animals: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '4' },
  },
});
const animals = Number(values.animals);
const seconds = Number(values.seconds);

const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));
try {
  await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const store = embeddedStore(folder, 'animals');
  await fill(store, animals);
  const [key = ''] = await issueKeys(store, 1);
  await using server = await startService(store, key);
  const plans = await writePlans(key);
  const ratios = new Map<string, number[]>();
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [name, plan] of plans) {
      const load = () => applyLoad(server.url, plan, seconds);
      await waitUntilQuiet(quietTimeoutMs);
      const before = rate(await load());
      const { during, backups } = await besideBackups(store, load);
      const after = rate(await load());
      // The first round is a warm-up.
      if (round === 0) continue;
      const ratio = during / ((before + after) / 2);
      ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
      const rates = [before, during, after].map((each) => Math.round(each)).join(' / ');
      process.stdout.write(
        `${name.padEnd(8)} ${rates} requests/s, ${backups} backups, ${ratio.toFixed(2)}\n`,
      );
    }
  }
  for (const [name, each] of ratios)
    process.stdout.write(`${name.padEnd(8)} median ${median(each).toFixed(2)}\n`);
}

async function writePlans(key: string): Promise<[name: string, path: string][]> {
  const { list, pet, create } = createAddressing(key);
  const chance = randomFrom(1);
  const repeated = (one: (index: number) => PlannedRequest) =>
    Array.from({ length: planLength }, (_, index) => one(index));
  const plans = {
    list: [get(list)],
    pet: repeated(() => get(pet(1 + Math.floor(chance() * animals)))),
    create: repeated((index) => post(create, newPet(index))),
  };
  const written = Object.entries(plans).map(async ([name, requests]): Promise<[string, string]> => {
    const path = planPath(folder, name);
    await writePlan(path, requests);
    return [name, path];
  });
  return await Promise.all(written);
}

/** Backs up the store repeatedly while the load runs. `backups` is the number of completed backups. */
async function besideBackups(store: StoreSettings, load: () => Promise<LoadResult>) {
  const stopping = new AbortController();
  const backingUp = backUp(store, stopping.signal);
  const during = rate(await load());
  stopping.abort();
  return { during, backups: await backingUp };
}

async function backUp(store: StoreSettings, stop: AbortSignal): Promise<number> {
  let backups = 0;
  while (!stop.aborted) {
    const command = [process.execPath, main, 'backup', '--replace', join(folder, 'copy.backup')];
    const child = Bun.spawn(command, {
      env: { ...process.env, ...store },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    });
    if ((await child.exited) !== 0) throw new Error(`The backup failed: ${await child.stderr.text()}`);
    if (!stop.aborted) backups++;
  }
  return backups;
}

function rate({ requests, seconds, refused, broken }: LoadResult): number {
  if (refused + broken > 0) throw new Error(`${refused + broken} requests failed.`);
  return requests / seconds;
}
