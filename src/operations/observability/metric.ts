/** Building blocks for metrics. All metrics are listed in `metrics.ts`. */
import type { StoreFacts } from '../../storage/admin.ts';

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly suffix?: string;
  readonly labels?: Labels;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const prefix = 'animal_store_';

export type MetricValue = Sample | StoreFacts[string] | undefined;

export function labeledSample(labels: Labels, value: StoreFacts[string] | undefined): Sample | undefined {
  return typeof value === 'number' ? { labels, value } : undefined;
}

export function metric(type: MetricType, name: string, help: string, values: readonly MetricValue[]): Metric {
  const samples = values.flatMap((value) => {
    if (typeof value === 'number') return [{ value }];
    return typeof value === 'object' && value !== null ? [value] : [];
  });
  return { name: prefix + name, type, help, samples };
}

export const counter = (name: string, help: string, ...values: MetricValue[]) =>
  metric('counter', name, help, values);
export const gauge = (name: string, help: string, ...values: MetricValue[]) =>
  metric('gauge', name, help, values);

export function summary(
  name: string,
  help: string,
  sum: number | undefined,
  count: number | undefined,
): Metric {
  const isKnown = sum !== undefined && count !== undefined;
  const samples = [
    { suffix: '_sum', value: sum ?? 0 },
    { suffix: '_count', value: count ?? 0 },
  ];
  return metric('summary', name, help, isKnown ? samples : []);
}
