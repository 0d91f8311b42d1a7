/** Performance goals, and whether a comparison met them. */
import { floor } from './limits.ts';
import type { Sample } from './measure.ts';
import { median } from './statistics.ts';
import {
  cost,
  type Entrant,
  formatLimit,
  type Results,
  rates,
  ratio,
  service,
  summarize,
} from './summary.ts';
import { maxForeignShare } from './wait-until-quiet.ts';

export interface Goal {
  readonly text: string;
  readonly wanted: string;
  readonly measured: string;
  /** The result in requests per second of CPU time. */
  readonly perCpu?: string;
  readonly met: boolean;
  /** Whether the figure is unaffected by other programs on the machine. */
  readonly steady?: true;
}

/** Goal for a ratio with a minimum. */
export function atLeast(min: number, text: string, measured: number): Goal {
  return {
    text,
    wanted: `≥ ${min.toFixed(2)} ×`,
    measured: `${measured.toFixed(2)} ×`,
    met: measured >= min,
  };
}

/** Goal for a ratio with a maximum. */
export function atMost(max: number, text: string, measured: number): Goal {
  return { ...atLeast(max, text, measured), wanted: `≤ ${max.toFixed(2)} ×`, met: measured <= max };
}

/** Maximum ratio of a POST's p99 latency to its p50 latency. */
const maxSpread = 3;
/** Maximum ratio of the CPU time of a list page for a Free key to the CPU time for an Enterprise key. */
const maxPlanCost = 1.1;
const maxMemoryMb = 145;

/** Returns the goals for the measured loads and contenders, and omits all other goals. */
export function checkGoals(results: Results): Goal[] {
  const limit = formatLimit(results);
  const durable = best(results, 'create', (peer) => peer.does.includes('durable POST'));
  const onBun = best(results, 'pet', (peer) => peer.runtime === 'bun');
  const onNode = best(results, 'list', (peer) => peer.runtime === 'node' && peer.does.includes('key lookup'));
  return [
    ...against(results, 'List page vs. {}', 'list', floor, 0.85),
    ...against(results, '429 vs. {}', 'refused', floor, 0.85),
    ...against(results, '429 for a banned key vs. {}', 'banned', floor, 0.85, 'refused'),
    ...against(results, 'One animal by id vs. the fastest peer on Bun ({})', 'pet', onBun, 1.3),
    ...against(results, 'Mixed requests vs. {}', 'mixed', limit, 0.36),
    ...against(results, 'Durable POST vs. the fastest peer with durable POST ({})', 'create', durable, 5.5),
    ...against(results, 'PATCH vs. POST', 'update', service, 0.8, 'create'),
    ...against(results, 'Placing an order vs. POST', 'order', service, 0.5, 'create'),
    ...against(results, 'List page vs. the fastest Node.js peer ({})', 'list', onNode, 4),
    ...planGoal(results),
    ...spreadGoal(results),
    memoryGoal(results),
  ];
}

/** Returns the fastest matching contender under a load. */
function best(results: Results, scenario: string, fits: (entrant: Entrant) => boolean): string | undefined {
  return summarize(results, scenario).find(({ entrant }) => entrant.role === 'peer' && fits(entrant))?.entrant
    .name;
}

/** Compares the service's rate under a load with another contender's rate under the same or a different load. */
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
  if (Number.isNaN(measured)) return [];
  const goal = atLeast(wanted, text.replace('{}', other), measured);
  return [{ ...goal, perCpu: `${compared(rates.perCpu).toFixed(2)} ×` }];
}

/** Goal for how much more a request costs in the smallest plan than in the largest. */
function planGoal({ samples }: Results): Goal[] {
  const side = (scenario: string) => ({ scenario, contender: service });
  const measured = ratio(samples, cost, side('list-free'), side('list-enterprise'));
  if (Number.isNaN(measured)) return [];
  return [atMost(maxPlanCost, 'CPU time per list page, Free key vs. Enterprise key', measured)];
}

/**
 * Goal for the p99 latency of POST relative to its median, in rounds that were not disturbed by other programs.
 */
function spreadGoal({ samples }: Results): Goal[] {
  const own = samples.filter(
    ({ scenario, contender, foreign }) =>
      scenario === 'create' && contender === service && foreign <= maxForeignShare,
  );
  if (own.length === 0) return [];
  const measured = median(own.map(({ p50Ms, p99Ms }) => p99Ms / p50Ms));
  return [atMost(maxSpread, 'POST latency, p99 vs. p50, in undisturbed rounds', measured)];
}

function memoryGoal({ entrants, animals }: Results): Goal {
  const peakMb = entrants.find(({ name }) => name === service)?.peakMemoryMb ?? Number.NaN;
  return {
    text: `Peak memory with ${animals.toLocaleString('en')} animals`,
    wanted: `≤ ${maxMemoryMb} MB`,
    measured: `${peakMb.toFixed(0)} MB`,
    met: peakMb <= maxMemoryMb,
    steady: true,
  };
}
