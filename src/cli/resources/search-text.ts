import { printable } from '../../domain/printable.ts';
import { table } from '../terminal.ts';

interface FoundObject {
  readonly kind: string;
  readonly id: bigint | null;
  readonly name: string | null;
  readonly state: string | null;
  readonly lastFour: string | null;
  readonly accountId: bigint | null;
}

export function searchText({ results }: { readonly results: readonly FoundObject[] }): string {
  if (results.length === 0) return 'Nothing was found.';
  return table(
    ['KIND', 'ID', 'NAME', 'KEY', 'STATE', 'ACCOUNT'],
    results.map(({ kind, id, name, state, lastFour, accountId }) => [
      kind,
      id === null ? '' : String(id),
      printable(name ?? ''),
      lastFour === null ? '' : `…${lastFour}`,
      state ?? '',
      accountId === null ? '' : String(accountId),
    ]),
  );
}
