/** A dialog with a form. After success it closes and shows a notification. */
import type { ComponentChildren } from 'preact';
import type { Failure } from '../api.ts';
import type { Look } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';
import { notify } from './notices.tsx';

/** Callbacks that run when a dialog ends. */
export interface DialogCallbacks {
  readonly onClose: () => void;
  /** Called after a change, before the dialog closes. */
  readonly onDone?: () => void;
}

interface FormDialogProps extends DialogCallbacks {
  readonly title: string;
  /** Label of the submit button. */
  readonly submit: string;
  readonly look?: Look;
  /** Label of the button that closes the dialog without a change. */
  readonly cancel?: string;
  readonly isReady?: boolean;
  /**
   * Submits the form, and returns the text of the notification. If it throws, the dialog stays open and shows
   * the error.
   */
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
