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
  /** Whether only its buttons can close it. */
  readonly isFirm?: boolean;
  /** Whether it hides the page behind it. */
  readonly isCovering?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isFirm = false, isCovering = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Opens before the browser handles the next key, so that no character typed after a shortcut is lost.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Focuses the first input. By default, the browser would focus the close button.
    dialog.current?.querySelector<HTMLElement>('input, select, textarea, [data-first]')?.focus();
    return () => {
      // Waits until the dialog is closed, because an open dialog keeps the focus.
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
        // Preventing `cancel` is not enough, because Chromium respects it only once.
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
