/** The resource that an event is about, with a link to its page. */
import type { StoredEvent } from '../contract.ts';
import { pluralize } from '../format.ts';
import type { Int64 } from '../json.ts';
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

function eventSubject({ type, data }: StoredEvent): Subject {
  if ('petId' in data)
    return { text: `Order ${data.id}`, href: `#/orders?order=${data.id}`, more: `Animal ${data.petId}` };
  if ('firstId' in data) return importSubject(data);
  if ('reason' in data)
    return { text: `Webhook ${data.id}`, href: `#/webhooks/${data.id}`, more: data.reason };
  const isGone = type.endsWith('.deleted');
  if ('categoryId' in data)
    return {
      text: `Animal ${data.id}`,
      more: data.name,
      ...(!isGone && { href: `#/animals?id=${data.id}` }),
    };
  return { text: `Category ${data.id}`, more: data.name, ...(!isGone && { href: '#/categories' }) };
}

interface Imported {
  readonly count: number;
  readonly firstId: Int64;
  readonly lastId: Int64;
}

function importSubject({ count, firstId, lastId }: Imported): Subject {
  const href = `#/animals?minId=${firstId}&maxId=${lastId}`;
  return { text: pluralize(count, 'animal'), href, more: `Animals ${firstId} to ${lastId}` };
}
