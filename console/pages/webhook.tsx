/** The webhook page: endpoint and deliveries. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Webhook, WebhookDelivery } from '../contract.ts';
import { formatInteger } from '../format.ts';
import { webhookStateLabel } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { LoadState } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, DefinitionList, Page } from '../parts/layout.tsx';
import { Tile } from '../parts/tile.tsx';
import { Time } from '../parts/time.tsx';
import { type WebhookAction, WebhookButtons, WebhookDialog } from '../parts/webhook-dialogs.tsx';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { Deliveries } from './deliveries.tsx';
import { EventTypes } from './webhooks.tsx';

const above = { href: '#/webhooks', text: 'Webhooks' };

const everyMs = 5_000;

export function WebhookPage({ webhookId }: { webhookId: string }) {
  const load = () => call('GET /webhooks/{webhookId}', { params: { webhookId } });
  const loaded = useLoaded(webhookId, load, { everyMs });
  const { data: webhook } = loaded;
  const [chosen, setChosen] = useState<WebhookAction>();
  return (
    <Page
      title={`Webhook ${webhookId}`}
      above={above}
      badge={webhook && <Badge word={webhookStateLabel(webhook)} />}
      about={webhook && <span class="long">{quoteName(webhook.url)}</span>}
      actions={
        webhook && <WebhookButtons webhook={webhook} others={['test', 'redeliver']} onChoose={setChosen} />
      }
    >
      <LoadState loaded={loaded} lines={10} />
      {webhook && <Shown webhook={webhook} />}
      {chosen && <WebhookDialog {...chosen} onClose={() => setChosen(undefined)} onDone={loaded.reload} />}
    </Page>
  );
}

function Shown({ webhook }: { webhook: Webhook }) {
  const { id, types, description, accountId, accountName, disabledReason, onHoldReason, createdAt } = webhook;
  return (
    <>
      {disabledReason !== undefined && (
        <p class="message warn">
          <Icon name="warning" />
          <span>
            <strong>Disabled.</strong> {quoteName(disabledReason)}
          </span>
        </p>
      )}
      {onHoldReason !== undefined && (
        <p class="message warn">
          <Icon name="warning" />
          <span>
            <strong>On hold.</strong> {onHoldReason}
          </span>
        </p>
      )}
      <RecentDeliveries webhookId={id} />
      <Card>
        <DefinitionList
          facts={[
            [
              'Account',
              <a key="account" class="long" href={`#/accounts/${accountId}`}>
                {quoteName(accountName)}
              </a>,
            ],
            ['Types', <EventTypes key="types" types={types} />],
            ['Description', description === undefined ? '–' : quoteName(description)],
            ['Created', <Time key="created" at={createdAt} />],
          ]}
        />
      </Card>
      <Deliveries webhookId={id} />
    </>
  );
}

const recent = 100;

/** Summarizes only the newest deliveries, to limit the cost. */
function RecentDeliveries({ webhookId }: { webhookId: number }) {
  const load = () =>
    callPage('GET /webhooks/{webhookId}/deliveries', { params: { webhookId }, query: { limit: recent } });
  const loaded = useLoaded(`${webhookId}`, load, { everyMs });
  if (loaded.data === undefined) return <LoadState loaded={loaded} />;
  const { items } = loaded.data;
  if (items.length === 0) return null;
  const withStatus = (status: WebhookDelivery['status']) =>
    items.filter((delivery) => delivery.status === status);
  const [succeeded, failed, pending] = [withStatus('succeeded'), withStatus('failed'), withStatus('pending')];
  const retrying = pending.filter(({ attempts }) => attempts.length > 0).length;
  const attempted = succeeded.length + failed.length + retrying;
  const lastSuccess = succeeded[0]?.attempts.at(-1)?.at;
  const scope = `of the last ${formatInteger(items.length)} deliveries`;
  return (
    <dl class="tiles">
      <Tile
        name="Success rate"
        value={attempted === 0 ? '–' : `${Math.floor((100 * succeeded.length) / attempted)}%`}
        note={
          attempted === 0
            ? 'no attempted deliveries'
            : `of the last ${formatInteger(attempted)} attempted deliveries`
        }
      />
      <Tile
        name="Pending"
        value={formatInteger(pending.length)}
        note={retrying === 0 ? scope : `${formatInteger(retrying)} after a failed attempt`}
      />
      <Tile
        name="Last success"
        value={lastSuccess === undefined ? '–' : <Time at={lastSuccess} />}
        note={lastSuccess === undefined ? `none ${scope}` : `event ${succeeded[0]?.eventId}`}
      />
    </dl>
  );
}
