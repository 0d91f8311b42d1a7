/** Asks for the token in a dialog over the page, so that form input is not lost. */
import { useState } from 'preact/hooks';
import { signIn } from '../session.ts';
import { hasEnded, session } from '../session-state.ts';
import { Dialog } from './dialog.tsx';
import { Form, TextField } from './form.tsx';

export function SessionEnded() {
  const [token, setToken] = useState('');
  const leave = () => {
    hasEnded.value = false;
    session.value = undefined;
  };
  return (
    <Dialog title="Your session has ended" onClose={leave} isFirm isCovering>
      <Form
        submit="Sign in"
        cancel="Discard and leave"
        isReady={token.trim() !== ''}
        onSubmit={() => signIn({ token: token.trim() })}
        onCancel={leave}
      >
        {() => (
          <>
            <p class="effect">
              Sign in again to continue where you left off. Your input was kept but not submitted.
            </p>
            <TextField
              label="Token"
              name="token"
              type="password"
              value={token}
              onInput={setToken}
              autocomplete="current-password"
              placeholder="aso_…"
              hint="Sessions end after 1 hour of inactivity, after 12 hours, or if the token is rotated or revoked."
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
