/** Summarizes samples: medians over all rounds, and ratios within each round. */
import type { Role } from './contender.ts';
import type { Feature } from './features.ts';
import type { Conditions } from './machine.ts';
import type { Sample } from './measure.ts';
import { median } from './statistics.ts';

/** A contender in the results. */
export interface Entrant {
  readonly name: string;
  readonly title: string;
  readonly role: Role;
  readonly runtime: string;
  readonly does: readonly Feature[];
  readonly firstAnswerMs: number;
  readonly peakMemoryMb: number;
}

export interface Results extends Conditions {
  readonly connections: number;
  readonly animals: number;
  readonly entrants: readonly Entrant[];
  readonly samples: readonly Sample[];
}

export interface ContenderSummary {
  readonly entrant: Entrant;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicroseconds: number;
  readonly busy: number;
  readonly wrong: number;
}

/** Returns the medians of each contender under a load, fastest first. */
export function summarize({ entrants, samples }: Results, scenario: string): ContenderSummary[] {
  const figures = entrants.flatMap((entrant): ContenderSummary[] => {
    const own = samplesOf(samples, { scenario, contender: entrant.name });
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

/** Metrics: throughput, and requests per second of CPU time, which is least affected by other programs. */
export const rates = {
  throughput: (sample: Pick<Sample, 'requestsPerSecond'>) => sample.requestsPerSecond,
  perCpu: (sample: Sample) => 1_000_000 / sample.cpuMicrosecondsPerRequest,
} as const;

/** One side of a comparison: a contender under a load. */
interface Side {
  readonly scenario: string;
  readonly contender: string;
}

export function samplesOf<One extends Side>(samples: readonly One[], { scenario, contender }: Side): One[] {
  return samples.filter((sample) => sample.scenario === scenario && sample.contender === contender);
}

/** CPU time per request, as a rate for `ratio`. */
export const cost = ({ cpuMicrosecondsPerRequest }: Sample) => cpuMicrosecondsPerRequest;

/**
 * Returns the rate of one side relative to the other. This is the median of the ratios within each round, because a
 * disturbance that is longer than a run affects both sides.
 */
export function ratio<One extends Side & { readonly round: number }>(
  samples: readonly One[],
  rate: (sample: One) => number,
  one: Side,
  other: Side,
): number {
  const byRound = (side: Side) =>
    new Map(samplesOf(samples, side).map((sample) => [sample.round, rate(sample)]));
  const others = byRound(other);
  return median([...byRound(one)].map(([round, value]) => value / (others.get(round) ?? Number.NaN)));
}

export const service = 'animal-store';

/** Returns the baseline of the service: nginx, or the minimal Bun server if nginx is not installed. */
export function formatLimit({ entrants }: Pick<Results, 'entrants'>): string | undefined {
  const limits = entrants.filter(({ role }) => role === 'limit').map(({ name }) => name);
  return limits.includes('nginx') ? 'nginx' : limits[0];
}
