/** What became of requests, as plots and tables tell it apart. */
export const outcomes = [
  { name: 'ok', text: 'Answered', colour: '--plot-good' },
  { name: 'refused', text: 'Refused as wrong', colour: '--plot-note' },
  { name: 'limited', text: 'Over the limit', colour: '--plot-warn' },
  { name: 'failed', text: 'Failed', colour: '--plot-bad' },
] as const;

export type Counts = Readonly<Record<(typeof outcomes)[number]['name'], number>>;

export function sumOf({ ok, refused, limited, failed }: Counts): number {
  return ok + refused + limited + failed;
}
