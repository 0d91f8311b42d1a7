/** Dialogs based on the browser's, which trap the focus, close with Escape and restore the focus. */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** True if only its buttons close it. */
  readonly isFirm?: boolean;
  /** True if it hides the page behind it. */
  readonly isCovering?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isFirm = false, isCovering = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Opened before the next key is handled, so that no character typed after a shortcut is lost.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Focus the first input. The browser would focus the close button.
    dialog.current?.querySelector<HTMLElement>('input, select, textarea, [data-first]')?.focus();
    return () => {
      // After the dialog has closed: an open one keeps the focus.
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
        // Refusing to be cancelled does not do: Chromium heeds that only once.
        if (isFirm && event.key === 'Escape') event.preventDefault();
      }}
      onCancel={(event) => {
        // Other ways to cancel, such as a back gesture.
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
