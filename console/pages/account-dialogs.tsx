/** Dialogs that change an account. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, callWithEtag } from '../api.ts';
import type { Account } from '../contract.ts';
import { planLabels } from '../labels.ts';
import { ConditionalEdit, type Save } from '../parts/conditional-edit.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { TextArea, TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { isPlanReady, type PlanChoice, PlanFields, toPlanFields } from '../parts/plan.tsx';
import { quoteName } from '../text.ts';

export type AccountAction = 'rename' | 'plan' | 'note' | 'close' | 'reopen';

interface DialogProps extends DialogCallbacks {
  readonly account: Account;
}

export function AccountDialog({ step, ...props }: DialogProps & { step: AccountAction }) {
  switch (step) {
    case 'rename':
    case 'plan':
    case 'note':
      return <Edit step={step} {...props} />;
    case 'close':
      return <Close {...props} />;
    case 'reopen':
      return <Reopen {...props} />;
  }
}

/** Dialogs for data that other operators may edit at the same time. */
function Edit({ step, ...props }: DialogProps & { step: 'rename' | 'plan' | 'note' }) {
  const { account, onClose } = props;
  const load = () => callWithEtag('GET /accounts/{accountId}', { params: { accountId: account.id } });
  return (
    <ConditionalEdit load={load} onClose={onClose}>
      {(opened, save, conflict) => {
        const edit = { ...props, account: opened, save, conflict };
        if (step === 'note') return <EditNote {...edit} />;
        return step === 'rename' ? <Rename {...edit} /> : <ChangePlan {...edit} />;
      }}
    </ConditionalEdit>
  );
}

interface EditProps extends DialogProps {
  readonly save: Save;
  readonly conflict: ComponentChildren;
}

function Rename({ account: { id, name: before }, save, conflict, ...ends }: EditProps) {
  const [name, setName] = useState(before);
  const rename = async () => {
    const body = { name: name.trim() };
    await save((ifMatch) =>
      call('PATCH /accounts/{accountId}', { params: { accountId: id }, body, ifMatch }),
    );
    return `Renamed the account to ${quoteName(body.name)}.`;
  };
  return (
    <FormDialog
      {...ends}
      title="Rename account"
      submit="Rename"
      isReady={name.trim() !== '' && name !== before}
      onSubmit={rename}
    >
      {(failure) => (
        <>
          {conflict}
          <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />
        </>
      )}
    </FormDialog>
  );
}

function EditNote({ account: { id, name, note: before }, save, conflict, ...ends }: EditProps) {
  const [note, setNote] = useState(before ?? '');
  const change = async () => {
    await save((ifMatch) =>
      call('PATCH /accounts/{accountId}', { params: { accountId: id }, body: { note }, ifMatch }),
    );
    return note.trim() === ''
      ? `Removed the note on ${quoteName(name)}.`
      : `Saved the note on ${quoteName(name)}.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`Note on ${quoteName(name)}`}
      submit="Save note"
      isReady={note !== (before ?? '')}
      onSubmit={change}
    >
      {(failure) => (
        <>
          {conflict}
          <TextArea
            label="Note"
            name="note"
            hint="Visible to operators only. Changes are recorded in the audit log."
            maxLength={2_000}
            value={note}
            onInput={setNote}
            failure={failure}
          />
        </>
      )}
    </FormDialog>
  );
}

function ChangePlan({ account: { id, plan, perMinute, perDay }, save, conflict, ...ends }: EditProps) {
  const [choice, setChoice] = useState<PlanChoice>({ plan, perMinute: `${perMinute}`, perDay: `${perDay}` });
  const change = async () => {
    const body = toPlanFields(choice);
    await save((ifMatch) =>
      call('PATCH /accounts/{accountId}', { params: { accountId: id }, body, ifMatch }),
    );
    return `Changed the plan to ${planLabels[choice.plan]}. It takes effect on the next request.`;
  };
  return (
    <FormDialog
      {...ends}
      title="Change plan"
      submit="Change plan"
      isReady={isPlanReady(choice)}
      onSubmit={change}
    >
      {(failure) => (
        <>
          {conflict}
          <p class="effect">
            The new limits apply starting with the next request. Requests already made in the current windows
            still count.
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
    return `Closed ${quoteName(name)}. Its webhooks are disabled.`;
  };
  return (
    <Confirm {...ends} title={`Close ${quoteName(name)}?`} act="Close account" typed={name} onConfirm={close}>
      <p>
        All keys of this account will be rejected, starting with the next request, and its webhooks will be
        disabled. Nothing is deleted, and you can reopen the account.
      </p>
    </Confirm>
  );
}

function Reopen({ account: { id, name }, ...ends }: DialogProps) {
  const reopen = async () => {
    await call('POST /accounts/{accountId}/reopen', { params: { accountId: id } });
    return `Reopened ${quoteName(name)}. Disabled webhooks stay disabled.`;
  };
  return (
    <Confirm {...ends} title={`Reopen ${quoteName(name)}?`} act="Reopen account" onConfirm={reopen}>
      <p>
        Starting with the next request, the account's keys work again, except expired and revoked keys.
        Webhooks that were disabled when it was closed stay disabled until they are enabled, and do not get
        the events that occurred in between.
      </p>
    </Confirm>
  );
}
