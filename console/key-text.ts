import { named } from './text.ts';

interface NamedKey {
  readonly id: number;
  readonly name: string;
  readonly lastFour: string;
}

/**
 * How dialogs and labels refer to a key. The id and last characters tell it apart from its successor, which
 * has the same name.
 */
export function keyText({ id, name, lastFour }: NamedKey): string {
  return `key ${id} (${named(name)}, ends in ${lastFour})`;
}

/** The key that a ban or a usage row belongs to. */
export function keyOf({
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
