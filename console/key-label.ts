import { quoteName } from './text.ts';

interface NamedKey {
  readonly id: number;
  readonly name: string;
  readonly lastFour: string;
}

/**
 * Formats a key for dialogs and labels. The id and the last characters distinguish a key from its successor, which has
 * the same name.
 */
export function keyLabel({ id, name, lastFour }: NamedKey): string {
  return `key ${id} (${quoteName(name)}, ends in ${lastFour})`;
}

/** Returns the key of a ban or of a usage row. */
export function toKey({
  keyId,
  keyName,
  keyLastFour,
}: {
  readonly keyId: number;
  readonly keyName: string;
  readonly keyLastFour: string;
}): NamedKey {
  return { id: keyId, name: keyName, lastFour: keyLastFour };
}
