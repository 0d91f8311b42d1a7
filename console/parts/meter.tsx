/** A bar for a used share of a limit. */
import { grouped } from '../format.ts';
import { Time } from './time.tsx';

interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly resetAt: string | null;
}

const nearlyAll = 0.8;

export function Meter({ label, used, limit, resetAt }: MeterProps) {
  const part = limit === 0 ? 1 : Math.min(used / limit, 1);
  const tone = part >= 1 ? 'bad' : part >= nearlyAll ? 'warn' : 'good';
  return (
    <div class="meter">
      <p>
        <span>{label}</span>
        <span class="numbers">
          <strong>{grouped(used)}</strong> of {grouped(limit)}
        </span>
      </p>
      <div class={`bar ${tone}`} aria-hidden="true">
        <span style={{ inlineSize: `${part * 100}%` }} />
      </div>
      <p class="hint">
        {resetAt === null ? (
          'No request yet in this window'
        ) : (
          <>
            Resets <Time at={resetAt} />
          </>
        )}
      </p>
    </div>
  );
}
