/** From samples to figures: medians over the rounds, ratios within each round, and what was to be reached. */
import type { Role } from './contender.ts';
import type { Feature } from './features.ts';
import type { Machine } from './machine.ts';
import type { Sample } from './measure.ts';
import { median } from './statistics.ts';

/** A contender as the results know it. */
export interface Entrant {
  readonly name: string;
  readonly title: string;
  readonly role: Role;
  readonly runtime: string;
  readonly does: readonly Feature[];
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

/** What is compared: throughput, or requests per second of processor time, which other programs disturb least. */
export const rates = {
  throughput: (sample: Sample) => sample.requestsPerSecond,
  perCpu: (sample: Sample) => 1_000_000 / sample.cpuMicrosecondsPerRequest,
} as const;

/** A contender under a load. */
export interface Side {
  readonly scenario: string;
  readonly contender: string;
}

/**
 * How many times the rate of the other side one side had: the median of the rounds' own ratios, so that a
 * disturbance of the machine that lasted longer than one run falls on both.
 */
export function ratio(
  samples: readonly Sample[],
  rate: (sample: Sample) => number,
  one: Side,
  other: Side,
): number {
  const byRound = ({ scenario, contender }: Side) =>
    new Map(
      samples
        .filter((sample) => sample.scenario === scenario && sample.contender === contender)
        .map((sample) => [sample.round, rate(sample)]),
    );
  const others = byRound(other);
  return median([...byRound(one)].map(([round, value]) => value / (others.get(round) ?? Number.NaN)));
}

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

export const service = 'animal-store';

/** The limit the service is compared with: nginx, or Bun where nginx is not installed. */
export function limitOf({ entrants }: Pick<Results, 'entrants'>): string | undefined {
  const limits = entrants.filter(({ role }) => role === 'limit').map(({ name }) => name);
  return limits.includes('nginx') ? 'nginx' : limits[0];
}

/** The fastest under a load of those that fit. */
function best(results: Results, scenario: string, fits: (entrant: Entrant) => boolean): string | undefined {
  return figuresOf(results, scenario).find(({ entrant }) => entrant.role === 'peer' && fits(entrant))?.entrant
    .name;
}

/** What is to be reached, and whether this run reached it. */
export function goalsOf(results: Results): Goal[] {
  const limit = limitOf(results);
  const against = (
    text: string,
    scenario: string,
    other: string | undefined,
    wanted: number,
    from = scenario,
  ) => {
    if (other === undefined) return [];
    const compared = (rate: (sample: Sample) => number) =>
      ratio(results.samples, rate, { scenario, contender: service }, { scenario: from, contender: other });
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
  };
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
      best(results, 'create', (peer) => peer.does.includes('durable POST')),
      3,
    ),
    ...against(
      'List page against the best Node peer ({})',
      'list',
      best(results, 'list', (peer) => peer.runtime === 'node' && peer.does.includes('key look-up')),
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
      steady: true,
    },
  ];
}
