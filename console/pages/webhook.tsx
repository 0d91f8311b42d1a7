/** The webhook page: endpoint and deliveries. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { SentDelivery, Webhook } from '../contract.ts';
import { grouped } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { Badge } from '../parts/badge.tsx';
import { LoadState } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Facts, Page } from '../parts/layout.tsx';
import { Tile } from '../parts/tile.tsx';
import { Time } from '../parts/time.tsx';
import { type WebhookAct, WebhookButtons, WebhookDialog } from '../parts/webhook-dialogs.tsx';
import { named } from '../text.ts';
import { webhookStateWord } from '../words.ts';
import { Deliveries } from './deliveries.tsx';
import { EventTypes } from './webhooks.tsx';

const above = { href: '#/webhooks', text: 'Webhooks' };

const everyMs = 5_000;

export function WebhookPage({ webhookId }: { webhookId: string }) {
  const load = () => call('GET /webhooks/{webhookId}', { params: { webhookId } });
  const loaded = useLoaded(webhookId, load, { everyMs });
  const { data: webhook } = loaded;
  const [chosen, setChosen] = useState<WebhookAct>();
  return (
    <Page
      title={`Webhook ${webhookId}`}
      above={above}
      badge={webhook && <Badge word={webhookStateWord(webhook)} />}
      about={webhook && <span class="long">{named(webhook.url)}</span>}
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
            <strong>Disabled.</strong> {named(disabledReason)}
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
        <Facts
          facts={[
            [
              'Account',
              <a key="account" class="long" href={`#/accounts/${accountId}`}>
                {named(accountName)}
              </a>,
            ],
            ['Types', <EventTypes key="types" types={types} />],
            ['Description', description === undefined ? '–' : named(description)],
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
  const withStatus = (status: SentDelivery['status']) =>
    items.filter((delivery) => delivery.status === status);
  const [succeeded, failed, pending] = [withStatus('succeeded'), withStatus('failed'), withStatus('pending')];
  const retrying = pending.filter(({ attempts }) => attempts.length > 0).length;
  const attempted = succeeded.length + failed.length + retrying;
  const lastSuccess = succeeded[0]?.attempts.at(-1)?.at;
  const scope = `of the last ${grouped(items.length)} deliveries`;
  return (
    <dl class="tiles">
      <Tile
        name="Success rate"
        value={attempted === 0 ? '–' : `${Math.floor((100 * succeeded.length) / attempted)}%`}
        note={
          attempted === 0
            ? 'no attempted deliveries'
            : `of the last ${grouped(attempted)} attempted deliveries`
        }
      />
      <Tile
        name="Pending"
        value={grouped(pending.length)}
        note={retrying === 0 ? scope : `${grouped(retrying)} after a failed attempt`}
      />
      <Tile
        name="Last success"
        value={lastSuccess === undefined ? '–' : <Time at={lastSuccess} />}
        note={lastSuccess === undefined ? `none ${scope}` : `event ${succeeded[0]?.eventId}`}
      />
    </dl>
  );
}
