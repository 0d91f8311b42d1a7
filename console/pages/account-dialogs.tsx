/** What can be changed about an account. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Account } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { TextField } from '../parts/form.tsx';
import { type Ends, FormDialog } from '../parts/form-dialog.tsx';
import { type PlanChoice, PlanFields, planMembers } from '../parts/plan.tsx';
import { named } from '../text.ts';
import { planWords } from '../words.ts';

export type AccountStep = 'rename' | 'plan' | 'close' | 'reopen';

interface DialogProps extends Ends {
  readonly account: Account;
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

function Rename({ account: { id, name: before }, ...ends }: DialogProps) {
  const [name, setName] = useState(before);
  const rename = async () => {
    await call('PATCH /accounts/{accountId}', { params: { accountId: id }, body: { name: name.trim() } });
    return 'The account has its new name.';
  };
  return (
    <FormDialog
      {...ends}
      title="Rename account"
      submit="Rename"
      isReady={name.trim() !== '' && name !== before}
      onSubmit={rename}
    >
      {(failure) => <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />}
    </FormDialog>
  );
}

function ChangePlan({ account: { id, plan, perMinute, perDay }, ...ends }: DialogProps) {
  const [choice, setChoice] = useState<PlanChoice>({ plan, perMinute: `${perMinute}`, perDay: `${perDay}` });
  const change = async () => {
    await call('PATCH /accounts/{accountId}', { params: { accountId: id }, body: planMembers(choice) });
    return `The account has the plan ${planWords[choice.plan]}, from its next request on.`;
  };
  return (
    <FormDialog {...ends} title="Change plan" submit="Change plan" onSubmit={change}>
      {(failure) => (
        <>
          <p class="effect">
            The new limits hold from the next request on. What was used of the windows stays used.
          </p>
          <PlanFields choice={choice} onChange={setChoice} failure={failure} />
        </>
      )}
    </FormDialog>
  );
}

function Close({ account: { id, name }, ...ends }: DialogProps) {
  const close = async () => {
    await call('POST /accounts/{accountId}/close', { params: { accountId: id } });
    return `${named(name)} is closed.`;
  };
  return (
    <Confirm {...ends} title={`Close ${named(name)}?`} act="Close account" typed={name} onConfirm={close}>
      <p>
        All keys of this account are refused from the next request on. Nothing is deleted, and you can reopen
        it.
      </p>
    </Confirm>
  );
}

function Reopen({ account: { id, name }, ...ends }: DialogProps) {
  const reopen = async () => {
    await call('POST /accounts/{accountId}/reopen', { params: { accountId: id } });
    return `${named(name)} is open again.`;
  };
  return (
    <Confirm {...ends} title={`Reopen ${named(name)}?`} act="Reopen account" onConfirm={reopen}>
      <p>Its keys work again from the next request on, except those that expired or were revoked.</p>
    </Confirm>
  );
}
