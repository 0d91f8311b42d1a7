/** Lists the deliveries of a webhook and their attempts. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { InputOf, WebhookDelivery } from '../contract.ts';
import { formatDateTime, formatInteger, pluralize } from '../format.ts';
import { deliveryStatusLabels, eventTypeLabel, type Label } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { Button, ChangeButton } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ChoiceFilter, Filters } from '../parts/filters.tsx';
import type { DialogCallbacks } from '../parts/form-dialog.tsx';
import { Card } from '../parts/layout.tsx';
import { PagedTable } from '../parts/pages.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { currentRoute } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

type Attempt = WebhookDelivery['attempts'][number];
type Query = InputOf<'GET /webhooks/{webhookId}/deliveries'>['query'];

const everyMs = 5_000;

export function Deliveries({ webhookId }: { webhookId: number }) {
  const { query } = currentRoute.value;
  const [opened, setOpened] = useState<WebhookDelivery>();
  const [chosen, setChosen] = useState<WebhookDelivery>();
  const load = () =>
    callPage('GET /webhooks/{webhookId}/deliveries', {
      params: { webhookId },
      query: Object.fromEntries(query) as Query,
    });
  const loaded = useLoaded(`${webhookId} ${query}`, load, { everyMs });
  return (
    <Card
      title="Deliveries"
      about="Newest first. Finished deliveries are kept for 7 days, at most 10,000 of each status."
    >
      <Filters>
        <ChoiceFilter name="status" label="Status" all="Any status" words={deliveryStatusLabels} />
      </Filters>
      <PagedTable
        label="Deliveries"
        loaded={loaded}
        columns={columnsOf(setOpened, setChosen)}
        keyOf={({ id }) => String(id)}
        empty={
          query.has('status')
            ? 'No deliveries have this status.'
            : 'No events have been sent to this webhook.'
        }
      />
      {opened && <Attempts of={opened} onClose={() => setOpened(undefined)} />}
      {chosen && (
        <Redeliver
          webhookId={webhookId}
          delivery={chosen}
          onClose={() => setChosen(undefined)}
          onDone={loaded.reload}
        />
      )}
    </Card>
  );
}

/** A pending delivery with a failed attempt. */
const retryingWord: Label = { ...deliveryStatusLabels.pending, tone: 'warn' };

function columnsOf(
  open: (delivery: WebhookDelivery) => void,
  choose: (delivery: WebhookDelivery) => void,
): readonly Column<WebhookDelivery>[] {
  return [
    {
      title: 'Event',
      show: ({ id, eventId }) => (
        <>
          <span class="name">Event {String(eventId)}</span>
          <span class="under">Delivery {String(id)}</span>
        </>
      ),
    },
    { title: 'Type', show: ({ type }) => <Badge word={eventTypeLabel(type)} /> },
    {
      title: 'Status',
      show: ({ status, nextAttemptAt, attempts }) => (
        <>
          <Badge
            word={status === 'pending' && attempts.length > 0 ? retryingWord : deliveryStatusLabels[status]}
          />
          {nextAttemptAt !== undefined && (
            <span class="under">
              {Date.parse(nextAttemptAt) > Date.now() ? 'Next attempt' : 'Due'}{' '}
              <Time at={nextAttemptAt} isAhead />
            </span>
          )}
        </>
      ),
    },
    { title: 'Last attempt', show: ({ attempts }) => <LastAttempt attempt={attempts.at(-1)} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (delivery) => {
        const { attempts, id } = delivery;
        const made = pluralize(attempts.length, 'attempt');
        return (
          <>
            {attempts.length > 0 && (
              <Button label={`Show ${made} of delivery ${id}`} onClick={() => open(delivery)}>
                {made}
              </Button>
            )}
            <ChangeButton label={`Redeliver delivery ${id}`} onClick={() => choose(delivery)}>
              Redeliver
            </ChangeButton>
          </>
        );
      },
    },
  ];
}

function LastAttempt({ attempt }: { attempt: Attempt | undefined }) {
  if (attempt === undefined) return <>–</>;
  return (
    <>
      {formatOutcome(attempt)}
      <span class="under">
        <Time at={attempt.at} />
      </span>
    </>
  );
}

function formatOutcome({ status, error }: Attempt): string {
  return [status, error && quoteName(error)].filter((part) => part !== undefined).join(': ');
}

const attemptColumns: readonly Column<Attempt>[] = [
  { title: 'Sent', show: ({ at }) => formatDateTime(at) },
  { title: 'Outcome', show: formatOutcome },
  { title: 'Duration', show: ({ milliseconds }) => `${formatInteger(milliseconds)} ms`, kind: 'number' },
];

function Attempts({ of: { id, eventId, attempts }, onClose }: { of: WebhookDelivery; onClose: () => void }) {
  return (
    <Dialog title={`Delivery ${id}`} onClose={onClose}>
      <p>Attempts to send event {String(eventId)}. Only the account can see the responses.</p>
      <Table label="Attempts" columns={attemptColumns} items={attempts} keyOf={({ at }) => at} />
    </Dialog>
  );
}

interface RedeliverProps extends DialogCallbacks {
  readonly webhookId: number;
  readonly delivery: WebhookDelivery;
}

function Redeliver({ webhookId, delivery: { id, eventId, status }, ...ends }: RedeliverProps) {
  const redeliver = async () => {
    const params = { webhookId, deliveryId: id };
    await call('POST /webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', { params });
    return `Event ${eventId} will be sent again.`;
  };
  return (
    <Confirm {...ends} title={`Redeliver event ${eventId}?`} act="Redeliver" onConfirm={redeliver}>
      <p>
        {status === 'pending'
          ? 'The delivery is still pending. The next attempt will be made immediately.'
          : 'The event will be sent again, as a new delivery.'}
      </p>
    </Confirm>
  );
}
