import parsePrometheusTextFormat from 'parse-prometheus-text-format';

/** Parses metrics in the Prometheus text format with an independent parser. */
export function parseMetrics(text: string) {
  return parsePrometheusTextFormat(text).map(({ name, help, type, metrics }) => ({
    name,
    help,
    type: type.toLowerCase(),
    metrics,
  }));
}

/** The samples in a Prometheus response, keyed by name and labels exactly as written. */
export function samplesIn(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1).replace('Inf', 'Infinity'))];
    }),
  );
}

/** The names of the metrics in a PromQL expression. */
export function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\banimal_store_\w+/g)].map(([name]) => name);
}
