/** A dialog that asks for confirmation before an action. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isTyped, named } from '../text.ts';
import { TextField } from './form.tsx';
import { type Ends, FormDialog } from './form-dialog.tsx';

interface ConfirmProps extends Ends {
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
                To confirm, type <strong>{named(typed)}</strong>
              </p>
              <TextField label="Name" name="typed" value={name} onInput={setName} />
            </>
          )}
        </>
      )}
    </FormDialog>
  );
}
