/** The page that lists webhooks. */
import { useState } from 'preact/hooks';
import { callPage } from '../api.ts';
import type { InputOf, Webhook } from '../contract.ts';
import { webhookStateLabel, webhookStateLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { accountColumn } from '../parts/caller-columns.tsx';
import { ChoiceFilter, Filters, TextFilter } from '../parts/filters.tsx';
import { Page } from '../parts/layout.tsx';
import { PagedTable } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { type WebhookAction, WebhookButtons, WebhookDialog } from '../parts/webhook-dialogs.tsx';
import { currentRoute } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

type Query = InputOf<'GET /webhooks'>['query'];

// Reload regularly, because accounts and the service can also disable webhooks.
const everyMs = 10_000;

export function WebhooksPage() {
  const query = Object.fromEntries(currentRoute.value.query) as Query;
  const load = () => callPage('GET /webhooks', { query });
  const loaded = useLoaded(currentRoute.value.query.toString(), load, { everyMs });
  const [chosen, setChosen] = useState<WebhookAction>();
  return (
    <Page title="Webhooks" about="Endpoints that receive events for accounts.">
      <Filters>
        <TextFilter name="accountId" label="Account" placeholder="Any id" kind="digits" />
        <ChoiceFilter name="state" label="State" all="Any state" words={webhookStateLabels} />
      </Filters>
      <PagedTable
        label="Webhooks"
        loaded={loaded}
        columns={columnsOf(setChosen)}
        keyOf={({ id }) => id}
        empty={
          currentRoute.value.query.size > 0
            ? 'No webhooks match these filters.'
            : 'There are no webhooks yet. Clients create them with POST /v1/webhooks.'
        }
      />
      {chosen && <WebhookDialog {...chosen} onClose={() => setChosen(undefined)} onDone={loaded.reload} />}
    </Page>
  );
}

function columnsOf(choose: (chosen: WebhookAction) => void): readonly Column<Webhook>[] {
  return [
    {
      title: 'Endpoint',
      show: ({ id, url, description }) => (
        <>
          <a class="name" href={`#/webhooks/${id}`}>
            {quoteName(url)}
          </a>
          <span class="under long">
            Webhook {id}
            {description !== undefined && ` · ${quoteName(description)}`}
          </span>
        </>
      ),
    },
    accountColumn,
    { title: 'Types', show: ({ types }) => <EventTypes types={types} /> },
    {
      title: 'State',
      show: (webhook) => (
        <>
          <Badge word={webhookStateLabel(webhook)} />
          {webhook.disabledReason !== undefined && (
            <span class="under long">{quoteName(webhook.disabledReason)}</span>
          )}
          {webhook.onHoldReason !== undefined && (
            <span class="under long">On hold. {webhook.onHoldReason}</span>
          )}
        </>
      ),
    },
    {
      title: 'Actions',
      kind: 'actions',
      show: (webhook) => <WebhookButtons webhook={webhook} others={['test']} onChoose={choose} />,
    },
  ];
}

export function EventTypes({ types }: Pick<Webhook, 'types'>) {
  return (
    <ul class="scopes">
      {types.map((type) => (
        <li key={type}>{type}</li>
      ))}
    </ul>
  );
}
