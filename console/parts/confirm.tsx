/** Asks before something is done that matters. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { Form, TextField } from './form.tsx';

interface ConfirmProps {
  /** The question: `Revoke key website?` */
  readonly title: string;
  /** What will happen. */
  readonly children: ComponentChildren;
  /** On the button. */
  readonly act: string;
  readonly isDanger?: boolean;
  /** The name that has to be typed, where it cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

export function Confirm({ title, children, act, isDanger = false, typed, onConfirm, onClose }: ConfirmProps) {
  const [name, setName] = useState('');
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={act}
        look={isDanger ? 'danger' : 'primary'}
        isReady={typed === undefined || name.trim() === typed.trim()}
        onSubmit={confirm}
        onCancel={onClose}
      >
        {() => (
          <>
            <div class="effect">{children}</div>
            {typed !== undefined && (
              <>
                <p class="to-type">
                  To go on, type <strong>{typed}</strong>
                </p>
                <TextField label="Name" name="typed" value={name} onInput={setName} />
              </>
            )}
          </>
        )}
      </Form>
    </Dialog>
  );
}
