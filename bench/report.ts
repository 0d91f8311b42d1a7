/** Report on the comparison, in Markdown. */
import { features } from './features.ts';
import { type Goal, goalsOf } from './goals.ts';
import type { Machine } from './machine.ts';
import type { Sample } from './measure.ts';
import { maxForeignShare } from './quiet.ts';
import { scenarios } from './scenarios.ts';
import { type Figure, figuresOf, limitOf, type Results, rates, ratio, service } from './summary.ts';

export function comparisonMarkdown(results: Results): string {
  return [
    `${conditions(results)} Every store holds ${results.animals.toLocaleString('en')} animals.`,
    goalsTable(goalsOf(results), results.samples),
    ...scenarios.flatMap(({ name, title, callers }) => {
      const figures = figuresOf(results, name);
      const isOfOnePlan = callers !== undefined;
      return figures.length === 0 || isOfOnePlan
        ? []
        : [`### ${title}`, scenarioTable(results, name, figures)];
    }),
    ...plansSection(results),
    '### Memory and first answer',
    entrantsTable(results),
    '### What each does, and leaves out',
    featuresTable(results),
  ].join('\n\n');
}

/** Describes the conditions of the measurement. */
export function conditions(results: Omit<Results, 'animals' | 'entrants'>): string {
  const { measuredAt, machine, rounds, seconds, connections, samples } = results;
  return (
    `Measured ${measuredAt.slice(0, 10)}: ${connections} connections, ${rounds} interleaved rounds of ${seconds} s, ` +
    `medians. ${machineSentence(machine)} ` +
    `In ${disturbedOf(samples).length} of ${samples.length} runs other programs took more than ${maxForeignShare * 100} % of a core.`
  );
}

export function machineSentence(machine: Machine): string {
  return (
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}; ` +
    `Bun ${machine.bun}, Node ${machine.node}; load by ${machine.loadGenerator}` +
    `${machine.pinned ? ', server and load generator on a core each' : ', nothing pinned'}; ` +
    `a durable write of 4 KiB takes ${machine.syncMicroseconds} µs on this disk.`
  );
}

function disturbedOf(samples: readonly Sample[]): Sample[] {
  return samples.filter(({ foreign }) => foreign > maxForeignShare);
}

/** Maximum share of disturbed runs. Above it, time measurements are inconclusive. */
const maxDisturbedShare = 0.5;

export function goalsTable(goals: readonly Goal[], samples: readonly Sample[]): string {
  return goalRows(goals, disturbedOf(samples).length <= samples.length * maxDisturbedShare);
}

export function goalRows(goals: readonly Goal[], judged: boolean): string {
  const verdict = ({ met, barely, steady }: Goal) => {
    if (!judged && steady === undefined) return 'not judged: the machine was busy';
    if (!met) return '**missed**';
    return barely ? 'barely met' : 'met';
  };
  return table(
    ['To reach', 'wanted', 'measured', 'by CPU time', ''],
    goals.map((goal) => [goal.text, goal.wanted, goal.measured, goal.perCpu ?? '', verdict(goal)]),
  );
}

function scenarioTable(
  { samples, ...results }: Results,
  scenario: string,
  figures: readonly Figure[],
): string {
  const limit = limitOf(results) ?? 'the limit';
  const times = (rate: (sample: Sample) => number, one: string, other: string) => {
    const value = ratio(samples, rate, { scenario, contender: one }, { scenario, contender: other });
    return Number.isNaN(value) ? '–' : `${value.toFixed(2)} ×`;
  };
  return table(
    [
      ...['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request', 'core busy'],
      ...[`of ${limit}`, 'by CPU time', 'service is', 'by CPU time', 'wrong'],
    ],
    figures.map((figure) => [
      nameOf(figure),
      Math.round(figure.requestsPerSecond).toLocaleString('en'),
      figure.p50Ms.toFixed(2),
      figure.p99Ms.toFixed(2),
      figure.cpuMicroseconds.toFixed(1),
      `${Math.round(figure.busy * 100)} %`,
      times(rates.throughput, figure.entrant.name, limit),
      times(rates.perCpu, figure.entrant.name, limit),
      times(rates.throughput, service, figure.entrant.name),
      times(rates.perCpu, service, figure.entrant.name),
      String(figure.wrong),
    ]),
  );
}

/** Compares the cost of the same page in each plan with Enterprise accounts, which are never near their limit. */
function plansSection(results: Results): string[] {
  const { samples } = results;
  const cheapest = 'list-enterprise';
  const cost = (sample: Sample) => sample.cpuMicrosecondsPerRequest;
  const rows = scenarios.flatMap(({ name: scenario, callers }) =>
    callers === undefined
      ? []
      : figuresOf(results, scenario).map((figure) => {
          const contender = figure.entrant.name;
          const times = ratio(samples, cost, { scenario, contender }, { scenario: cheapest, contender });
          return [
            callers,
            nameOf(figure),
            Math.round(figure.requestsPerSecond).toLocaleString('en'),
            figure.p99Ms.toFixed(2),
            figure.cpuMicroseconds.toFixed(1),
            `${times.toFixed(2)} ×`,
            String(figure.wrong),
          ];
        }),
  );
  if (rows.length === 0) return [];
  const header = ['', '', 'requests/s', 'p99 ms', 'CPU µs/request', 'of Enterprise', 'wrong'];
  return [
    '### What a plan costs: the list page, held, by accounts of one plan within their limits',
    table(header, rows),
  ];
}

function nameOf({ entrant: { name, role } }: Figure): string {
  return role === 'service' ? `**${name}**` : name;
}

function entrantsTable({ entrants }: Results): string {
  return table(
    ['', 'peak memory MB', 'first answer ms'],
    entrants.map(({ title, peakMemoryMb, firstAnswerMs }) => [
      title,
      peakMemoryMb.toFixed(0),
      firstAnswerMs.toFixed(0),
    ]),
  );
}

function featuresTable({ entrants }: Results): string {
  const those = entrants.filter(({ role }) => role !== 'limit');
  return table(
    ['', ...those.map(({ name }) => name)],
    features.map((feature) => [feature, ...those.map(({ does }) => (does.includes(feature) ? 'yes' : '–'))]),
  );
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = header.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}
