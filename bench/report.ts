/** The comparison in Markdown. */
import { mostForeign } from './quiet.ts';
import { scenarios } from './scenarios.ts';
import {
  type Figure,
  figuresOf,
  type Goal,
  goalsOf,
  limitOf,
  type Results,
  ratio,
  service,
} from './summary.ts';

type Conditions = Omit<Results, 'animals' | 'entrants'>;

export function comparisonMarkdown(results: Results): string {
  return [
    `${conditions(results)} Every store holds ${results.animals.toLocaleString('en')} animals.`,
    goalsTable(goalsOf(results)),
    ...scenarios.flatMap(({ name, title }) => {
      const figures = figuresOf(results, name);
      return figures.length === 0 ? [] : [`### ${title}`, scenarioTable(results, name, figures)];
    }),
    '### Memory, first answer, and what each leaves out',
    entrantsTable(results),
  ].join('\n\n');
}

/** Under which conditions figures were taken. */
export function conditions(results: Conditions): string {
  const { measuredAt, machine, rounds, seconds, connections, samples } = results;
  const disturbed = samples.filter(({ foreign }) => foreign > mostForeign).length;
  return (
    `Measured ${measuredAt.slice(0, 10)}: ${connections} connections, ${rounds} interleaved rounds of ${seconds} s, ` +
    `medians. ${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}; ` +
    `Bun ${machine.bun}, Node ${machine.node}; load by ${machine.loadGenerator}` +
    `${machine.pinned ? ', server and load generator on a core each' : ', nothing pinned'}; ` +
    `a durable write of 4 KiB takes ${machine.syncMicroseconds} µs on this disk. ` +
    `In ${disturbed} of ${samples.length} runs other programs took more than ${mostForeign * 100} % of a core.`
  );
}

export function goalsTable(goals: readonly Goal[]): string {
  return table(
    ['To reach', 'wanted', 'measured', ''],
    goals.map(({ text, wanted, measured, met }) => [text, wanted, measured, met ? 'met' : '**missed**']),
  );
}

function scenarioTable(results: Results, scenario: string, figures: readonly Figure[]): string {
  const limit = limitOf(results);
  const times = (value: number) => (Number.isNaN(value) ? '–' : `${value.toFixed(2)} ×`);
  return table(
    [
      '',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU µs/request',
      `of ${limit ?? 'the limit'}`,
      'service is',
      'core busy',
      'wrong',
    ],
    figures.map((figure) => [
      nameOf(figure),
      Math.round(figure.requestsPerSecond).toLocaleString('en'),
      figure.p50Ms.toFixed(2),
      figure.p99Ms.toFixed(2),
      figure.cpuMicroseconds.toFixed(1),
      limit === undefined ? '–' : times(ratio(results, scenario, figure.entrant.name, limit)),
      figure.entrant.name === service ? '' : times(ratio(results, scenario, service, figure.entrant.name)),
      `${Math.round(figure.busy * 100)} %`,
      String(figure.wrong),
    ]),
  );
}

function nameOf({ entrant: { name, role } }: Figure): string {
  return role === 'service' ? `**${name}**` : name;
}

function entrantsTable({ entrants }: Results): string {
  return table(
    ['', 'peak memory MB', 'first answer ms', 'what it leaves out'],
    entrants.map(({ title, peakMemoryMb, firstAnswerMs, lacks }) => [
      title,
      peakMemoryMb.toFixed(0),
      firstAnswerMs.toFixed(0),
      lacks,
    ]),
  );
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = header.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}
