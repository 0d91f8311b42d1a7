import { named } from './text.ts';

interface NamedKey {
  readonly id: number;
  readonly name: string;
  readonly lastFour: string;
}

/** A key as dialogs and labels name it. A rotated key keeps its name. */
export function keyText({ id, name, lastFour }: NamedKey): string {
  return `key ${id} (${named(name)}, ends in ${lastFour})`;
}

/** The key of a ban, or of a row of usage. */
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
