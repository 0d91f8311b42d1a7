/** Form fields for the expiry of a key: never, after a number of days, or on a date. */
import type { Failure } from '../api.ts';
import { formatDate } from '../format.ts';
import { SelectField, TextField } from './form.tsx';

const presets = [
  ['never', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['date', 'On a date'],
] as const;

interface ExpiryChoice {
  readonly preset: (typeof presets)[number][0];
  /** The chosen date, such as `2026-11-23`; empty until a date is chosen. */
  readonly day: string;
}

export const noExpiry: ExpiryChoice = { preset: 'never', day: '' };

const dayMs = 86_400_000;

/** Returns the expiry in Unix ms. Undefined if the key never expires or no date is chosen yet. */
export function expiryTime({ preset, day }: ExpiryChoice, now: number): number | undefined {
  if (preset === 'never') return undefined;
  if (preset !== 'date') return now + Number(preset) * dayMs;
  const at = new Date(`${day}T00:00:00`).getTime();
  return Number.isNaN(at) ? undefined : at;
}

/** Whether the choice is complete and valid. */
export function isExpiryReady(choice: ExpiryChoice, now: number): boolean {
  return choice.preset !== 'date' || (expiryTime(choice, now) ?? 0) > now;
}

interface ExpiryFieldsProps {
  readonly choice: ExpiryChoice;
  readonly onChange: (choice: ExpiryChoice) => void;
  readonly failure: Failure | undefined;
}

export function ExpiryFields({ choice, onChange, failure }: ExpiryFieldsProps) {
  const expiresAt = expiryTime(choice, Date.now());
  const isPast = expiresAt !== undefined && expiresAt <= Date.now();
  return (
    <div class="pair">
      <SelectField
        label="Expires"
        name="preset"
        value={choice.preset}
        options={presets}
        onChange={(preset) => onChange({ ...choice, preset })}
        hint={
          choice.preset === 'never' || expiresAt === undefined || isPast
            ? undefined
            : `Active until ${formatDate(expiresAt)}.`
        }
      />
      {choice.preset === 'date' && (
        <TextField
          label="Date"
          name="expiresAt"
          type="date"
          value={choice.day}
          onInput={(day) => onChange({ ...choice, day })}
          failure={failure}
          mistake={isPast ? 'must be in the future' : undefined}
          hint="The key expires at the start of that day."
        />
      )}
    </div>
  );
}
