/** Writes results into the project: Markdown, charts, and every figure as JSON, which Git ignores. */
import { fileURLToPath } from 'node:url';
import { comparisonChart } from './chart.ts';
import type { Measurement } from './options.ts';
import type { Results } from './summary.ts';
import { progress } from './terminal.ts';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function publishCharts(results: Results): Promise<void> {
  await write('results/comparison.svg', comparisonChart(results));
}

/** Writes the results of one kind of measurement. */
export async function publish(kind: Measurement, results: object, markdown: string): Promise<void> {
  await write(`results/${kind}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  await write(`results/${kind}.md`, `${markdown}\n`);
}

async function write(name: string, content: string): Promise<void> {
  await Bun.write(pathOf(name), content);
  progress(`wrote bench/${name}`);
}
