/** What is to be reached, and whether a comparison reached it. */
import type { Sample } from './measure.ts';
import { type Entrant, figuresOf, limitOf, type Results, rates, ratio, service } from './summary.ts';

export interface Goal {
  readonly text: string;
  readonly wanted: string;
  readonly measured: string;
  /** The same by processor time. */
  readonly perCpu?: string;
  readonly met: boolean;
  /** Whether other programs on the machine leave the figure as it is. */
  readonly steady?: true;
}

const mostP99Ms = 3;
const mostMemoryMb = 100;

export function goalsOf(results: Results): Goal[] {
  const limit = limitOf(results);
  const durable = best(results, 'create', (peer) => peer.does.includes('durable POST'));
  const onNode = best(
    results,
    'list',
    (peer) => peer.runtime === 'node' && peer.does.includes('key look-up'),
  );
  return [
    ...against(results, 'List page against {}', 'list', limit, 0.5),
    ...against(results, 'One animal by id against {}', 'pet', limit, 0.4),
    ...against(results, '429 against {}', 'refused', limit, 0.45),
    ...against(results, '429 of a banned key against {}', 'banned', limit, 0.45, 'refused'),
    ...against(results, 'Durable POST against the best peer as durable ({})', 'create', durable, 3),
    ...against(results, 'List page against the best Node peer ({})', 'list', onNode, 4),
    latencyGoal(results),
    memoryGoal(results),
  ];
}

/** The fastest under a load of those that fit. */
function best(results: Results, scenario: string, fits: (entrant: Entrant) => boolean): string | undefined {
  return figuresOf(results, scenario).find(({ entrant }) => entrant.role === 'peer' && fits(entrant))?.entrant
    .name;
}

/** How the service's rate under a load is to compare with another's, under the same or another load. */
function against(
  { samples }: Results,
  text: string,
  scenario: string,
  other: string | undefined,
  wanted: number,
  otherScenario = scenario,
): Goal[] {
  if (other === undefined) return [];
  const compared = (rate: (sample: Sample) => number) =>
    ratio(samples, rate, { scenario, contender: service }, { scenario: otherScenario, contender: other });
  const measured = compared(rates.throughput);
  return [
    {
      text: text.replace('{}', other),
      wanted: `≥ ${wanted.toFixed(2)} ×`,
      measured: `${measured.toFixed(2)} ×`,
      perCpu: `${compared(rates.perCpu).toFixed(2)} ×`,
      met: measured >= wanted,
    },
  ];
}

function latencyGoal(results: Results): Goal {
  const slowest = Math.max(
    ...['list', 'pet', 'create', 'refused', 'mixed'].map(
      (scenario) =>
        figuresOf(results, scenario).find(({ entrant }) => entrant.name === service)?.p99Ms ?? Number.NaN,
    ),
  );
  return {
    text: `p99 at ${results.connections} connections, the worst load (list, by id, POST, 429, mixed)`,
    wanted: `< ${mostP99Ms} ms`,
    measured: `${slowest.toFixed(2)} ms`,
    met: slowest < mostP99Ms,
  };
}

function memoryGoal({ entrants, animals }: Results): Goal {
  const peakMb = entrants.find(({ name }) => name === service)?.peakMemoryMb ?? Number.NaN;
  return {
    text: `Peak memory with ${animals.toLocaleString('en')} animals`,
    wanted: `< ${mostMemoryMb} MB`,
    measured: `${peakMb.toFixed(0)} MB`,
    met: peakMb < mostMemoryMb,
    steady: true,
  };
}
