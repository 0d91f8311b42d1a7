/** The package does not include type declarations. */
declare module 'parse-prometheus-text-format' {
  interface ParsedMetric {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly {
      readonly value?: string;
      readonly labels?: Readonly<Record<string, string>>;
      readonly buckets?: Readonly<Record<string, string>>;
      readonly count?: string;
      readonly sum?: string;
    }[];
  }
  export default function parsePrometheusTextFormat(text: string): readonly ParsedMetric[];
}
