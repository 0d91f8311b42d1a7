import { useState } from 'preact/hooks';
import { CreateToken } from '../parts/create-token.tsx';
import { Form, TextField } from '../parts/form.tsx';
import { Icon, Logo } from '../parts/icon.tsx';
import { Connection, ThemeSwitch } from '../parts/shell.tsx';
import { linkFailure, signIn } from '../session.ts';

export function SignInPage() {
  const [token, setToken] = useState('');
  return (
    <main class="sign-in">
      <Connection />
      <div class="card">
        <p class="brand">
          <Logo />
          Animal Store
        </p>
        <h1>Sign in to the console</h1>
        {linkFailure.value && (
          <p class="message warn" role="alert">
            <Icon name="warning" />
            <span>{linkFailure.value} Sign in with a token, or request a new link.</span>
          </p>
        )}
        <Form submit="Sign in" isReady={token.trim() !== ''} onSubmit={() => signIn({ token: token.trim() })}>
          {() => (
            <TextField
              label="Token"
              name="token"
              type="password"
              value={token}
              onInput={setToken}
              autocomplete="current-password"
              placeholder="aso_…"
            />
          )}
        </Form>
        <details>
          <summary>Where do I get a token?</summary>
          <p>An admin can add you on the Operators page. Alternatively, run this command on the server:</p>
          <CreateToken />
          <p>
            When started from a terminal, the service prints a one-time link that signs you in without a
            token.
          </p>
        </details>
      </div>
      <ThemeSwitch />
    </main>
  );
}
