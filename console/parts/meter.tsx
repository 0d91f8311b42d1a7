/** A bar that shows how much of a limit is used. */
import type { ComponentChildren } from 'preact';
import { formatInteger } from '../format.ts';

interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  /** The hint below the bar. */
  readonly children: ComponentChildren;
}

const nearlyAll = 0.8;

export function Meter({ label, used, limit, children }: MeterProps) {
  const part = limit === 0 ? 1 : Math.min(used / limit, 1);
  const tone = part >= 1 ? 'bad' : part >= nearlyAll ? 'warn' : 'good';
  return (
    <div class="meter">
      <p>
        <span>{label}</span>
        <span class="numbers">
          <strong>{formatInteger(used)}</strong> of {formatInteger(limit)}
        </span>
      </p>
      <div class={`bar ${tone}`} aria-hidden="true">
        <span style={{ inlineSize: `${part * 100}%` }} />
      </div>
      <p class="hint">{children}</p>
    </div>
  );
}
