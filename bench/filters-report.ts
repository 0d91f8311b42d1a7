/** Report on how the cost of each filter grows, in Markdown. */
import { filterTargets } from './filter-targets.ts';
import { type FilterResults, sizeName } from './filters.ts';
import { atMost } from './goals.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { median } from './statistics.ts';
import { cost, ratio, samplesOf } from './summary.ts';

/** Maximum ratio of a filter's cost in the larger store to its cost in the smaller store. */
const maxGrowth = 1.2;

export function filtersMarkdown(results: FilterResults): string {
  const { sizes, samples } = results;
  const [small, large] = sizes;
  if (small === undefined || large === undefined) throw new Error('There are two sizes.');
  const rows = filterTargets.map(({ name }) => {
    const side = (size: typeof small) => ({ scenario: name, contender: sizeName(size) });
    const of = (size: typeof small) => median(samplesOf(samples, side(size)).map(cost));
    return {
      name,
      small: of(small),
      large: of(large),
      growth: ratio(samples, cost, side(large), side(small)),
    };
  });
  const worst = rows.reduce((most, row) => (row.growth > most.growth ? row : most));
  const text = `CPU time per uncached request, ${said(large)} vs. ${said(small)}; largest growth: ${worst.name}`;
  return [
    describeConditions(results),
    goalsTable([atMost(maxGrowth, text, worst.growth)], samples),
    table(
      ['CPU µs/request', said(small), said(large), 'growth'],
      rows.map((row) => [row.name, row.small.toFixed(1), row.large.toFixed(1), `${row.growth.toFixed(2)} ×`]),
    ),
  ].join('\n\n');
}

const said = ({ animals, orders }: { animals: number; orders: number }) =>
  `${animals.toLocaleString('en')} animals and ${orders.toLocaleString('en')} orders`;
