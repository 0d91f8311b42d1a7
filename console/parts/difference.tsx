/** Shows the differences between two states of an object, field by field. */
import { bytes, formatDateTime, formatInteger } from '../format.ts';
import { splitCamelCase } from '../labels.ts';
import { quoteName } from '../text.ts';

const memberNames: Readonly<Record<string, string>> = {
  id: 'ID',
  petId: 'Animal',
  categoryId: 'Category',
  accountId: 'Account',
  successorId: 'Rotated to key',
  perMinute: 'Requests per minute',
  perDay: 'Requests per day',
  scopes: 'Scopes',
  lastFour: 'Ends in',
  bytes: 'Size',
  createdAt: 'Created',
  updatedAt: 'Last updated',
  expiresAt: 'Expires',
  revokedAt: 'Revoked',
  closedAt: 'Closed',
};

/**
 * Returns the label for a field's path, such as `quota perMinute`. If the last segment has a label, returns that label.
 */
function fieldLabel(path: string): string {
  return memberNames[path.split(' ').at(-1) ?? ''] ?? splitCamelCase(path);
}

interface DifferenceProps {
  readonly before: unknown;
  readonly after: unknown;
}

function changedFields({ before, after }: DifferenceProps) {
  const [old, now] = [flatten(before), flatten(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter(
    (name) => old.get(name) !== now.get(name),
  );
  return { old, now, names };
}

/** Returns the labels of changed fields. Empty for a created or deleted object. */
export function changedFieldLabels(states: DifferenceProps): readonly string[] {
  if (states.before === null || states.after === null) return [];
  return changedFields(states).names.map(fieldLabel);
}

export function Difference(states: DifferenceProps) {
  const { old, now, names } = changedFields(states);
  if (names.length === 0) return null;
  return (
    <dl class="difference">
      {names.map((name) => (
        <div key={name}>
          <dt>{fieldLabel(name)}</dt>
          <dd>
            {old.has(name) && <del>{old.get(name)}</del>}
            {old.has(name) && now.has(name) && <span aria-hidden="true"> → </span>}
            {now.has(name) && <ins>{now.get(name)}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Flattens an object to its values, keyed by path. */
function flatten(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return new Map(value === null || value === undefined ? [] : [[path, formatValue(path, value)]]);
  }
  return new Map(
    Object.entries(value).flatMap(([name, member]) => [
      ...flatten(member, path === '' ? name : `${path} ${name}`),
    ]),
  );
}

function formatValue(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => formatValue(name, each)).join(', ');
  if (/At$/.test(name) && (typeof value === 'number' || typeof value === 'string'))
    return formatDateTime(value);
  if (name === 'bytes' && typeof value === 'number') return bytes(value);
  if (typeof value === 'number' && !/id$/i.test(name)) return formatInteger(value);
  return quoteName(String(value));
}
