/** A dialog that asks for confirmation before an action. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isTyped, quoteName } from '../text.ts';
import { TextField } from './form.tsx';
import { type DialogCallbacks, FormDialog } from './form-dialog.tsx';

interface ConfirmProps extends DialogCallbacks {
  /** The question, such as `Revoke key website?` */
  readonly title: string;
  /** Describes the consequences. */
  readonly children: ComponentChildren;
  /** Label of the confirm button. */
  readonly act: string;
  /** Label of the button that closes the dialog. Defaults to `Cancel`. */
  readonly cancel?: string;
  /** Name that the operator must type to confirm an action that is irreversible or interrupts clients. */
  readonly typed?: string;
  readonly isDanger?: boolean;
  /** Runs the action, and returns the text of the notification. */
  readonly onConfirm: () => Promise<string>;
}

export function Confirm(props: ConfirmProps) {
  const { title, children, act, typed, isDanger = typed !== undefined, onConfirm, ...ends } = props;
  const [name, setName] = useState('');
  return (
    <FormDialog
      {...ends}
      title={title}
      submit={act}
      look={isDanger ? 'danger' : 'primary'}
      isReady={typed === undefined || isTyped(name, typed)}
      onSubmit={onConfirm}
    >
      {() => (
        <>
          <div class="effect">{children}</div>
          {typed !== undefined && (
            <>
              <p class="to-type">
                To confirm, type <strong>{quoteName(typed)}</strong>
              </p>
              <TextField label="Name" name="typed" value={name} onInput={setName} />
            </>
          )}
        </>
      )}
    </FormDialog>
  );
}
