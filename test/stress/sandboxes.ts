/** A hundred sandboxes at once, as many test files would start them; and how soon one is ready, beside a service by turns. */
import { readdir } from 'node:fs/promises';
import { commandLine } from '../support/cli.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Running, settingsIn, start } from '../support/process.ts';
import type { StressTest } from './stress-test.ts';

/** All run at once; a machine with few cores starts them in waves, for each is waited for only so long. */
const startedTogether = 10;
const turns = 15;

interface Ready {
  readonly running: Running;
  readonly url: string;
  readonly key: string;
  readonly afterMs: number;
}

async function startOne(folder: string): Promise<Ready> {
  const began = performance.now();
  const command = [...commandLine, 'sandbox', '--port', '0', '--json'];
  const running = start(command, { environment: { TMPDIR: folder }, cwd: folder });
  await running.said('\n');
  const afterMs = performance.now() - began;
  const { url, keys } = JSON.parse(running.stdout());
  return { running, url, key: keys.free, afterMs };
}

/** Adds an animal of a name of its own, and returns the names there are. */
async function addAndList({ url, key }: Ready, name: string): Promise<string[]> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name, categoryId: 1 });
  const added = await fetch(`${url}/v1/pets`, { method: 'POST', headers, body });
  if (added.status !== 201) throw new Error(`${url}: ${added.status} ${await added.text()}`);
  const listed = await fetch(`${url}/v1/pets`, { headers });
  return ((await listed.json()) as { name: string }[]).map((pet) => pet.name);
}

/** Ends every other one as a person does, the rest with SIGKILL. */
async function end(all: readonly Ready[]): Promise<void> {
  for (const [index, { running }] of all.entries()) running.signal(index % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
  const codes = await Promise.all(all.map(({ running }) => running.exited));
  const wrong = codes.filter((code, index) => code !== (index % 2 === 0 ? 0 : 137));
  if (wrong.length > 0) throw new Error(`Sandboxes ended with ${wrong.join(', ')}.`);
}

async function readyMs(folder: string, args: readonly string[], word: RegExp): Promise<number> {
  const began = performance.now();
  const environment = { ...settingsIn(folder), ADMIN_PORT: 'off', DRAIN_SECONDS: '0', TMPDIR: folder };
  await using running = start([...commandLine, ...args], { environment, cwd: folder });
  await running.said(word);
  const afterMs = performance.now() - began;
  running.signal('SIGTERM');
  await running.exited;
  return afterMs;
}

const median = (values: readonly number[]) =>
  Math.round([...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN);

export const sandboxes: StressTest = {
  name: 'sandboxes',
  promise:
    'a hundred sandboxes that run at once all serve, each its own store; those that are told to end leave nothing behind, and what ' +
    'killed ones leave is removed by the next one',
  rounds: 100,
  async run({ rounds, progress }) {
    await using folder = await temporaryFolder();
    const all: Ready[] = [];
    while (all.length < rounds) {
      const wave = Math.min(startedTogether, rounds - all.length);
      all.push(...(await Promise.all(Array.from({ length: wave }, () => startOne(folder.path)))));
      progress(`${all.length} are running`);
    }
    const names = await Promise.all(all.map((one, index) => addAndList(one, `animal ${index}`)));
    const mixed = names.filter((found, index) => found.join() !== `animal ${index}`);
    if (mixed.length > 0) throw new Error(`Sandboxes have animals of others: ${mixed.join('; ')}`);
    await end(all);
    const left = (await readdir(folder.path)).length;
    if (left !== Math.floor(rounds / 2)) throw new Error(`${left} folders are left.`);
    const next = await startOne(folder.path);
    next.running.signal('SIGTERM');
    await next.running.exited;
    const still = await readdir(folder.path);
    if (still.length > 0) throw new Error(`Left behind: ${still.join(', ')}`);

    const [sandbox, service]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < turns; turn++) {
      sandbox.push(await readyMs(folder.path, ['sandbox', '--port', '0', '--json'], /\n/));
      service.push(await readyMs(folder.path, ['serve'], /^Reference .*\n/m));
    }
    return {
      'slowest of them ready after ms': Math.round(Math.max(...all.map(({ afterMs }) => afterMs))),
      'one alone ready after ms (median)': median(sandbox),
      'a service with a store ready after ms (median)': median(service),
    };
  },
};
