/** Entries of the audit log: who did what to what, and from what to what. */
import type { Entry } from '../contract.ts';
import { named } from '../text.ts';
import { changeWords } from '../words.ts';
import { Difference } from './difference.tsx';
import { Empty } from './layout.tsx';
import { Time } from './time.tsx';

export function AuditList({ entries, empty }: { entries: readonly Entry[]; empty: string }) {
  if (entries.length === 0) return <Empty>{empty}</Empty>;
  return (
    <ol class="audit">
      {entries.map((entry) => (
        <li key={entry.id}>
          <What {...entry} />
          <p class="about">
            <Actor actor={entry.actor} /> · <Time at={entry.at} />
          </p>
          <Difference before={entry.before} after={entry.after} />
        </li>
      ))}
    </ol>
  );
}

function What({ operation, object }: Entry) {
  const [before, behind] = changeWords(operation);
  return (
    <p class="what">
      {before}
      <ObjectLink object={object} />
      {behind}
    </p>
  );
}

const actorKinds: Readonly<Record<string, string>> = {
  cli: ' on the command line',
  console: ' by a console link',
};

function Actor({ actor }: Pick<Entry, 'actor'>) {
  const [, kind = '', name = actor] = /^(\w+):(.*)$/s.exec(actor) ?? [];
  return (
    <span>
      {named(name)}
      {actorKinds[kind] ?? ''}
    </span>
  );
}

const kinds: Readonly<Record<string, readonly [text: string, href: (id: string) => string]>> = {
  account: ['account', (id) => `#/accounts/${id}`],
  key: ['key', (id) => `#/keys/${id}`],
  operator: ['operator', () => '#/operators'],
  pet: ['animal', (id) => `#/animals?id=${id}`],
  order: ['order', (id) => `#/orders?order=${id}`],
  category: ['category', () => '#/categories'],
  webhook: ['webhook', (id) => `#/webhooks/${id}`],
};

function ObjectLink({ object }: Pick<Entry, 'object'>) {
  const [kind = '', id = ''] = object.split(':');
  const known = kinds[kind];
  if (known === undefined) return <span>{named(object.replace(':', ' '))}</span>;
  const [text, href] = known;
  return (
    <a href={href(id)}>
      {text} {id}
    </a>
  );
}
