import type { ComponentChildren } from 'preact';
import { canChange, viewerNotice } from '../session-state.ts';
import { Icon, type IconName } from './icon.tsx';
import { notify } from './notices.tsx';

export type Look = 'plain' | 'primary' | 'danger' | 'quiet';

interface ButtonProps {
  readonly onClick?: () => unknown;
  readonly look?: Look;
  readonly icon?: IconName;
  readonly type?: 'button' | 'submit';
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** Accessible name, such as `Revoke key website`, if the text alone is ambiguous. */
  readonly label?: string;
  /**
   * Reason why the button is disabled. The button can still be focused, so that keyboard and screen reader users can
   * find the reason.
   */
  readonly reason?: string | undefined;
  readonly children?: ComponentChildren;
}

export function Button({
  onClick,
  look = 'plain',
  icon,
  type = 'button',
  label,
  reason,
  children,
  ...state
}: ButtonProps) {
  const isOff = reason !== undefined || state.isBusy === true;
  const press = (event: Event) => {
    if (!isOff) return onClick?.();
    event.preventDefault();
    if (reason !== undefined) notify(reason, 'note');
  };
  return (
    <button
      type={type}
      class={`button ${look}`}
      onClick={press}
      disabled={state.disabled}
      aria-label={label}
      aria-disabled={isOff}
      aria-busy={state.isBusy}
      title={reason}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button for an action that makes a change. The button is disabled for viewers, with an explanation. */
export function ChangeButton(props: ButtonProps) {
  return <Button {...props} reason={canChange.value ? props.reason : viewerNotice} />;
}
