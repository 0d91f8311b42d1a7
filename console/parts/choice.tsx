/** A group of radio buttons that shows all options. */
import { useId } from 'preact/hooks';

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

export function Choice<Value extends string>({ label, options, value, onChange }: ChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset class="switch">
      <legend class="unseen">{label}</legend>
      {options.map(([each, text]) => (
        <label key={each}>
          <input type="radio" name={name} checked={value === each} onChange={() => onChange(each)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
