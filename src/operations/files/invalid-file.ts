import { Refusal } from '../../domain/refusal.ts';

/** The refusal of a file that is not one to import; `message` says what would be right. */
export function invalidFile(message: string): Refusal {
  return new Refusal('import_invalid', { message });
}
