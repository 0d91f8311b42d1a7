import { fromNow, instant } from '../format.ts';

/** An instant, told from now; exactly when one points at it. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={instant(at)}>
      {fromNow(at)}
    </time>
  );
}
