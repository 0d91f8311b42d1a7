/**
 * Splits a text into words and leaves backslashes unchanged. Supports only ASCII, because Bun escapes other characters
 * in raw templates.
 */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

/** Splits a list separated by `|`, for items that contain whitespace. */
export const texts = (list: string): string[] => list.split('|');
