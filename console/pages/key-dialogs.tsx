/** What can be done with keys. */
import { useState } from 'preact/hooks';
import { defaultScopes, type Scope } from '../../src/domain/scope.ts';
import { call } from '../api.ts';
import type { Account, Key } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form, SelectField, TextField } from '../parts/form.tsx';
import { notify } from '../parts/notices.tsx';
import { ScopeFields } from '../parts/scopes.tsx';
import { Secret } from '../parts/secret.tsx';

export type KeyStep = 'scopes' | 'rotate' | 'revoke';

interface Closing {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

type KeyProps = Closing & { readonly of: Key };

export function KeyDialog({ step, ...props }: KeyProps & { step: KeyStep }) {
  switch (step) {
    case 'scopes':
      return <ChangeScopes {...props} />;
    case 'rotate':
      return <Rotate {...props} />;
    case 'revoke':
      return <Revoke {...props} />;
  }
}

export function IssueKey({ account, onClose, onDone }: Closing & { account: Account }) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(defaultScopes);
  const [day, setDay] = useState('');
  const [key, setKey] = useState<string>();
  const issue = async () => {
    const expiresAt = day === '' ? undefined : new Date(`${day}T00:00:00`).toISOString();
    const issued = await call('POST /accounts/{accountId}/keys', {
      params: { accountId: account.id },
      body: { name: name.trim(), scopes, expiresAt },
    });
    setKey(issued.key);
    onDone();
  };
  if (key !== undefined) {
    return <Secret title={`New key of ${account.name}`} what="key" secret={key} onClose={onClose} />;
  }
  return (
    <Dialog title="Issue key" onClose={onClose}>
      <Form
        submit="Issue key"
        isReady={name.trim() !== '' && scopes.length > 0}
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
              hint="What it is for, such as website."
            />
            <ScopeFields scopes={scopes} onChange={setScopes} />
            <TextField
              label="Ends on (optional)"
              name="expiresAt"
              type="date"
              value={day}
              onInput={setDay}
              failure={failure}
              hint="The key works until this day begins. Without a day it works until it is revoked."
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function ChangeScopes({ of: { id, name, scopes: before }, onClose, onDone }: KeyProps) {
  const [scopes, setScopes] = useState<readonly Scope[]>(before);
  const change = async () => {
    await call('PATCH /keys/{keyId}', { params: { keyId: id }, body: { scopes } });
    notify(`Key ${name} has its new rights, from its next request on.`);
    onDone();
    onClose();
  };
  return (
    <Dialog title={`What key ${name} may do`} onClose={onClose}>
      <Form submit="Save" isReady={scopes.length > 0} onSubmit={change} onCancel={onClose}>
        {() => <ScopeFields scopes={scopes} onChange={setScopes} />}
      </Form>
    </Dialog>
  );
}

const graces = [
  ['86400', 'For one more day'],
  ['3600', 'For one more hour'],
  ['604800', 'For one more week'],
  ['0', 'Not at all: it is refused at once'],
] as const;

function Rotate({ of: { id, name }, onClose, onDone }: KeyProps) {
  const [grace, setGrace] = useState<(typeof graces)[number][0]>('86400');
  const [key, setKey] = useState<string>();
  const rotate = async () => {
    const body = { graceSeconds: Number(grace) };
    const issued = await call('POST /keys/{keyId}/rotate', { params: { keyId: id }, body });
    setKey(issued.key);
    onDone();
  };
  if (key !== undefined)
    return <Secret title={`New key for ${name}`} what="key" secret={key} onClose={onClose} />;
  return (
    <Dialog title={`Replace key ${name}?`} onClose={onClose}>
      <Form submit="Replace key" onSubmit={rotate} onCancel={onClose}>
        {(failure) => (
          <>
            <p class="effect">A new key with the same rights is made. Give it to whoever uses the old one.</p>
            <SelectField
              label="How long the old key keeps working"
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

function Revoke({ of: { id, name }, onClose, onDone }: KeyProps) {
  const revoke = async () => {
    await call('POST /keys/{keyId}/revoke', { params: { keyId: id } });
    notify(`Key ${name} is revoked.`);
    onDone();
  };
  return (
    <Confirm
      title={`Revoke key ${name}?`}
      act="Revoke key"
      isDanger
      typed={name}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>Programs that use it are refused from their next request on. This cannot be undone.</p>
    </Confirm>
  );
}
