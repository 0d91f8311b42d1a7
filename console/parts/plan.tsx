/** The choice of a plan, with limits of one's own where the plan has them. */
import { type PlanName, planNames, plans } from '../../src/domain/plan.ts';
import type { Failure } from '../api.ts';
import { grouped } from '../format.ts';
import { planWords } from '../words.ts';
import { SelectField, TextField } from './form.tsx';

export interface PlanChoice {
  readonly plan: PlanName;
  /** As typed; only `enterprise` has them. */
  readonly perMinute: string;
  readonly perDay: string;
}

/** The members of a request that stand for the choice. */
export function planMembers({ plan, perMinute, perDay }: PlanChoice) {
  if (plan !== 'enterprise') return { plan };
  return { plan, perMinute: Number(perMinute), perDay: Number(perDay) };
}

const options = planNames.map((name) => [name, `${planWords[name]} – ${limitsOf(name)}`] as const);

function limitsOf(name: PlanName): string {
  if (name === 'enterprise') return 'limits of its own';
  const { perMinute, perDay } = plans[name];
  return `${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
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
