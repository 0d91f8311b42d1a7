/** `npm run bench`: compares the speed of the service with baselines and other frameworks. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare } from './compare.ts';
import { diskMarkdown, measureDisk } from './disk.ts';
import { formatLatencyReport, measureDistance } from './distance.ts';
import { filtersMarkdown, measureFilters } from './filters.ts';
import { growthMarkdown, measureGrowth } from './growth.ts';
import { type Measurement, type Options, readOptions } from './options.ts';
import { publish, publishCharts } from './publish.ts';
import { comparisonMarkdown } from './report.ts';
import { measureScaling, scalingMarkdown } from './scaling.ts';
import { measureWorkers, workersMarkdown } from './workers.ts';

type Measure = (options: Options, folder: string) => Promise<void>;

const measurements: Readonly<Record<Measurement, Measure>> = {
  comparison: reported('comparison', compare, comparisonMarkdown, publishCharts),
  growth: reported('growth', measureGrowth, growthMarkdown),
  filters: reported('filters', measureFilters, filtersMarkdown),
  disk: reported('disk', measureDisk, diskMarkdown),
  workers: reported('workers', measureWorkers, workersMarkdown),
  scaling: reported('scaling', measureScaling, scalingMarkdown),
  distance: reported('distance', measureDistance, formatLatencyReport),
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

/** Runs the measurements one after the other. A failed measurement does not stop the others. */
async function measure(options: Options): Promise<void> {
  if (!options.careful)
    process.stdout.write('This only checks that the benchmark works. Its figures are not meaningful.\n');
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

/** Wraps a measurement so that it prints its report and, with `publish`, writes the report into the project. */
function reported<Results extends object>(
  kind: Measurement,
  take: (options: Options, folder: string) => Promise<Results>,
  markdownOf: (results: Results) => string,
  publishMore?: (results: Results) => Promise<void>,
): Measure {
  return async (options, folder) => {
    const results = await take(options, folder);
    const markdown = markdownOf(results);
    process.stdout.write(`\n${markdown}\n`);
    if (!options.publish) return;
    await publishMore?.(results);
    await publish(kind, results, markdown);
  };
}

function fail({ message }: Error): void {
  process.stderr.write(`bench: ${message}\n`);
  process.exitCode = 1;
}
