/** Audit log entries, each with its operator, action, object and changes. */
import type { AuditLogEntry } from '../contract.ts';
import { formatDateTime, pluralize } from '../format.ts';
import { type Int64, stringifyJson } from '../json.ts';
import { changeLabels } from '../labels.ts';
import { quoteName } from '../text.ts';
import { changedFieldLabels, Difference } from './difference.tsx';
import { EmptyMessage } from './layout.tsx';
import { Time } from './time.tsx';

export function AuditList({ entries, empty }: { entries: readonly AuditLogEntry[]; empty: string }) {
  if (entries.length === 0) return <EmptyMessage>{empty}</EmptyMessage>;
  return (
    <ol class="audit">
      {omitStarts(entries).map((entry) => (
        <li key={entry.id}>
          <details>
            <summary>
              <What {...entry} />
              <span class="about">
                <Actor actor={entry.actor} /> · <Time at={entry.at} />
              </span>
            </summary>
            <p class="about">
              <code>{entry.operation}</code> · <ObjectLink object={entry.object} /> ·{' '}
              {formatDateTime(entry.at)}
            </p>
            <Difference before={entry.before} after={entry.after} />
          </details>
        </li>
      ))}
    </ol>
  );
}

/**
 * Omits the entry that records the start of an import or of lifting a ban if a newer entry records its outcome, so that each action
 * is listed once. The entries are sorted newest first.
 */
function omitStarts(entries: readonly AuditLogEntry[]): readonly AuditLogEntry[] {
  const newer = new Map<string, AuditLogEntry>();
  return entries.filter((entry) => {
    const { actor, object, operation } = entry;
    const action = `${actor} ${object} ${operation === 'beginLiftBan' ? 'liftBan' : operation}`;
    const end = newer.get(action);
    if (end === undefined || !isStart(entry, end)) {
      newer.set(action, entry);
      return true;
    }
    newer.delete(action);
    return false;
  });
}

function isStart(entry: AuditLogEntry, end: AuditLogEntry): boolean {
  if (entry.operation === 'beginLiftBan') return end.operation === 'liftBan';
  const isUnfinished = entry.operation === 'importPets' && !auditState(entry).finished;
  return isUnfinished && stringifyJson(entry.before) === stringifyJson(end.before);
}

/** The members of an object that describe it. Which members are present depends on the kind of object. */
interface State {
  readonly name?: string;
  readonly url?: string;
  readonly petId?: Int64;
  readonly file?: string;
  readonly added?: number;
  readonly rejected?: number;
  readonly finished?: boolean;
}

function auditState({ before, after }: AuditLogEntry): State {
  return (after ?? before ?? {}) as State;
}

/** The action, its object, and a summary of its changes. */
function What(entry: AuditLogEntry) {
  const { operation, object } = entry;
  const state = auditState(entry);
  if (operation === 'importPets') return <ImportText {...state} />;
  const [ahead, behind] = changeLabels(operation);
  // Only updates need the names of the changed fields.
  const changed = operation.startsWith('update') ? changedFieldLabels(entry) : [];
  const name = state.name ?? state.url;
  return (
    <span class="what">
      {ahead}
      {objectLabel(object)}
      {name !== undefined && !object.endsWith(`:${name}`) && ` (${quoteName(name)})`}
      {state.petId !== undefined && ` for animal ${state.petId}`}
      {behind}
      {changed.length > 0 && <span class="about">: {changed.join(', ').toLowerCase()}</span>}
    </span>
  );
}

function ImportText({ file, added = 0, rejected = 0, finished }: State) {
  return (
    <span class="what">
      {finished ? 'Imported' : 'Imported part of'} {file === undefined ? 'a file' : quoteName(file)}
      <span class="about">
        : {pluralize(added, 'animal')} added, {pluralize(rejected, 'row')} rejected
      </span>
    </span>
  );
}

const actorKinds: Readonly<Record<string, string>> = {
  cli: ' (command line)',
  console: ' (console link)',
};

function Actor({ actor }: Pick<AuditLogEntry, 'actor'>) {
  const [, kind = '', name = actor] = /^(\w+):(.*)$/s.exec(actor) ?? [];
  return (
    <span>
      {quoteName(name)}
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

function objectLabel(object: string): string {
  const [kind = '', id = ''] = object.split(':');
  return `${kinds[kind]?.[0] ?? quoteName(kind)} ${quoteName(id)}`;
}

function ObjectLink({ object }: Pick<AuditLogEntry, 'object'>) {
  const [kind = '', id = ''] = object.split(':');
  const href = kinds[kind]?.[1](id);
  return href === undefined ? <span>{objectLabel(object)}</span> : <a href={href}>{objectLabel(object)}</a>;
}
