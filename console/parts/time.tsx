import { fromNow, instant } from '../format.ts';

/** A relative time. Set `isAhead` for future times. */
export function Time({ at, isAhead = false }: { at: string; isAhead?: boolean }) {
  return (
    <time dateTime={at} title={instant(at)}>
      {fromNow(at, isAhead)}
    </time>
  );
}
