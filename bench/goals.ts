/** What is to be reached, and whether a comparison reached it. */
import type { Sample } from './measure.ts';
import { mostForeign } from './quiet.ts';
import { median } from './statistics.ts';
import { type Entrant, figuresOf, limitOf, type Results, rates, ratio, service } from './summary.ts';

export interface Goal {
  readonly text: string;
  readonly wanted: string;
  readonly measured: string;
  /** The same by processor time. */
  readonly perCpu?: string;
  readonly met: boolean;
  /** Met, but by so little that another machine or another day may miss it. */
  readonly barely?: boolean;
  /** Whether other programs on the machine leave the figure as it is. */
  readonly steady?: true;
}

/** The rate to reach, as a part or a multiple of another's, and the one that has room for another day. */
interface Least {
  readonly wanted: number;
  readonly safe?: number;
}

/** The p99 of creations, in times of their p50. */
const mostSpread = 3;
/** A Free key's list page, in times of an Enterprise key's. */
const mostPlanCost = 1.1;
const mostMemoryMb = 110;

/** Goals of what was measured; those of loads and contenders that were left out are missing. */
export function goalsOf(results: Results): Goal[] {
  const limit = limitOf(results);
  const durable = best(results, 'create', (peer) => peer.does.includes('durable POST'));
  const onBun = best(results, 'pet', (peer) => peer.runtime === 'bun');
  const onNode = best(
    results,
    'list',
    (peer) => peer.runtime === 'node' && peer.does.includes('key look-up'),
  );
  return [
    ...against(results, 'List page against {}', 'list', limit, { wanted: 0.5, safe: 0.55 }),
    ...against(results, 'One animal by id against {}', 'pet', limit, { wanted: 0.33 }),
    ...against(results, 'One animal by id against the best peer on Bun ({})', 'pet', onBun, { wanted: 1.5 }),
    ...against(results, '429 against {}', 'refused', limit, { wanted: 0.45, safe: 0.5 }),
    ...against(
      results,
      '429 of a banned key against {}',
      'banned',
      limit,
      { wanted: 0.45, safe: 0.5 },
      'refused',
    ),
    ...against(results, 'Mixed requests against {}', 'mixed', limit, { wanted: 0.4 }),
    ...against(results, 'Durable POST against the best peer as durable ({})', 'create', durable, {
      wanted: 6,
    }),
    ...against(results, 'PATCH against POST', 'update', service, { wanted: 0.8 }, 'create'),
    ...against(results, 'Placing an order against POST', 'order', service, { wanted: 0.5 }, 'create'),
    ...against(results, 'List page against the best Node peer ({})', 'list', onNode, { wanted: 4 }),
    ...planGoal(results),
    ...spreadGoal(results),
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
  { wanted, safe = wanted }: Least,
  otherScenario = scenario,
): Goal[] {
  if (other === undefined) return [];
  const compared = (rate: (sample: Sample) => number) =>
    ratio(samples, rate, { scenario, contender: service }, { scenario: otherScenario, contender: other });
  const measured = compared(rates.throughput);
  if (Number.isNaN(measured)) return [];
  return [
    {
      text: text.replace('{}', other),
      wanted: `≥ ${wanted.toFixed(2)} ×${safe > wanted ? `, with room ${safe.toFixed(2)}` : ''}`,
      measured: `${measured.toFixed(2)} ×`,
      perCpu: `${compared(rates.perCpu).toFixed(2)} ×`,
      met: measured >= wanted,
      barely: measured < safe,
    },
  ];
}

/** What a request of the smallest plan costs more than one of the largest. */
function planGoal({ samples }: Results): Goal[] {
  const side = (scenario: string) => ({ scenario, contender: service });
  const cost = (sample: Sample) => sample.cpuMicrosecondsPerRequest;
  const measured = ratio(samples, cost, side('list-free'), side('list-enterprise'));
  if (Number.isNaN(measured)) return [];
  return [
    {
      text: 'CPU of a Free key’s list page against an Enterprise key’s',
      wanted: `≤ ${mostPlanCost.toFixed(2)} ×`,
      measured: `${measured.toFixed(2)} ×`,
      met: measured <= mostPlanCost,
    },
  ];
}

/** How much longer the slowest creations take, in the rounds that no other program disturbed. */
function spreadGoal({ samples }: Results): Goal[] {
  const own = samples.filter(
    ({ scenario, contender, foreign }) =>
      scenario === 'create' && contender === service && foreign <= mostForeign,
  );
  if (own.length === 0) return [];
  const measured = median(own.map(({ p50Ms, p99Ms }) => p99Ms / p50Ms));
  return [
    {
      text: 'p99 of POST against its p50, undisturbed',
      wanted: `≤ ${mostSpread.toFixed(2)} ×`,
      measured: `${measured.toFixed(2)} ×`,
      met: measured <= mostSpread,
    },
  ];
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
