/** `npm run bench`: how fast the service is, against limits and peers, for anyone to repeat. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare } from './compare.ts';
import { measureDisk } from './disk.ts';
import { measureFilters } from './filters.ts';
import { measureGrowth } from './growth.ts';
import { type Options, readOptions } from './options.ts';
import { measureScaling } from './scaling.ts';
import { measureWorkers } from './workers.ts';

const measurements = {
  comparison: compare,
  growth: measureGrowth,
  filters: measureFilters,
  disk: measureDisk,
  workers: measureWorkers,
  scaling: measureScaling,
};

const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));

process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
try {
  const options = readOptions(process.argv.slice(2));
  if (options !== undefined) await measure(options);
} catch (error) {
  fail(error as Error);
}

/** One measurement after the other; one that fails does not keep the next from being made. */
async function measure(options: Options): Promise<void> {
  if (!options.careful)
    process.stdout.write('A quick check of the benchmark itself: its figures prove nothing.\n');
  for (const measurement of options.measurements) {
    const place = join(folder, measurement);
    mkdirSync(place);
    try {
      await measurements[measurement](options, place);
    } catch (error) {
      fail(error as Error);
    }
    rmSync(place, { recursive: true });
  }
}

function fail({ message }: Error): void {
  process.stderr.write(`bench: ${message}\n`);
  process.exitCode = 1;
}
