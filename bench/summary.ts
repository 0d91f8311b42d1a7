/** From samples to figures: medians over the rounds, ratios within each round, and what was to be reached. */
import type { Role } from './contender.ts';
import type { Machine } from './machine.ts';
import type { Sample } from './measure.ts';
import { median } from './statistics.ts';

/** A contender as the results know it. */
export interface Entrant {
  readonly name: string;
  readonly title: string;
  readonly role: Role;
  readonly runtime: string;
  readonly durable: boolean;
  readonly lacks: string;
  readonly firstAnswerMs: number;
  readonly peakMemoryMb: number;
}

export interface Results {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly animals: number;
  readonly entrants: readonly Entrant[];
  readonly samples: readonly Sample[];
}

export interface Figure {
  readonly entrant: Entrant;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicroseconds: number;
  readonly busy: number;
  readonly wrong: number;
}

/** The medians of every contender under one load, the fastest first. */
export function figuresOf({ entrants, samples }: Results, scenario: string): Figure[] {
  const figures = entrants.flatMap((entrant): Figure[] => {
    const own = samples.filter((sample) => sample.scenario === scenario && sample.contender === entrant.name);
    if (own.length === 0) return [];
    const of = (field: (sample: Sample) => number) => median(own.map(field));
    return [
      {
        entrant,
        requestsPerSecond: of((sample) => sample.requestsPerSecond),
        p50Ms: of((sample) => sample.p50Ms),
        p99Ms: of((sample) => sample.p99Ms),
        cpuMicroseconds: of((sample) => sample.cpuMicrosecondsPerRequest),
        busy: of((sample) => sample.busy),
        wrong: own.reduce((sum, sample) => sum + sample.wrong, 0),
      },
    ];
  });
  return figures.sort((a, b) => b.requestsPerSecond - a.requestsPerSecond);
}

/**
 * How many times the throughput of the other one contender had: the median of the rounds' own ratios, so that a
 * disturbance of the machine that lasted longer than one run falls on both.
 */
export function ratio(
  { samples }: Results,
  scenario: string,
  one: string,
  other: string,
  otherScenario = scenario,
): number {
  const rates = (name: string, under: string) =>
    new Map(
      samples
        .filter((sample) => sample.scenario === under && sample.contender === name)
        .map((sample) => [sample.round, sample.requestsPerSecond]),
    );
  const others = rates(other, otherScenario);
  return median([...rates(one, scenario)].map(([round, rate]) => rate / (others.get(round) ?? Number.NaN)));
}

export interface Goal {
  readonly text: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

export const service = 'animal-store';

/** The limit the service is compared with: nginx, or Bun where nginx is not installed. */
export function limitOf({ entrants }: Results): string | undefined {
  const limits = entrants.filter(({ role }) => role === 'limit').map(({ name }) => name);
  return limits.includes('nginx') ? 'nginx' : limits[0];
}

/** The fastest under a load of those that fit. */
function best(results: Results, scenario: string, fits: (entrant: Entrant) => boolean): string | undefined {
  return figuresOf(results, scenario).find(({ entrant }) => entrant.role === 'peer' && fits(entrant))?.entrant
    .name;
}

/** What issue and contract ask for, and whether this run reached it. */
export function goalsOf(results: Results): Goal[] {
  const limit = limitOf(results);
  const against = (
    text: string,
    scenario: string,
    other: string | undefined,
    wanted: number,
    from = scenario,
  ) =>
    other === undefined
      ? []
      : [goalAtLeast(text.replace('{}', other), ratio(results, scenario, service, other, from), wanted)];
  const own = results.entrants.find(({ name }) => name === service);
  const slowest = Math.max(
    ...['list', 'pet', 'create', 'refused', 'mixed'].map(
      (scenario) => figuresOf(results, scenario).find(({ entrant }) => entrant === own)?.p99Ms ?? Number.NaN,
    ),
  );
  return [
    ...against('List page against {}', 'list', limit, 0.5),
    ...against('One animal by id against {}', 'pet', limit, 0.4),
    ...against('429 against {}', 'refused', limit, 0.45),
    ...against('429 of a banned key against {}', 'banned', limit, 0.45, 'refused'),
    ...against(
      'Durable POST against the best peer as durable ({})',
      'create',
      best(results, 'create', (peer) => peer.durable),
      3,
    ),
    ...against(
      'List page against the best Node peer ({})',
      'list',
      best(results, 'list', (peer) => peer.runtime === 'node'),
      4,
    ),
    {
      text: 'p99 at 64 connections, the worst load (list, by id, POST, 429, mixed)',
      wanted: '< 3 ms',
      measured: `${slowest.toFixed(2)} ms`,
      met: slowest < 3,
    },
    {
      text: `Peak memory with ${results.animals.toLocaleString('en')} animals`,
      wanted: '< 100 MB',
      measured: `${own?.peakMemoryMb.toFixed(0)} MB`,
      met: (own?.peakMemoryMb ?? Number.NaN) < 100,
    },
  ];
}

function goalAtLeast(text: string, measured: number, wanted: number): Goal {
  return {
    text,
    wanted: `≥ ${wanted.toFixed(2)} ×`,
    measured: `${measured.toFixed(2)} ×`,
    met: measured >= wanted,
  };
}
