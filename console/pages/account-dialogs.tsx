/** What can be changed about an account. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Account } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form, TextField } from '../parts/form.tsx';
import { notify } from '../parts/notices.tsx';
import { type PlanChoice, PlanFields, planMembers } from '../parts/plan.tsx';
import { planWords } from '../words.ts';

export type AccountStep = 'rename' | 'plan' | 'close' | 'reopen';

interface DialogProps {
  readonly account: Account;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function AccountDialog({ step, ...props }: DialogProps & { step: AccountStep }) {
  switch (step) {
    case 'rename':
      return <Rename {...props} />;
    case 'plan':
      return <ChangePlan {...props} />;
    case 'close':
      return <Close {...props} />;
    case 'reopen':
      return <Reopen {...props} />;
  }
}

function Rename({ account: { id, name: before }, onClose, onDone }: DialogProps) {
  const [name, setName] = useState(before);
  const rename = async () => {
    await call('PATCH /accounts/{accountId}', { params: { accountId: id }, body: { name: name.trim() } });
    notify('The account has its new name.');
    onDone();
    onClose();
  };
  return (
    <Dialog title="Rename account" onClose={onClose}>
      <Form
        submit="Rename"
        isReady={name.trim() !== '' && name !== before}
        onSubmit={rename}
        onCancel={onClose}
      >
        {(failure) => <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />}
      </Form>
    </Dialog>
  );
}

function ChangePlan({ account: { id, plan, perMinute, perDay }, onClose, onDone }: DialogProps) {
  const [choice, setChoice] = useState<PlanChoice>({ plan, perMinute: `${perMinute}`, perDay: `${perDay}` });
  const change = async () => {
    await call('PATCH /accounts/{accountId}', { params: { accountId: id }, body: planMembers(choice) });
    notify(`The account has the plan ${planWords[choice.plan]}, from its next request on.`);
    onDone();
    onClose();
  };
  return (
    <Dialog title="Change plan" onClose={onClose}>
      <Form submit="Change plan" onSubmit={change} onCancel={onClose}>
        {(failure) => (
          <>
            <p class="effect">
              The new limits hold from the next request on. What was used of the windows stays used.
            </p>
            <PlanFields choice={choice} onChange={setChoice} failure={failure} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function Close({ account: { id, name }, onClose, onDone }: DialogProps) {
  const close = async () => {
    await call('POST /accounts/{accountId}/close', { params: { accountId: id } });
    notify(`${name} is closed.`);
    onDone();
  };
  return (
    <Confirm
      title={`Close ${name}?`}
      act="Close account"
      isDanger
      typed={name}
      onConfirm={close}
      onClose={onClose}
    >
      <p>
        All keys of this account are refused from the next request on. Nothing is deleted, and you can reopen
        it.
      </p>
    </Confirm>
  );
}

function Reopen({ account: { id, name }, onClose, onDone }: DialogProps) {
  const reopen = async () => {
    await call('POST /accounts/{accountId}/reopen', { params: { accountId: id } });
    notify(`${name} is open again.`);
    onDone();
  };
  return (
    <Confirm title={`Reopen ${name}?`} act="Reopen account" onConfirm={reopen} onClose={onClose}>
      <p>Its keys work again from the next request on, except those that expired or were revoked.</p>
    </Confirm>
  );
}
