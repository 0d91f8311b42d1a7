/** Disables or enables a webhook. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Webhook } from '../contract.ts';
import { named } from '../text.ts';
import { ChangeButton } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { TextField } from './form.tsx';
import { type Ends, FormDialog } from './form-dialog.tsx';

interface ButtonProps {
  readonly webhook: Webhook;
  readonly onClick: () => void;
}

export function WebhookButton({ webhook: { id, enabled }, onClick }: ButtonProps) {
  const act = enabled ? 'Disable' : 'Enable';
  return (
    <ChangeButton look={enabled ? 'danger' : 'plain'} label={`${act} webhook ${id}`} onClick={onClick}>
      {act}
    </ChangeButton>
  );
}

interface DialogProps extends Ends {
  readonly webhook: Webhook;
}

export function WebhookDialog(props: DialogProps) {
  return props.webhook.enabled ? <Disable {...props} /> : <Enable {...props} />;
}

function Disable({ webhook: { id, url }, ...ends }: DialogProps) {
  const [reason, setReason] = useState('');
  const disable = async () => {
    await call('POST /webhooks/{webhookId}/disable', {
      params: { webhookId: id },
      body: { reason: reason.trim() },
    });
    return `Webhook ${id} is disabled.`;
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
            No more events are sent to <span class="long">{named(url)}</span>. The account gets the event
            webhook.disabled and can enable the webhook again.
          </p>
          <TextField
            label="Reason"
            name="reason"
            hint="The account sees it."
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
    return `Webhook ${id} is enabled.`;
  };
  return (
    <Confirm {...ends} title={`Enable webhook ${id}?`} act="Enable" onConfirm={enable}>
      <p>
        Events from now on are sent to <span class="long">{named(url)}</span>. Those that occurred while the
        webhook was disabled are not.
      </p>
    </Confirm>
  );
}
