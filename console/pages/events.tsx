/** A live list of events. */
import { useState } from 'preact/hooks';
import { escapeUnprintable } from '../../src/domain/escape-unprintable.ts';
import { eventSelectors } from '../../src/domain/event-type.ts';
import { call } from '../api.ts';
import type { StoredEvent } from '../contract.ts';
import { formatDateTime, formatInteger, pluralize } from '../format.ts';
import { formatJson } from '../json.ts';
import { eventTypeLabel, eventTypeLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { EventSubject } from '../parts/event-subject.tsx';
import { LoadState } from '../parts/failure.tsx';
import { ChoiceFilter, Filters, getFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { DefinitionList, EmptyMessage, Page } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tile } from '../parts/tile.tsx';
import { Time } from '../parts/time.tsx';
import { useFollowedEvents } from '../use-followed-events.ts';
import { useLoaded } from '../use-loaded.ts';

const everyMs = 2_000;

export function EventsPage() {
  const [isPaused, setIsPaused] = useState(false);
  const [opened, setOpened] = useState<StoredEvent>();
  const selector = getFilter('type');
  const { events, failure } = useFollowedEvents(selector, isPaused);
  const isLive = !isPaused && events !== undefined && failure === undefined;
  return (
    <Page
      title="Events"
      about="Every change to animals, orders and categories, in commit order."
      badge={isLive ? <Live /> : isPaused && <Badge word={{ text: 'Paused', tone: 'warn' }} />}
      actions={
        <Button icon={isPaused ? 'play' : 'pause'} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      }
    >
      <EventLog />
      <Filters>
        <ChoiceFilter name="type" label="Type" all="All types" words={eventTypeLabels(eventSelectors)} />
      </Filters>
      <LoadState loaded={{ data: events, failure }} lines={8} />
      {events?.length === 0 && <EmptyMessage>{emptyText(selector)}</EmptyMessage>}
      {events !== undefined && events.length > 0 && (
        <Table label="Events" columns={columnsOf(setOpened)} items={events} keyOf={({ id }) => id} />
      )}
      {opened && <OpenedEvent event={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

function Live() {
  return (
    <span class="live">
      <i /> Live
    </span>
  );
}

function emptyText(selector: string): string {
  if (selector === '') return 'There are no events yet. New events will appear here.';
  return 'None of the 500 newest events have this type. New events of this type will appear here.';
}

/** Shows the range of retained events. */
function EventLog() {
  const loaded = useLoaded('event-log', () => call('GET /event-log'), { everyMs });
  const { data } = loaded;
  if (data === undefined) return <LoadState loaded={loaded} />;
  const { areRecorded, keepDays, lastId, oldest, newest, perHour } = data;
  return (
    <>
      {!areRecorded && (
        <p class="message warn">
          <Icon name="warning" />
          <span>
            <strong>Changes are not recorded as events.</strong> EVENTS is off, so clients that read events
            see no changes. When EVENTS is on again, these clients get an events_expired error.
          </span>
        </p>
      )}
      <dl class="tiles">
        <Tile
          name="Last event"
          value={String(lastId)}
          note={newest === null ? 'none retained' : <Time at={newest.timestamp} />}
        />
        <Tile
          name="Oldest retained"
          value={oldest === null ? '–' : String(oldest.id)}
          note={
            <>
              {oldest && <Time at={oldest.timestamp} />}
              {oldest && ', '}retained for {pluralize(keepDays, 'day')}
            </>
          }
        />
        <Tile name="Events per hour" value={formatInteger(perHour)} note="since the oldest retained event" />
      </dl>
    </>
  );
}

function columnsOf(open: (event: StoredEvent) => void): readonly Column<StoredEvent>[] {
  return [
    { title: 'Resource', show: (event) => <EventSubject event={event} /> },
    { title: 'Type', show: ({ type }) => <Badge word={eventTypeLabel(type)} /> },
    { title: 'Event', show: ({ id }) => String(id), kind: 'number' },
    { title: 'Recorded', show: ({ timestamp }) => <Time at={timestamp} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (event) => (
        <Button label={`Show event ${event.id} as JSON`} onClick={() => open(event)}>
          JSON
        </Button>
      ),
    },
  ];
}

function OpenedEvent({ event, onClose }: { event: StoredEvent; onClose: () => void }) {
  const { id, type, timestamp } = event;
  return (
    <Dialog title={`Event ${id}`} onClose={onClose}>
      <DefinitionList
        facts={[
          ['Resource', <EventSubject key="resource" event={event} />],
          ['Type', <Badge key="type" word={eventTypeLabel(type)} />],
          ['Recorded', formatDateTime(timestamp)],
        ]}
      />
      <pre class="json">{escapeUnprintable(formatJson(event), '\n')}</pre>
    </Dialog>
  );
}
