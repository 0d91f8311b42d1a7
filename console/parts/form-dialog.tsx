/** A dialog that is filled in: when what it does has come about, it says so and closes. */
import type { ComponentChildren } from 'preact';
import type { Failure } from '../api.ts';
import type { Look } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';
import { notify } from './notices.tsx';

/** What a dialog calls when it ends. */
export interface Ends {
  readonly onClose: () => void;
  /** Something was changed; the dialog closes next. */
  readonly onDone?: () => void;
}

interface FormDialogProps extends Ends {
  readonly title: string;
  /** On the button. */
  readonly submit: string;
  readonly look?: Look;
  readonly isReady?: boolean;
  /** Does it, and comes to what is said of it; what it throws is shown, and the dialog stays. */
  readonly onSubmit: () => Promise<string>;
  readonly children: (failure: Failure | undefined) => ComponentChildren;
}

export function FormDialog({ title, onSubmit, onDone, onClose, ...form }: FormDialogProps) {
  const submit = async () => {
    notify(await onSubmit());
    onDone?.();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} onSubmit={submit} onCancel={onClose} />
    </Dialog>
  );
}
