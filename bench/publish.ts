/** Writes results into the project: Markdown, JSON, a chart, and the generated part of docs/performance.md. */
import { fileURLToPath } from 'node:url';
import { comparisonChart, overviewLoads } from './chart.ts';
import type { Measurement } from './options.ts';
import type { Results } from './summary.ts';
import { progress } from './terminal.ts';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const page = pathOf('../docs/performance.md');

export async function publishCharts(results: Results): Promise<void> {
  await write('results/comparison.svg', comparisonChart(results));
  await write('results/overview.svg', comparisonChart(results, overviewLoads));
}

/** Writes the results of one kind, and inserts the Markdown between the page's marks of that kind. */
export async function publish(kind: Measurement, results: object, markdown: string): Promise<void> {
  await write(`results/${kind}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  await write(`results/${kind}.md`, `${markdown}\n`);
  const [begin, end] = [`<!-- ${kind}: written by npm run bench -->`, `<!-- /${kind} -->`];
  const text = await Bun.file(page).text();
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start === -1 || stop < start)
    throw new Error(`docs/performance.md lacks the marks "${begin}" and "${end}".`);
  await Bun.write(page, `${text.slice(0, start)}${begin}\n\n${markdown}\n\n${text.slice(stop)}`);
  progress('wrote docs/performance.md');
}

async function write(name: string, content: string): Promise<void> {
  await Bun.write(pathOf(name), content);
  progress(`wrote bench/${name}`);
}
