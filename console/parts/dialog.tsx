/**
 * A modal dialog that uses the browser's `<dialog>`, which traps the focus, closes with Escape and restores
 * the focus.
 */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether the dialog can be closed only with its buttons. */
  readonly isFirm?: boolean;
  /** Whether the dialog hides the page behind it. */
  readonly isCovering?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isFirm = false, isCovering = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Opens the dialog before the browser handles the next key press, so that no character typed after a shortcut is
  // lost.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Focuses the first input, because the browser would focus the close button.
    dialog.current?.querySelector<HTMLElement>('input, select, textarea, [data-first]')?.focus();
    return () => {
      // Restores the focus after the dialog has closed, because an open dialog keeps the focus.
      if (before instanceof HTMLElement) queueMicrotask(() => before.focus());
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isCovering ? 'covering' : undefined}
      aria-labelledby={titleId}
      onClose={onClose}
      onKeyDown={(event) => {
        // Preventing `cancel` is not enough, because Chromium allows it only once.
        if (isFirm && event.key === 'Escape') event.preventDefault();
      }}
      onCancel={(event) => {
        // Covers other ways to cancel, such as a back gesture.
        if (isFirm) event.preventDefault();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {!isFirm && (
          <Button look="quiet" icon="close" label="Close" onClick={() => dialog.current?.close()} />
        )}
      </header>
      {children}
    </dialog>
  );
}
