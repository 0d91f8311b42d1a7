/** Asks for the token in a dialog over the page, so that form input is not lost. */
import { useState } from 'preact/hooks';
import { signIn } from '../session.ts';
import { hasSessionEnded, session } from '../session-state.ts';
import { CreateToken } from './create-token.tsx';
import { Dialog } from './dialog.tsx';
import { Form, TextField } from './form.tsx';

export function SessionEnded() {
  const [token, setToken] = useState('');
  const cameByLink = session.value?.operator.startsWith('console:');
  const leave = () => {
    hasSessionEnded.value = false;
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
            {cameByLink ? (
              <div class="effect">
                <p>
                  You signed in with a link, which works once. To sign in again, run this command on the
                  server. It prints a token:
                </p>
                <CreateToken />
                <p>Your input is discarded when you sign in as an operator.</p>
              </div>
            ) : (
              <p class="effect">Sign in again to continue where you left off. Your input was kept.</p>
            )}
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
