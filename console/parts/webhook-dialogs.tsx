/** Buttons for actions on a webhook, and their dialogs. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf, Webhook } from '../contract.ts';
import { formatInteger } from '../format.ts';
import { quoteName } from '../text.ts';
import { ChangeButton } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { Dialog } from './dialog.tsx';
import { Form, TextField } from './form.tsx';
import { type DialogCallbacks, FormDialog } from './form-dialog.tsx';

interface DialogProps extends DialogCallbacks {
  readonly webhook: Webhook;
}

const actions = {
  test: { text: 'Test', Shown: Test },
  redeliver: { text: 'Redeliver', Shown: Redeliver },
  disable: { text: 'Disable', Shown: Disable },
  enable: { text: 'Enable', Shown: Enable },
} as const;

type ActionName = keyof typeof actions;

export interface WebhookAction {
  readonly webhook: Webhook;
  readonly act: ActionName;
}

interface ButtonsProps {
  readonly webhook: Webhook;
  /** Buttons to show in addition to Disable or Enable. */
  readonly others: readonly ActionName[];
  readonly onChoose: (chosen: WebhookAction) => void;
}

export function WebhookButtons({ webhook, others, onChoose }: ButtonsProps) {
  return [...others, webhook.enabled ? ('disable' as const) : ('enable' as const)].map((act) => (
    <ChangeButton
      key={act}
      look={act === 'disable' ? 'danger' : 'plain'}
      label={`${actions[act].text} webhook ${webhook.id}`}
      reason={act === 'redeliver' && !webhook.enabled ? 'Enable the webhook first.' : undefined}
      onClick={() => onChoose({ webhook, act })}
    >
      {actions[act].text}
    </ChangeButton>
  ));
}

export function WebhookDialog({ act, ...props }: WebhookAction & DialogCallbacks) {
  const { Shown } = actions[act];
  return <Shown {...props} />;
}

type Outcome = ResponseOf<'POST /webhooks/{webhookId}/test'>;

function Test({ webhook: { id, url }, onClose }: DialogProps) {
  const [outcome, setOutcome] = useState<Outcome>();
  const send = async () => {
    setOutcome(undefined);
    setOutcome(await call('POST /webhooks/{webhookId}/test', { params: { webhookId: id } }));
  };
  return (
    <Dialog title={`Test webhook ${id}`} onClose={onClose}>
      <Form submit="Send test event" cancel="Close" onSubmit={send} onCancel={onClose}>
        {() => (
          <>
            <p class="effect">
              This sends a webhook.test event to <span class="long">{quoteName(url)}</span> once. The response
              body is not shown here. The account can see it by sending a test.
            </p>
            <div role="status">{outcome && <TestOutcome {...outcome} />}</div>
          </>
        )}
      </Form>
    </Dialog>
  );
}

function TestOutcome({ status, milliseconds, error }: Outcome) {
  const isSuccess = status !== undefined && status >= 200 && status < 300;
  const what =
    error === undefined
      ? `The receiver responded with ${status} after ${formatInteger(milliseconds)} ms.`
      : `${quoteName(error)} (${formatInteger(milliseconds)} ms)`;
  return <p class={`message ${isSuccess ? 'good' : 'bad'}`}>{what}</p>;
}

function Redeliver({ webhook: { id, url }, ...ends }: DialogProps) {
  const [after, setAfter] = useState('');
  const redeliver = async () => {
    await call('POST /webhooks/{webhookId}/redeliver', {
      params: { webhookId: id },
      body: { after: BigInt(after) },
    });
    return `Events after ${after} will be sent to webhook ${id} again.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`Redeliver events to webhook ${id}?`}
      submit="Redeliver"
      isReady={/^\d+$/.test(after)}
      onSubmit={redeliver}
    >
      {(failure) => (
        <>
          <p class="effect">
            All events of the webhook’s types after the given id will be sent to{' '}
            <span class="long">{quoteName(url)}</span>, including events that were already delivered.
          </p>
          <TextField
            label="After event"
            name="after"
            hint="Events with a higher id are sent again. Enter 0 to send all events."
            value={after}
            onInput={setAfter}
            failure={failure}
          />
        </>
      )}
    </FormDialog>
  );
}

function Disable({ webhook: { id, url }, ...ends }: DialogProps) {
  const [reason, setReason] = useState('');
  const disable = async () => {
    await call('POST /webhooks/{webhookId}/disable', {
      params: { webhookId: id },
      body: { reason: reason.trim() },
    });
    return `Disabled webhook ${id}.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`Disable webhook ${id}?`}
      submit="Disable"
      look="danger"
      isReady={reason.trim() !== ''}
      onSubmit={disable}
    >
      {(failure) => (
        <>
          <p class="effect">
            Events will no longer be sent to <span class="long">{quoteName(url)}</span>. The account receives
            the event webhook.disabled and can enable the webhook again.
          </p>
          <TextField
            label="Reason"
            name="reason"
            hint="Visible to the account."
            value={reason}
            onInput={setReason}
            failure={failure}
          />
        </>
      )}
    </FormDialog>
  );
}

function Enable({ webhook: { id, url }, ...ends }: DialogProps) {
  const enable = async () => {
    await call('POST /webhooks/{webhookId}/enable', { params: { webhookId: id } });
    return `Enabled webhook ${id}.`;
  };
  return (
    <Confirm {...ends} title={`Enable webhook ${id}?`} act="Enable" onConfirm={enable}>
      <p>
        New events will be sent to <span class="long">{quoteName(url)}</span>. Events that occurred while the
        webhook was disabled will not be sent.
      </p>
    </Confirm>
  );
}
