/** Form fields to choose a plan and, for `enterprise`, its limits. */
import { maxQuota, type PlanName, planNames, plans } from '../../src/domain/plan.ts';
import type { Failure } from '../api.ts';
import { formatInteger } from '../format.ts';
import { planLabels } from '../labels.ts';
import { SelectField, TextField } from './form.tsx';

export interface PlanChoice {
  readonly plan: PlanName;
  /** The limit as typed. Only `enterprise` has custom limits. */
  readonly perMinute: string;
  readonly perDay: string;
}

/** Converts the choice to fields of a request body. */
export function toPlanFields({ plan, perMinute, perDay }: PlanChoice) {
  if (plan !== 'enterprise') return { plan };
  return { plan, perMinute: Number(perMinute), perDay: Number(perDay) };
}

/** Error message for a typed limit; undefined if it is valid or empty. */
function limitError(typed: string): string | undefined {
  if (typed === '') return undefined;
  const isWithin = /^\d+$/.test(typed) && Number(typed) >= 1 && Number(typed) <= maxQuota;
  return isWithin ? undefined : `must be a whole number from 1 to ${formatInteger(maxQuota)}`;
}

/** Whether the choice is complete and valid. */
export function isPlanReady({ plan, perMinute, perDay }: PlanChoice): boolean {
  return plan !== 'enterprise' || [perMinute, perDay].every((typed) => typed !== '' && !limitError(typed));
}

const options = planNames.map((name) => [name, `${planLabels[name]} – ${describeLimits(name)}`] as const);

function describeLimits(name: PlanName): string {
  if (name === 'enterprise') return 'custom limits';
  const { perMinute, perDay } = plans[name];
  return `${formatInteger(perMinute)} per minute, ${formatInteger(perDay)} per day`;
}

interface PlanFieldsProps {
  readonly choice: PlanChoice;
  readonly onChange: (choice: PlanChoice) => void;
  readonly failure: Failure | undefined;
}

export function PlanFields({ choice, onChange, failure }: PlanFieldsProps) {
  const quota = (name: 'perMinute' | 'perDay', label: string) => (
    <TextField
      label={label}
      name={name}
      type="number"
      required
      value={choice[name]}
      onInput={(value) => onChange({ ...choice, [name]: value })}
      failure={failure}
      mistake={limitError(choice[name])}
    />
  );
  return (
    <>
      <SelectField
        label="Plan"
        name="plan"
        value={choice.plan}
        options={options}
        onChange={(plan) => onChange({ ...choice, plan })}
        failure={failure}
      />
      {choice.plan === 'enterprise' && (
        <div class="pair">
          {quota('perMinute', 'Requests per minute')}
          {quota('perDay', 'Requests per day')}
        </div>
      )}
    </>
  );
}
