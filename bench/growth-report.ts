/** Report on how cost grows, in Markdown. */
import { atMost, type Goal } from './goals.ts';
import type { GrowthResults, Size } from './growth.ts';
import type { Sample } from './measure.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { median } from './statistics.ts';
import { cost, ratio, samplesOf } from './summary.ts';

/**
 * Maximum ratio of the cost of the last page in the largest store to the cost of the first page in the smallest store.
 */
const maxGrowth = 1.1;
/** Maximum ratio of the cost per request with 100,000 accounts to the cost with 10 accounts. */
const maxAccountCost = 1.3;
const latestFirstAnswerMs = 150;

export function growthMarkdown(results: GrowthResults): string {
  const { sizes, samples } = results;
  const byAnimals = sizes.filter(({ accounts }) => accounts === 1);
  const byAccounts = sizes.filter(({ accounts }) => accounts > 1);
  return [
    `${describeConditions(results)}`,
    goalsTable(goalsOf(results), samples),
    '### By number of animals and page depth (20 available animals per page)',
    costTable(
      samples,
      byAnimals.flatMap(({ name }) => [`${name}, first`, `${name}, last`]),
      ['uncached', 'cached'],
    ),
    '### By number of accounts (a cached list page, with a different account for each request)',
    costTable(
      samples,
      byAccounts.map(({ name }) => name),
      ['accounts'],
    ),
    '### Size',
    sizeTable(sizes),
  ].join('\n\n');
}

function goalsOf({ sizes, samples }: GrowthResults): Goal[] {
  const byAnimals = sizes.filter(({ accounts }) => accounts === 1);
  const [smallest, largest] = [byAnimals[0], byAnimals.at(-1)];
  const byAccounts = sizes.filter(({ accounts }) => accounts > 1);
  const costOf = (contender: string) =>
    median(samplesOf(samples, { contender, scenario: 'uncached' }).map(cost));
  const growth = costOf(`${largest?.name}, last`) / costOf(`${smallest?.name}, first`);
  const start = sizes.find(({ animals }) => animals === 100_000)?.firstAnswerMs ?? Number.NaN;
  return [
    atMost(
      maxGrowth,
      `CPU time per uncached page, last of ${largest?.name} vs. first of ${smallest?.name}`,
      growth,
    ),
    accountsGoal(samples, byAccounts[0]?.name, byAccounts.at(-1)?.name),
    {
      text: 'Time from process start to first response, with 100,000 animals',
      wanted: `≤ ${latestFirstAnswerMs} ms`,
      measured: `${start.toFixed(0)} ms`,
      met: start <= latestFirstAnswerMs,
    },
  ];
}

/** Goal for the cost per request with many accounts. Ratios are computed within each round. */
function accountsGoal(samples: readonly Sample[], few = '', many = ''): Goal {
  const side = (contender: string) => ({ scenario: 'accounts', contender });
  const measured = ratio(samples, cost, side(many), side(few));
  return atMost(maxAccountCost, `CPU time per list page, ${many} vs. ${few}`, measured);
}

function costTable(
  samples: readonly Sample[],
  names: readonly string[],
  scenarios: readonly string[],
): string {
  const heading = (scenario: string) => (scenarios.length > 1 ? `, ${scenario}` : '');
  return table(
    [
      '',
      ...scenarios.flatMap((scenario) => [
        `requests/s${heading(scenario)}`,
        `p99 ms${heading(scenario)}`,
        `CPU µs/request${heading(scenario)}`,
      ]),
    ],
    names.map((contender) => [
      contender,
      ...scenarios.flatMap((scenario) => {
        const own = samplesOf(samples, { contender, scenario });
        return [
          Math.round(median(own.map((sample) => sample.requestsPerSecond))).toLocaleString('en'),
          median(own.map((sample) => sample.p99Ms)).toFixed(2),
          median(own.map(cost)).toFixed(1),
        ];
      }),
    ]),
  );
}

function sizeTable(sizes: readonly Size[]): string {
  return table(
    ['', 'animals', 'accounts', 'file MB', 'first response ms', 'memory after start MB', 'peak memory MB'],
    sizes.map(({ name, animals, accounts, ...size }) => [
      name,
      animals.toLocaleString('en'),
      accounts.toLocaleString('en'),
      size.fileMb.toFixed(0),
      size.firstAnswerMs.toFixed(0),
      size.startedMemoryMb.toFixed(0),
      size.peakMemoryMb.toFixed(0),
    ]),
  );
}
