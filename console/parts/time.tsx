import { formatDateTime, formatRelative } from '../format.ts';

/** A relative time, with the exact time in a tooltip. Set `isAhead` if the time is in the future. */
export function Time({ at, isAhead = false }: { at: string; isAhead?: boolean }) {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatRelative(at, isAhead)}
    </time>
  );
}
