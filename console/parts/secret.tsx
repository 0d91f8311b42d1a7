/** A dialog that shows a new key or token once. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface SecretProps {
  /** Title of the dialog. */
  readonly title: string;
  /** Noun for the secret: key or token. */
  readonly what: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** Shown below the secret. */
  readonly children?: ComponentChildren;
}

export function Secret({ title, what, secret, onClose, children }: SecretProps) {
  const [copied, setCopied] = useState<'yes' | 'failed'>();
  const copy = () =>
    navigator.clipboard.writeText(secret).then(
      () => setCopied('yes'),
      () => setCopied('failed'),
    );
  return (
    <Dialog title={title} onClose={onClose} isFirm>
      <div class="effect">
        <p>Copy the {what} now and store it in a safe place. It will not be shown again.</p>
      </div>
      <div class="secret">
        <code>{secret}</code>
        <Button look="primary" icon={copied === 'yes' ? 'check' : 'copy'} onClick={copy}>
          {copied === 'yes' ? 'Copied' : 'Copy'}
        </Button>
      </div>
      <p class="hint" role="status">
        {copied === 'yes' && `Copied the ${what} to the clipboard.`}
        {copied === 'failed' &&
          `The browser blocked access to the clipboard. Select the ${what} and copy it manually.`}
      </p>
      {children}
      <footer>
        <Button onClick={onClose}>I've saved it</Button>
      </footer>
    </Dialog>
  );
}
