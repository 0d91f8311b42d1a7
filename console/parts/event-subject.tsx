/** The resource that an event is about, with a link to its page. */
import { type EventGroup, eventGroup } from '../../src/domain/event-type.ts';
import type { EventData, StoredEvent } from '../contract.ts';
import { pluralize } from '../format.ts';
import { quoteName } from '../text.ts';

interface Subject {
  readonly text: string;
  /** Undefined if the resource has no page, for example because it was deleted. */
  readonly href?: string;
  readonly more?: string;
}

export function EventSubject({ event }: { event: StoredEvent }) {
  const { text, href, more } = eventSubject(event);
  return (
    <span class="long">
      {href === undefined ? text : <a href={href}>{text}</a>}
      {more !== undefined && <span class="under">{quoteName(more)}</span>}
    </span>
  );
}

/** The subject of an event of each group. */
const subjects: { readonly [Group in EventGroup]: (data: EventData[Group], isGone: boolean) => Subject } = {
  pet: ({ id, name }, isGone) => ({
    text: `Animal ${id}`,
    more: name,
    ...(!isGone && { href: `#/animals?id=${id}` }),
  }),
  pets: ({ count, firstId, lastId }) => ({
    text: pluralize(count, 'animal'),
    href: `#/animals?minId=${firstId}&maxId=${lastId}`,
    more: `Animals ${firstId} to ${lastId}`,
  }),
  order: ({ id, petId }) => ({ text: `Order ${id}`, href: `#/orders?order=${id}`, more: `Animal ${petId}` }),
  category: ({ id, name }, isGone) => ({
    text: `Category ${id}`,
    more: name,
    ...(!isGone && { href: '#/categories' }),
  }),
  webhook: ({ id, reason }) => ({ text: `Webhook ${id}`, href: `#/webhooks/${id}`, more: reason }),
};

function eventSubject({ type, data }: StoredEvent): Subject {
  const subjectOf = subjects[eventGroup(type)] as (data: StoredEvent['data'], isGone: boolean) => Subject;
  return subjectOf(data, type.endsWith('.deleted'));
}
