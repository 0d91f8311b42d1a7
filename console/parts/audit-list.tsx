/** Audit log entries, each with its operator, action, object and changes. */
import type { Entry } from '../contract.ts';
import { instant } from '../format.ts';
import { named } from '../text.ts';
import { changeWords } from '../words.ts';
import { changedNames, Difference } from './difference.tsx';
import { Empty } from './layout.tsx';
import { Time } from './time.tsx';

export function AuditList({ entries, empty }: { entries: readonly Entry[]; empty: string }) {
  if (entries.length === 0) return <Empty>{empty}</Empty>;
  return (
    <ol class="audit">
      {entries.map((entry) => (
        <li key={entry.id}>
          <details>
            <summary>
              <What {...entry} />
              <span class="about">
                <Actor actor={entry.actor} /> · <Time at={entry.at} />
              </span>
            </summary>
            <p class="about">
              <code>{entry.operation}</code> · <ObjectLink object={entry.object} /> · {instant(entry.at)}
            </p>
            <Difference before={entry.before} after={entry.after} />
          </details>
        </li>
      ))}
    </ol>
  );
}

/** The action and a summary of its changes. */
function What({ operation, object, before, after }: Entry) {
  const [ahead, behind] = changeWords(operation);
  // Only updates need the names of the changed fields.
  const changed = operation.startsWith('update') ? changedNames({ before, after }) : [];
  return (
    <span class="what">
      {ahead}
      {objectText(object)}
      {behind}
      {changed.length > 0 && <span class="about">: {changed.join(', ').toLowerCase()}</span>}
    </span>
  );
}

const actorKinds: Readonly<Record<string, string>> = {
  cli: ' (command line)',
  console: ' (console link)',
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

function objectText(object: string): string {
  const [kind = '', id = ''] = object.split(':');
  return `${kinds[kind]?.[0] ?? named(kind)} ${named(id)}`;
}

function ObjectLink({ object }: Pick<Entry, 'object'>) {
  const [kind = '', id = ''] = object.split(':');
  const href = kinds[kind]?.[1](id);
  return href === undefined ? <span>{objectText(object)}</span> : <a href={href}>{objectText(object)}</a>;
}
