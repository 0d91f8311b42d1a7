/** Forms whose fields have labels, hints and errors. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Failure } from '../api.ts';
import { toFailure } from '../use-loaded.ts';
import { Button, type Look } from './button.tsx';
import { FailureNote } from './failure.tsx';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Field of the request body that this form field sets. Used to match errors to form fields. */
  readonly name: string;
  readonly failure?: Failure | undefined;
  /** Error message for the current value. */
  readonly mistake?: string | undefined;
  readonly children: (control: ControlProps) => ComponentChildren;
}

interface ControlProps {
  readonly id: string;
  readonly name: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

export function Field({ label, hint, name, failure, mistake, children }: FieldProps) {
  const id = useId();
  const reported = failure?.mistakes.filter((one) => one.name.split(/[.[]/)[0] === name) ?? [];
  const mistakes = mistake === undefined ? reported : [{ message: mistake }];
  const notes = hint !== undefined || mistakes.length > 0;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        name,
        'aria-describedby': notes ? `${id}-notes` : undefined,
        'aria-invalid': mistakes.length > 0,
      })}
      {notes && (
        <div id={`${id}-notes`}>
          {mistakes.map(({ message }) => (
            <p key={message} class="mistake">
              {label} {message}.
            </p>
          ))}
          {hint !== undefined && <p class="hint">{hint}</p>}
        </div>
      )}
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'search' | 'number' | 'date';
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
}

export function TextField({
  value,
  onInput,
  type = 'text',
  placeholder,
  autocomplete = 'off',
  required,
  ...field
}: TextFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <input
          {...control}
          // Preact's types require a single literal type.
          type={type as 'text'}
          value={value}
          placeholder={placeholder}
          autocomplete={autocomplete}
          required={required}
          spellcheck={false}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface TextAreaProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly maxLength: number;
}

export function TextArea({ value, onInput, maxLength, ...field }: TextAreaProps) {
  return (
    <Field {...field}>
      {(control) => (
        <textarea
          {...control}
          rows={5}
          maxLength={maxLength}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps<Value extends string> extends Omit<FieldProps, 'children'> {
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly onChange: (value: Value) => void;
}

export function SelectField<Value extends string>({
  value,
  options,
  onChange,
  ...field
}: SelectFieldProps<Value>) {
  return (
    <Field {...field}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
        >
          {options.map(([option, label]) => (
            <option key={option} value={option}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface FormProps {
  /** Submits the form. If it throws, the form shows the error. */
  readonly onSubmit: () => Promise<void>;
  readonly submit: string;
  readonly look?: Look;
  readonly onCancel?: () => void;
  /** Label of the cancel button. */
  readonly cancel?: string;
  /** Whether the form can be submitted. */
  readonly isReady?: boolean;
  readonly children: (failure: Failure | undefined) => ComponentChildren;
}

export function Form({
  onSubmit,
  submit,
  look = 'primary',
  onCancel,
  cancel = 'Cancel',
  isReady = true,
  children,
}: FormProps) {
  const [failure, setFailure] = useState<Failure>();
  const [isBusy, setIsBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    setIsBusy(true);
    setFailure(undefined);
    try {
      await onSubmit();
    } catch (error) {
      setFailure(toFailure(error));
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <form onSubmit={send}>
      {children(failure)}
      {failure && failure.code !== 'changed_meanwhile' && <FailureNote failure={failure} />}
      <footer>
        {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
        <Button type="submit" look={look} isBusy={isBusy} disabled={!isReady}>
          {submit}
        </Button>
      </footer>
    </form>
  );
}
