/** `npm run bench`: how fast the service is, against limits and peers, for anyone to repeat. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare } from './compare.ts';
import { measureDisk } from './disk.ts';
import { measureGrowth } from './growth.ts';
import { readOptions } from './options.ts';
import { measureScaling } from './scaling.ts';
import { measureWorkers } from './workers.ts';

const measurements = {
  comparison: compare,
  growth: measureGrowth,
  disk: measureDisk,
  workers: measureWorkers,
  scaling: measureScaling,
};

const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));

process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
try {
  const options = readOptions(process.argv.slice(2));
  if (options !== undefined) await measurements[options.measurement](options, folder);
} catch (error) {
  process.stderr.write(`bench: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
