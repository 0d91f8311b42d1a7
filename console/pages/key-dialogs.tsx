/** What can be done with keys. */
import { useState } from 'preact/hooks';
import { defaultScopes, type Scope } from '../../src/domain/scope.ts';
import { call } from '../api.ts';
import type { Account, Key } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form, SelectField, TextField } from '../parts/form.tsx';
import { type Ends, FormDialog } from '../parts/form-dialog.tsx';
import { ScopeFields } from '../parts/scopes.tsx';
import { Secret } from '../parts/secret.tsx';
import { named } from '../text.ts';

export type KeyStep = 'scopes' | 'rotate' | 'revoke';

type KeyProps = Ends & { readonly of: Key };

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

export function IssueKey({ account, onClose, onDone }: Ends & { account: Account }) {
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
    onDone?.();
  };
  if (key !== undefined) {
    return <Secret title={`New key of ${named(account.name)}`} what="key" secret={key} onClose={onClose} />;
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

function ChangeScopes({ of: { id, name, scopes: before }, ...ends }: KeyProps) {
  const [scopes, setScopes] = useState<readonly Scope[]>(before);
  const change = async () => {
    await call('PATCH /keys/{keyId}', { params: { keyId: id }, body: { scopes } });
    return `Key ${named(name)} has its new rights, from its next request on.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`What key ${named(name)} may do`}
      submit="Save"
      isReady={scopes.length > 0}
      onSubmit={change}
    >
      {() => <ScopeFields scopes={scopes} onChange={setScopes} />}
    </FormDialog>
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
    onDone?.();
  };
  if (key !== undefined)
    return <Secret title={`New key for ${named(name)}`} what="key" secret={key} onClose={onClose} />;
  return (
    <Dialog title={`Replace key ${named(name)}?`} onClose={onClose}>
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

function Revoke({ of: { id, name }, ...ends }: KeyProps) {
  const revoke = async () => {
    await call('POST /keys/{keyId}/revoke', { params: { keyId: id } });
    return `Key ${named(name)} is revoked.`;
  };
  return (
    <Confirm {...ends} title={`Revoke key ${named(name)}?`} act="Revoke key" typed={name} onConfirm={revoke}>
      <p>Programs that use it are refused from their next request on. This cannot be undone.</p>
    </Confirm>
  );
}
