/** Dialogs that issue, change, rotate and revoke keys. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { defaultScopes, type Scope } from '../../src/domain/scope.ts';
import { call, callWithEtag } from '../api.ts';
import type { Account, Key } from '../contract.ts';
import { forEach } from '../for-each.ts';
import { capitalize, pluralize } from '../format.ts';
import { keyLabel } from '../key-label.ts';
import { ConditionalEdit, type Save } from '../parts/conditional-edit.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ExpiryFields, expiryTime, isExpiryReady, noExpiry } from '../parts/expiry.tsx';
import { Form, SelectField, TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { KeySecret } from '../parts/key-secret.tsx';
import { ScopeFields } from '../parts/scopes.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';

export type KeyAction = 'scopes' | 'rotate' | 'revoke';

interface KeyProps extends DialogCallbacks {
  readonly of: Key;
}

export function KeyDialog({ step, ...props }: KeyProps & { step: KeyAction }) {
  switch (step) {
    case 'scopes':
      return <ChangeScopes {...props} />;
    case 'rotate':
      return <Rotate {...props} />;
    case 'revoke':
      return <Revoke {...props} />;
  }
}

export function IssueKey({ account, onClose, onDone }: DialogCallbacks & { account: Account }) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(defaultScopes);
  const [expiry, setExpiry] = useState(noExpiry);
  const [key, setKey] = useState<string>();
  const issue = async () => {
    const expires = expiryTime(expiry, Date.now());
    const expiresAt = expires === undefined ? undefined : new Date(expires).toISOString();
    const issued = await call('POST /accounts/{accountId}/keys', {
      params: { accountId: account.id },
      body: { name: name.trim(), scopes, expiresAt },
    });
    setKey(issued.key);
    onDone?.();
  };
  if (key !== undefined) {
    const title = `New key “${quoteName(name.trim())}” for ${quoteName(account.name)}`;
    return <KeySecret title={title} secret={key} onClose={onClose} />;
  }
  return (
    <Dialog title="Issue key" onClose={onClose}>
      <Form
        submit="Issue key"
        isReady={name.trim() !== '' && scopes.length > 0 && isExpiryReady(expiry, Date.now())}
        onSubmit={issue}
        onCancel={onClose}
      >
        {(failure) => (
          <>
            <TextField
              label="Name"
              name="name"
              value={name}
              onInput={setName}
              failure={failure}
              hint="What the key is used for, such as website."
            />
            <ScopeFields scopes={scopes} onChange={setScopes} />
            <ExpiryFields choice={expiry} onChange={setExpiry} failure={failure} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function ChangeScopes(props: KeyProps) {
  const { of: listed, onClose } = props;
  const load = () => callWithEtag('GET /keys/{keyId}', { params: { keyId: listed.id } });
  return (
    <ConditionalEdit load={load} onClose={onClose}>
      {(key, save, conflict) => <EditScopes {...props} {...{ of: key, save, conflict }} />}
    </ConditionalEdit>
  );
}

interface EditProps extends KeyProps {
  readonly save: Save;
  readonly conflict: ComponentChildren;
}

function EditScopes({ of: key, save, conflict, ...ends }: EditProps) {
  const [scopes, setScopes] = useState<readonly Scope[]>(key.scopes);
  const change = async () => {
    const params = { keyId: key.id };
    await save((ifMatch) => call('PATCH /keys/{keyId}', { params, body: { scopes }, ifMatch }));
    return `Changed the scopes of ${keyLabel(key)}. The new scopes take effect on its next request.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`Scopes of ${keyLabel(key)}`}
      submit="Save"
      isReady={scopes.length > 0}
      onSubmit={change}
    >
      {() => (
        <>
          {conflict}
          <ScopeFields scopes={scopes} onChange={setScopes} />
        </>
      )}
    </FormDialog>
  );
}

const graces = [
  ['86400', '1 day'],
  ['3600', '1 hour'],
  ['604800', '1 week'],
  ['0', 'None (expires now)'],
] as const;

function Rotate({ of: old, onClose, onDone }: KeyProps) {
  const [grace, setGrace] = useState<(typeof graces)[number][0]>('86400');
  const [key, setKey] = useState<string>();
  const rotate = async () => {
    const body = { graceSeconds: Number(grace) };
    const issued = await call('POST /keys/{keyId}/rotate', { params: { keyId: old.id }, body });
    setKey(issued.key);
    onDone?.();
  };
  if (key !== undefined)
    return <KeySecret title={`Successor to ${keyLabel(old)}`} secret={key} onClose={onClose} />;
  return (
    <Dialog title={`Rotate ${keyLabel(old)}?`} onClose={onClose}>
      <Form submit="Rotate key" onSubmit={rotate} onCancel={onClose}>
        {(failure) => (
          <>
            <p class="effect">
              This issues a new key with the same name and scopes. Give the new key to the programs that use
              the old one.
            </p>
            <SelectField
              label="Grace period for the old key"
              name="graceSeconds"
              value={grace}
              options={graces}
              onChange={setGrace}
              failure={failure}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function Revoke({ of: key, ...ends }: KeyProps) {
  const { id, name, successorId, lastUsedAt } = key;
  const revoke = async () => {
    await call('POST /keys/{keyId}/revoke', { params: { keyId: id } });
    return `Revoked ${keyLabel(key)}.`;
  };
  return (
    <Confirm {...ends} title={`Revoke ${keyLabel(key)}?`} act="Revoke key" typed={name} onConfirm={revoke}>
      <p>
        {lastUsedAt === null ? (
          'The key has never been used.'
        ) : (
          <>
            The key was last used <Time at={lastUsedAt} />.
          </>
        )}
        {successorId !== null && ` It was rotated to key ${successorId}, which is not affected.`}
      </p>
      <p>Requests with this key will be rejected with 401. This cannot be undone.</p>
    </Confirm>
  );
}

interface RevokeKeysProps extends DialogCallbacks {
  readonly keys: readonly Key[];
  readonly account: Account;
}

export function RevokeKeys({ keys, account, ...ends }: RevokeKeysProps) {
  const revoke = async () => {
    await forEach(keys, 'key', ({ id }) => call('POST /keys/{keyId}/revoke', { params: { keyId: id } }));
    return `Revoked ${pluralize(keys.length, 'key')}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`Revoke ${pluralize(keys.length, 'key')} for ${quoteName(account.name)}?`}
      act="Revoke keys"
      typed={account.name}
      onConfirm={revoke}
    >
      <ul>
        {keys.map((key) => (
          <li key={key.id}>{capitalize(keyLabel(key))}</li>
        ))}
      </ul>
      <p>Requests with these keys will be rejected with 401. This cannot be undone.</p>
    </Confirm>
  );
}
