/** A dialog with a form. It closes with a notice after success. */
import type { ComponentChildren } from 'preact';
import type { Failure } from '../api.ts';
import type { Look } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';
import { notify } from './notices.tsx';

/** Callbacks for the end of a dialog. */
export interface Ends {
  readonly onClose: () => void;
  /** Called after a change, before the dialog closes. */
  readonly onDone?: () => void;
}

interface FormDialogProps extends Ends {
  readonly title: string;
  /** On the button. */
  readonly submit: string;
  readonly look?: Look;
  readonly isReady?: boolean;
  /** Submits the form and returns the text of the notice. If it throws, the dialog shows the error and stays open. */
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
