/** Dialogs: the browser's own, which keep the focus inside, close with Escape and give the focus back. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether it stays until it is closed on purpose. */
  readonly isFirm?: boolean;
  /** Whether nothing behind it can be seen. */
  readonly isCovering?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isFirm = false, isCovering = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Where something is to be filled in, that comes first; the browser would choose the button that closes.
    dialog.current?.querySelector<HTMLElement>('input, select, textarea, [data-first]')?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
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
        // Other ways to cancel, such as a gesture that goes back.
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
