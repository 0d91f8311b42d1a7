/** Outcomes of requests by status class, as used in plots and tables. */
export const outcomes = [
  { name: 'ok', text: 'Success (2xx, 3xx)', color: '--plot-good' },
  { name: 'refused', text: 'Client errors (4xx)', color: '--plot-note' },
  { name: 'limited', text: 'Rate limited (429)', color: '--plot-warn' },
  { name: 'failed', text: 'Server errors (5xx)', color: '--plot-bad' },
] as const;

export type Counts = Readonly<Record<(typeof outcomes)[number]['name'], number>>;

export function sumCounts(counts: readonly Counts[]): Counts {
  const sum = (name: keyof Counts) => counts.reduce((total, count) => total + count[name], 0);
  return { ok: sum('ok'), refused: sum('refused'), limited: sum('limited'), failed: sum('failed') };
}

export function totalRequests({ ok, refused, limited, failed }: Counts): number {
  return ok + refused + limited + failed;
}
