import type { Labels, Metric } from '../../operations/observability/metric.ts';

/** Prometheus' text format, version 0.0.4, which every scraper supports. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

export function formatMetrics(metrics: readonly Metric[]): string {
  return metrics.map(formatMetric).join('');
}

function formatMetric({ name, type, help, samples }: Metric): string {
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${formatLabels(labels)} ${formatValue(value)}\n`,
  );
  return `# HELP ${name} ${escapeLabel(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function formatLabels(labels: Labels | undefined): string {
  if (labels === undefined) return '';
  const all = Object.entries(labels).map(
    ([name, value]) => `${name}="${escapeLabel(value).replaceAll('"', '\\"')}"`,
  );
  return `{${all.join(',')}}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
